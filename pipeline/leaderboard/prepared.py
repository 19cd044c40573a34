"""The results that were handed in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from pipeline.lab import tables
from pipeline.lab.page.prepared import Files, Prepared
from pipeline.leaderboard.tables import HAND_INS


def prepared(files: Files, params: Mapping[str, Any]) -> Prepared:
    """Table `hand_ins`; it is empty where the report was called without one."""
    empty = pd.DataFrame(columns=HAND_INS.schema.names)
    read = [tables.read(HAND_INS, path) for path in files.get(HAND_INS.name, [])]
    return Prepared({HAND_INS.name: pd.concat(read) if read else empty})
