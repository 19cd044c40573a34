"""Tables of this chapter: columns, types and units."""

from __future__ import annotations

import pyarrow as pa

from learned_schedulers.blocks.dag import columns as dag_columns
from pipeline.lab.table import Table

# One row per basic block, unique in `block_id`.
BLOCKS = Table(
    "blocks",
    pa.schema(
        [
            ("block_id", pa.string()),  # 32 hex digits: BLAKE2b of masked_code
            ("source", pa.string()),
            ("program", pa.string()),
            ("compiler", pa.string()),
            ("section", pa.string()),
            ("address", pa.uint64()),
            ("relocatable", pa.bool_()),  # from an object file: the final addresses of its code are unknown
            ("n_instructions", pa.int16()),
            ("occurrences", pa.int32()),  # blocks equal after masking, this one included
            ("code", pa.binary()),  # original; the only column that contains leaks
            ("masked_code", pa.binary()),  # rip displacements and absolute addresses zeroed
        ]
    ),
    "data/corpus/released/blocks.parquet",
)

# Statistics of the corpus, tidy: one row per number (composition.py).
CORPUS = Table(
    "corpus",
    pa.schema(
        [
            ("source", pa.string()),  # empty: all sources together
            ("program", pa.string()),  # empty: all programs of the source together
            ("statistic", pa.string()),
            ("bin", pa.string()),  # of a histogram: a length, a floor of log10, a kind; empty: a single number
            ("value", pa.float64()),
        ]
    ),
    "data/statistics/{dependencies}.parquet",
)

# One row per block. Instructions are numbered as GCC emitted them.
DAGS = Table(
    "dags",
    dag_columns.DAGS,
    "data/dags/released/{dependencies}.parquet",
)

# One row per distinct masked instruction, sorted by its bytes (problems/instructions.py).
ENCODINGS = Table(
    "encodings",
    pa.schema(
        [
            ("code", pa.binary()),
            ("tokens", pa.list_(pa.string())),
            ("opcode", pa.int32()),  # iced_x86.Code
            ("address", pa.int64()),  # number of the registers of a memory operand; 0: none, 1: rip
            ("displacement", pa.int64()),  # bytes
            ("access_bytes", pa.int32()),
            ("immediate", pa.int64()),
            ("first_register", pa.int16()),  # iced_x86.Register, whole; 0: operand 0 is none
            ("second_register", pa.int16()),
        ]
    ),
    "data/instructions/released/encodings.parquet",
)

# Explanations of swaps that did not change the state: one row per (mode of dependencies, outcome, explanation).
EXPLANATIONS = Table(
    "explanations",
    pa.schema(
        [
            ("dependencies", pa.string()),
            ("outcome", pa.string()),  # as in table sensitivity
            ("explanation", pa.string()),
            ("swaps", pa.int64()),
            ("example", pa.string()),  # the two instructions, of the first such swap
        ]
    ),
)

# One row per block, in the order of table blocks: the instructions after it in its program (corpus/following.py).
FOLLOWING = Table(
    "following",
    pa.schema(
        [
            ("block_id", pa.string()),
            (
                "code",
                pa.list_(pa.binary()),
            ),  # up to leaks.MOST_FOLLOWING masked instructions, without branches' distances
        ]
    ),
    "data/following/released.parquet",
)

# One row per block, in the order of table blocks: rows of `encodings`.
INSTRUCTIONS = Table(
    "instructions",
    pa.schema(
        [
            ("block_id", pa.string()),
            ("encodings", pa.list_(pa.int32())),  # in GCC's order
            ("following", pa.list_(pa.int32())),  # instructions after the block, nearest first; empty if unknown
        ]
    ),
    "data/instructions/released/blocks.parquet",
)

# One row per file of a source that is eligible for ingestion, with the shard that reads it.
MANIFEST = Table(
    "manifest",
    pa.schema(
        [
            ("source", pa.string()),
            ("program", pa.string()),  # path inside the artifact, or on disk for kind `files`
            ("artifact", pa.string()),  # file on disk, relative to the repository if it is inside
            ("size_bytes", pa.int64()),
            ("shard", pa.int32()),
        ]
    ),
    "data/corpus/manifest.parquet",
)

# Rows of table `blocks` of one partition, a range of block_id (partition.py).
PARTITIONS = Table(
    "partitions",
    BLOCKS.schema,
    "data/corpus/partitions/{partition}.parquet",
)

# Reasons of blocks that did not run: one row per (mode of dependencies, reason).
REASONS = Table(
    "reasons",
    pa.schema(
        [
            ("dependencies", pa.string()),
            ("reason", pa.string()),
            ("blocks", pa.int64()),
            ("example", pa.string()),  # the instruction that is the reason, in the first such block
        ]
    ),
)

# One row per (mode of dependencies, pair of neighbours with an edge): the effect of a swap of the two.
SENSITIVITY = Table(
    "sensitivity",
    pa.schema(
        [
            ("block_id", pa.string()),
            ("source", pa.string()),
            ("dependencies", pa.string()),
            ("position", pa.int16()),  # of the first of the two
            ("kinds", pa.uint16()),  # bit set of dependencies.Kind
            ("first", pa.string()),  # texts of the two
            ("second", pa.string()),
            ("outcome", pa.string()),  # changed | dead value | value coincidence | over-conservative edge | unexplained
            ("explanation", pa.string()),
        ]
    ),
    "data/verification/sensitivity.parquet",
)

# One row per block of a set of params.yaml.
SETS = Table(
    "sets",
    pa.schema([("block_id", pa.string()), ("input_order", pa.list_(pa.int16()))]),
    "data/sets/{set}.parquet",
)

# One row per file without any blocks, or with missing ones.
SKIPPED = Table(
    "skipped",
    pa.schema(
        [
            ("source", pa.string()),
            ("program", pa.string()),
            ("reason", pa.string()),
            ("remedy", pa.string()),
        ]
    ),
    "data/corpus/released/skipped.parquet",
)

# One row per block that takes part in an experiment.
SPLITS = Table(
    "splits",
    pa.schema(
        [
            ("block_id", pa.string()),
            ("split", pa.string()),  # training | development | test
            ("input_order", pa.list_(pa.int16())),  # input_order[t]: GCC's index of the instruction shown in slot t
        ]
    ),
    "data/splits/{dependencies}.parquet",
)

# Counts of the execution oracle: one row per (mode of dependencies, stratum of blocks).
STRATA = Table(
    "strata",
    pa.schema(
        [
            ("dependencies", pa.string()),
            ("by", pa.string()),  # source | class | length
            ("name", pa.string()),
            ("blocks", pa.int64()),
            ("runnable", pa.int64()),  # blocks
            ("orders", pa.int64()),  # tried, without the original ones
            ("state_runs", pa.int64()),
            ("different", pa.int64()),  # state-runs that end in another state
        ]
    ),
)

# Effects of swaps of neighbours with an edge: one row per (mode of dependencies, kind of edge, outcome).
SWAP_OUTCOMES = Table(
    "swap_outcomes",
    pa.schema(
        [
            ("dependencies", pa.string()),
            ("kind", pa.string()),  # kinds of the edge, in words; all
            ("outcome", pa.string()),  # as in table sensitivity
            ("swaps", pa.int64()),
        ]
    ),
)

# One row per (block, mode of dependencies): legal orders executed and compared with the original one.
VERIFICATION = Table(
    "verification",
    pa.schema(
        [
            ("block_id", pa.string()),
            ("source", pa.string()),
            ("instruction_class", pa.string()),  # learned_schedulers/blocks/run/strata.py
            ("n_instructions", pa.int16()),
            ("dependencies", pa.string()),
            ("orders_tried", pa.int32()),  # without the original one
            ("states", pa.int32()),  # start states from which the original order ran
            ("aliased_states", pa.int32()),  # those of them with aliasing pointers
            ("state_runs", pa.int64()),  # orders_tried * states
            ("outcome", pa.string()),  # equal | different | single order | not runnable
            ("different", pa.int64()),  # state-runs
            ("reason", pa.string()),  # reason why it is not runnable
            ("example", pa.string()),  # the instruction that is the reason
            (
                "undefined_flags_differ",
                pa.int64(),
            ),  # state-runs that differ only in flags that are undefined at the end
            ("different_order", pa.list_(pa.int16())),  # the first one
            ("difference", pa.string()),  # its effect
        ]
    ),
    "data/verification/verification.parquet",
)
