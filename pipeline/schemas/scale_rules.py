"""What each rule of a corpus costs (benchmarks/blocks_scale.py): one row per corpus and rule."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
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
)
