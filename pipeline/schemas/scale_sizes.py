"""Corpora of growing numbers of blocks (benchmarks/blocks_scale.py): one row per corpus."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("blocks", pa.int64()),  # distinct, counted in the table that was made
        ("instructions", pa.int64()),  # of these blocks
        ("shards", pa.int32()),
        ("partitions", pa.int32()),
        ("seconds", pa.float64()),  # of the whole command, Snakemake included
        ("processor_seconds", pa.float64()),  # the same
        ("peak_memory_gb", pa.float64()),  # resident sets of all its processes at one moment, added up
    ]
)
