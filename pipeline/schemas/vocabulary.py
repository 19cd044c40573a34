"""One row per token that is frequent enough in the training blocks."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/tokens/vocabulary.parquet"
SCHEMA = pa.schema([("token", pa.string()), ("token_id", pa.int32()), ("count", pa.int64())])
