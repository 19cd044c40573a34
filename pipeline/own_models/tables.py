"""The table of this chapter: models that are refused, with the reasons."""

from __future__ import annotations

import pyarrow as pa

from pipeline.lab.table import Table

# Models that `graph` refuses, and those that their runtime does not run (frozen).
REFUSALS = Table(
    "refusals",
    pa.schema(
        [
            ("model", pa.string()),
            ("set", pa.string()),  # files | modules
            ("by", pa.string()),  # graph | runtime: who refuses the model
            ("message", pa.string()),  # of the command with its remedy, or of the runtime
        ]
    ),
)
