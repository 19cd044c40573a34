"""Tables of this chapter: columns, types and units."""

from __future__ import annotations

import pyarrow as pa

from pipeline.lab.table import Table

# One row per (example block, scheduler): figures of the appendix.
EXAMPLES = Table(
    "examples",
    pa.schema(
        [
            ("block_id", pa.string()),
            ("scheduler", pa.string()),
            ("instructions", pa.list_(pa.string())),  # text, in input order
            ("proposal", pa.list_(pa.float64())),  # (n, n) row major; [i, j]: instruction i in slot j
            ("projected", pa.list_(pa.float64())),  # (n, n) row major
            ("order", pa.list_(pa.int16())),  # Hungarian; order[t]: input index of the instruction in slot t
            ("gcc_order", pa.list_(pa.int16())),  # the same for GCC
            ("before", pa.list_(pa.int16())),  # edges, input indices
            ("after", pa.list_(pa.int16())),
        ]
    ),
    "data/experiments/{experiment}/examples/{dependencies}.parquet",
)

# One row per decoder: what became of each block of the set, so that anybody can compute intervals.
BLOCK_OUTCOMES = Table(
    "block_outcomes",
    pa.schema(
        [
            ("decoder", pa.string()),
            ("outcomes", pa.string()),  # a digit for each block, by block_id: 2 exact, 1 legal, 0 neither
        ]
    ),
    "data/experiments/{experiment}/block_outcomes/{set}/{method}/{seed}.parquet",
)

# One row per number of test-time iterations of POPOCS (Figure 3), test split, Hungarian decoding.
SWEEP = Table(
    "sweep",
    pa.schema(
        [
            ("iterations", pa.int32()),
            ("seed", pa.string()),
            ("violations_per_block", pa.float64()),
            ("valid_share", pa.float64()),
            ("exact_match", pa.float64()),
            ("residual_median", pa.float64()),
        ]
    ),
    "data/experiments/{experiment}/sweep/{dependencies}/{seed}.parquet",
)

# One row per block; token ids of its instructions, joined in GCC's order.
TOKENS = Table(
    "tokens",
    pa.schema(
        [
            ("block_id", pa.string()),
            ("token_ids", pa.list_(pa.int32())),
            ("tokens_per_instruction", pa.list_(pa.int16())),
        ]
    ),
    "data/tokens/tokens.parquet",
)

# Last measurement of each trial of params.yaml on the development split: one row per trial, after its settings.
TRIALS = Table(
    "trials",
    pa.schema(
        [
            ("trial", pa.string()),
            ("dependencies", pa.string()),
            ("seed", pa.int64()),
            ("operator", pa.string()),
            ("method", pa.string()),
            ("proposal", pa.string()),
            ("iterations", pa.int64()),
            ("loss", pa.string()),
            ("floor", pa.float64()),
            ("optimiser", pa.string()),
            ("learning_rate", pa.float64()),
            ("decay", pa.string()),
            ("batch_size", pa.int64()),
            ("steps", pa.int64()),
            ("hidden", pa.int64()),
            ("exact_match", pa.float64()),
            ("valid_share", pa.float64()),
        ]
    ),
)

# One row per token that is frequent enough in the training blocks.
VOCABULARY = Table(
    "vocabulary",
    pa.schema([("token", pa.string()), ("token_id", pa.int32()), ("count", pa.int64())]),
    "data/tokens/vocabulary.parquet",
)
