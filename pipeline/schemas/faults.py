"""Faults that were injected into runs of the pipeline, and how each run ended; published by benchmarks/faults."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("date", pa.string()),  # ISO 8601
        ("commit", pa.string()),  # that was tested; with a + if files differed from it
        ("seed", pa.int64()),  # of the call of the harness
        ("number", pa.int64()),  # of the case in that call
        ("scope", pa.string()),  # run: of the whole tiny DAG | stage: of one of its jobs
        ("kind", pa.string()),  # of the fault: benchmarks/faults/faults_of_stages.py; earlier also of whole runs
        ("target", pa.string()),  # the rule that the fault hit; all, where it hit the run
        ("moment", pa.string()),  # when, or which write or file
        # same bytes | refused | silent | half file | no remedy | hang: benchmarks/faults/verdicts.py
        ("outcome", pa.string()),
        ("commands", pa.int64()),  # that were typed after the one with the fault
        ("seconds", pa.float64()),
        ("message", pa.string()),  # first line of the error, if there was one
    ]
)
