"""Tables of this chapter: columns, types and units."""

from __future__ import annotations

import pyarrow as pa

from learned_schedulers.blocks.processors import columns
from pipeline.lab.table import Table

# Deviations of fast processor models from llvm-mca, frozen: a row per set, processor and class.
DEVIATIONS = Table(
    "deviations",
    pa.schema(
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
    ),
)

# The training of a first guess: one row after each round, for training and development.
GUESS_HISTORY = Table(
    "guess_history",
    pa.schema(
        [
            ("round", pa.int32()),
            ("step", pa.int32()),
            ("split", pa.string()),
            ("loss", pa.float64()),  # expected regret of a choice, cycles; training alone
            ("gap", pa.float64()),  # cycles over those of the best orders, less 1; development alone
            ("learning_rate", pa.float64()),
        ]
    ),
    "data/experiments/{experiment}/models/full/{model}/{seed}/guess_history.parquet",
)

# One row per (instruction, processor model): its description by llvm-mca (blocks/processors/machine.py).
MACHINE_INSTRUCTIONS = Table(
    "machine_instructions",
    columns.MACHINE_INSTRUCTIONS,
    "data/instructions/released/machines/{machine}.parquet",
)

# One row per block of a set: the best known order on a processor model.
OPTIMA = Table(
    "optima",
    pa.schema(
        [
            ("block_id", pa.string()),
            ("order", pa.list_(pa.int16())),  # order[t]: GCC's index of the instruction in slot t
            ("model_cycles", pa.int32()),  # of the order that the method gave, by this project's processor model
            ("bound", pa.int32()),  # no order takes fewer cycles on that model
            ("proven", pa.bool_()),  # the order is optimal on that model
            ("cycles", pa.float64()),  # by llvm-mca, like gcc_cycles
            ("gcc_cycles", pa.float64()),  # of GCC's order
        ]
    ),
    "data/optima/{machine}/{method}/{set}.parquet",
)

# One row per slot of each order of a few blocks, on an in-order processor; frozen.
TIMELINES = Table(
    "timelines",
    pa.schema(
        [
            ("rank", pa.int32()),  # of the block
            ("block_id", pa.string()),
            ("place", pa.int32()),  # of the order
            ("title", pa.string()),  # input | GCC | best | learned
            ("slot", pa.int32()),
            ("instruction", pa.string()),
            ("issue", pa.int32()),  # cycle, from 0
            ("latency", pa.int32()),  # cycles to write-back
            ("cycles", pa.int32()),  # of the whole pass
        ]
    ),
)
