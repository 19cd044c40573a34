"""One row per (update, split) at which the training of a network for whole graphs was measured."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/networks/{model}/{seed}/whole_graph_history.parquet"
SCHEMA = pa.schema(
    [
        ("update", pa.int32()),
        ("split", pa.string()),  # training | development
        # training: decrease of the loss by a round, as a share, mean since the last row; development: seconds of
        # the best schedule after 200 evaluations without learning, over those of one device, a geometric mean
        ("value", pa.float64()),
    ]
)
