"""Tables of this chapter: columns, types and units."""

from __future__ import annotations

import pyarrow as pa

from pipeline.lab.table import Table

# Faults that were injected into runs of the pipeline, and how each run ended (frozen).
FAULTS = Table(
    "faults",
    pa.schema(
        [
            ("date", pa.string()),  # ISO 8601
            ("commit", pa.string()),  # that was tested; with a + if files differed from it
            ("seed", pa.int64()),  # of the call of the harness
            ("number", pa.int64()),  # of the case in that call
            ("scope", pa.string()),  # run: of the whole tiny DAG | stage: of one of its jobs
            ("kind", pa.string()),  # of the fault
            ("target", pa.string()),  # the rule that the fault hit; all, where it hit the run
            ("moment", pa.string()),  # when, or which write or file
            # same bytes | refused | silent | half file | no remedy | hang
            ("outcome", pa.string()),
            ("commands", pa.int64()),  # that were typed after the one with the fault
            ("seconds", pa.float64()),
            ("message", pa.string()),  # first line of the error, if there was one
        ]
    ),
)

# What each rule of a corpus costs: one row per corpus and rule.
SCALE_RULES = Table(
    "scale_rules",
    pa.schema(
        [
            ("blocks", pa.int64()),  # distinct, of the corpus
            ("rule", pa.string()),
            ("jobs", pa.int32()),
            ("seconds", pa.float64()),  # of its jobs, added up
            ("processor_seconds", pa.float64()),  # the same
            ("serial_seconds", pa.float64()),  # of the processor, in one thread however many jobs and cores there are
            ("peak_memory_gb", pa.float64()),  # largest resident set of one of its jobs
            ("bytes_read", pa.int64()),  # files that its jobs read, as often as they read them
            ("bytes_written", pa.int64()),  # files that its jobs wrote
        ]
    ),
)

# Corpora of growing numbers of blocks: one row per corpus.
SCALE_SIZES = Table(
    "scale_sizes",
    pa.schema(
        [
            ("blocks", pa.int64()),  # distinct, counted in the table that was made
            ("instructions", pa.int64()),  # of these blocks
            ("shards", pa.int32()),
            ("partitions", pa.int32()),
            ("seconds", pa.float64()),  # of the whole command, Snakemake included
            ("processor_seconds", pa.float64()),  # the same
            ("peak_memory_gb", pa.float64()),  # resident sets of all its processes at one moment, added up
        ]
    ),
)
