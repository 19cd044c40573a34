"""One row per token that the training blocks have often enough."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/tokens/vocabulary.parquet"
SCHEMA = pa.schema([("token", pa.string()), ("token_id", pa.int32()), ("count", pa.int64())])
