"""One row per block of a set of params.yaml."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/sets/{set}.parquet"
SCHEMA = pa.schema([("block_id", pa.string()), ("input_order", pa.list_(pa.int16()))])
