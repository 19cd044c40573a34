"""Deviations of fast processor models from llvm-mca, frozen: a row per set, processor and class."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("set", pa.string()),  # of blocks, of params.yaml, or random_sequences
        ("target", pa.string()),  # the processor
        ("deviation", pa.string()),  # the first difference
        ("blocks", pa.int64()),  # whose reduced order is of this class; one order of each block is reduced
        ("instructions", pa.int64()),  # of the example, the shortest of these parts
        ("example", pa.string()),  # GAS syntax
        ("model_cycles", pa.float64()),
        ("llvm_mca_cycles", pa.float64()),
    ]
)
