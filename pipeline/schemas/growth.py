"""Ingestion of growing numbers of files (benchmarks/ingest.py): one row per share of the corpus."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("share_of_corpus", pa.float64()),  # of its bytes, smallest files first
        ("instructions", pa.int64()),  # of all blocks, repeated ones included
        ("seconds", pa.float64()),
        ("peak_memory_gb", pa.float64()),
    ]
)
