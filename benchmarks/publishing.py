"""The one way in which benchmarks publish: a folder of reports/published, with the provenance of its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pipeline.lab import published
from pipeline.lab.rows import Place, Quantity, Row, row

PUBLISHED = Path("reports/published")


def of_rounds(
    place: Place,
    quantity: Quantity,
    values: np.ndarray | Sequence[float],
    n: int | None = None,
    over: str = "rounds",
) -> Row:
    """A row of seed `all`: the median of the rounds, with the least and the most.

    values: (rounds,); n: the number behind the row, by default that of the rounds; over: what the rounds are.
    """
    numbers = (float(np.median(values)), float(min(values)), float(max(values)), len(values) if n is None else n)
    return row(place, quantity, *numbers, over=over, seed="all")


def publish(
    folder: Path,
    frames: Mapping[str, pd.DataFrame],
    settings: Mapping[str, Any],
    inputs: Iterable[str | Path] = (),
    weights: Iterable[str | Path] = (),
) -> None:
    """Write the tables of an experiment, whose name is the folder's, and their provenance; all of them or none."""
    published.write(folder, frames, settings, {}, map(Path, inputs), map(Path, weights))
