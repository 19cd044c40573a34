"""One row per file of a source that is eligible for ingestion, with the shard that reads it."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/corpus/manifest.parquet"
SCHEMA = pa.schema(
    [
        ("source", pa.string()),
        ("program", pa.string()),  # path inside the artifact, or on disk for kind `files`
        ("artifact", pa.string()),  # file on disk, relative to the repository if it is inside
        ("size_bytes", pa.int64()),
        ("shard", pa.int32()),
    ]
)
