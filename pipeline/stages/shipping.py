"""What the stages that put trained weights into the package have in common: which trainings there are, and the copy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from pipeline import places, tables

LARGEST = 5_000_000  # bytes of weights in the repository


class Training(NamedTuple):
    """One seed of a network."""

    weights: Path
    history: pd.DataFrame


def trainings(weights: Sequence[Path], history: Sequence[Path], kind: str) -> dict[str, Training]:
    """Seed -> its training; kind: table of the histories. Files lie in the pipeline's layout.

    Raises ValueError for weights of several networks, or without their history.
    """
    said = [places.place(path, "network_weights") for path in weights]
    if len(networks := sorted({place["model"] for place in said})) > 1:
        raise ValueError(f"weights of several networks ({', '.join(networks)}): give those of the one to ship")
    by_seed = {place["seed"]: path for place, path in zip(said, weights, strict=True)}
    histories = {places.place(path, kind)["seed"]: tables.read(kind, path) for path in history}
    if strange := sorted(set(by_seed) ^ set(histories)):
        raise ValueError(f"seeds {', '.join(strange)} have weights or a history alone: give both of every training")
    return {seed: Training(path, histories[seed]) for seed, path in by_seed.items()}


def small_enough(weights: Path) -> bytes:
    """The file. Raises ValueError where it is too large to ship."""
    content = weights.read_bytes()
    if len(content) > LARGEST:
        raise ValueError(f"{len(content)} bytes of weights, at most {LARGEST} are shipped: a smaller network, please")
    return content


def put(content: bytes, card: str, file: Path) -> None:
    """Weights into a file of the package, README.md beside it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    for path, written in ((file, content), (file.parent / "README.md", card.encode())):
        with tables.replacing(path) as temporary:
            temporary.write_bytes(written)
