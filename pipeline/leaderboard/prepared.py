"""The results that were handed in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from pipeline.lab import tables
from pipeline.lab.page.prepared import Files, Prepared
from pipeline.leaderboard.tables import HAND_INS


def prepared(files: Files, params: Mapping[str, Any]) -> Prepared:
    """Table `hand_ins`."""
    return Prepared({HAND_INS.name: pd.concat([tables.read(HAND_INS, path) for path in files[HAND_INS.name]])})
