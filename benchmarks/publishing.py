"""How benchmarks take times in turns, and publish: a folder of reports/published, with its numbers' provenance."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from tqdm import tqdm

from pipeline.lab import published
from pipeline.lab.rows import Place, Quantity, Row, row

PUBLISHED = Path("reports/published")
Key = TypeVar("Key")


def in_turns(work: Mapping[Key, Callable[[], object]], rounds: int) -> dict[Key, np.ndarray]:
    """Seconds of each kind of work in each round, (rounds,); a first round is not counted."""
    seconds = defaultdict(list)
    for number in tqdm(range(rounds + 1), desc="rounds", leave=False):
        for key, run in work.items():
            began = time.perf_counter()
            run()
            if number:
                seconds[key].append(time.perf_counter() - began)
    return {key: np.array(of_key) for key, of_key in seconds.items()}


def of_rounds(
    place: Place, quantity: Quantity, values: np.ndarray | Sequence[float], n: int | None = None, over: str = "rounds"
) -> Row:
    """A row of seed `all`: the median of the rounds, with the least and the most.

    values: (rounds,); n: the number behind the row, by default that of the rounds; over: what the rounds are.
    """
    numbers = (float(np.median(values)), float(np.min(values)), float(np.max(values)), len(values) if n is None else n)
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
