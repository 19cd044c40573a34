"""Rows of table `parts`: numbers of blocks of similar length, freedom, kind or confidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pipeline.schemas.parts import SCHEMA as PARTS

_DEFAULTS = {"comparison": "value", "baseline": "none", "judge": "none", "confidence": np.nan}


def ranges(values: np.ndarray, ends: Sequence[float]) -> Iterator[tuple[int, str, np.ndarray]]:
    """Rank, name and members of the ranges that begin at `ends`: `2-3`, `4`, `1e+03+`; those without a member too."""
    number = np.searchsorted(ends, values, "right") - 1
    for rank, low in enumerate(ends):
        high = ends[rank + 1] - 1 if rank + 1 < len(ends) else None
        name = f"{low:.3g}+" if high is None else f"{low}" if high == low else f"{low:.3g}-{high:.3g}"
        yield rank, name, np.flatnonzero(number == rank)


def part(
    place: Mapping[str, Any], by: str, name: str, rank: int, numbers: tuple[float, float, float], n: int, **columns: Any
) -> dict[str, Any]:
    """A row of the table; numbers: value, low, high."""
    value, low, high = numbers
    whole = {**_DEFAULTS, **place, **columns, "by": by, "part": name, "rank": rank, "n": n}
    return whole | {"value": value, "low": low, "high": high}


def parts(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Table `parts` of rows."""
    return pd.DataFrame(list(rows), columns=PARTS.names)
