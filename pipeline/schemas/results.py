"""Every number: one row each. A column that does not apply is `none`; reports/results.csv has the same columns."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/results.parquet"
SCHEMA = pa.schema(
    [
        ("experiment", pa.string()),
        ("set", pa.string()),  # of blocks, of params.yaml; all: of the whole corpus
        ("dependencies", pa.string()),  # full | conservative | paper
        ("target", pa.string()),  # of the orders: gcc, or a processor
        ("method", pa.string()),
        ("decoder", pa.string()),
        ("seed", pa.string()),  # all: over the seeds
        ("metric", pa.string()),
        ("comparison", pa.string()),  # value | difference | ratio: to the baseline, paired by block and seed
        ("baseline", pa.string()),  # a method, gcc, or best: the best order of all methods
        ("judge", pa.string()),  # of the cost: a processor model, hardware
        ("lengths", pa.string()),  # instructions of the blocks that count: all, 5, 2-20
        ("iterations", pa.string()),  # of an operator
        ("unit", pa.string()),  # share | cycles | ratio | seconds ...
        ("value", pa.float64()),
        ("low", pa.float64()),  # of the interval
        ("high", pa.float64()),
        ("interval_of", pa.string()),  # resampled or repeated units: blocks | blocks and seeds | rounds | runs
        ("n", pa.int64()),  # blocks, or repetitions, behind the value
    ]
)
KEY = SCHEMA.names[: SCHEMA.names.index("value")]  # identifies a number
