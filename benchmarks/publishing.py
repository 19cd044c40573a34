"""The one way in which benchmarks publish: a folder of reports/published, with the provenance of its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.lab import published

PUBLISHED = Path("reports/published")


def publish(
    folder: Path,
    frames: Mapping[str, pd.DataFrame],
    settings: Mapping[str, Any],
    modules: Iterable[str],
    inputs: Iterable[str | Path] = (),
    weights: Iterable[str | Path] = (),
) -> None:
    """Write the tables of an experiment, whose name is the folder's, and their provenance; all of them or none.

    `modules`: names of the modules that computed the numbers; their imports are recorded with them.
    """
    published.write(folder, frames, settings, {}, map(Path, inputs), map(Path, weights))
