"""The best training of a network goes into the package with its model card: the choice, and the copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pipeline import places, tables

LARGEST = 5_000_000  # bytes of weights in the repository


class Best(NamedTuple):
    """The training to ship."""

    model: str
    measurements: dict[str, Any]  # seed -> its measurement, the best seed first
    weights: Path
    content: bytes  # of the file of weights


def best_training(
    weights: Sequence[Path],
    history: Sequence[Path],
    kind: str,
    best: Callable[[dict[str, pd.DataFrame]], dict[str, Any]],
    weights_kind: str = "network_weights",
) -> Best:
    """The best training of one network. Files lie in the pipeline's layout.

    kind: table of the histories; best: seed -> history to seed -> measurement, the best one first. Raises ValueError
    for weights of several networks, without their history, or too large to ship.
    """
    named = [places.place(path, weights_kind) for path in weights]
    if len(networks := sorted({place["model"] for place in named})) > 1:
        raise ValueError(f"weights of several networks ({', '.join(networks)}): give those of the one to ship")
    by_seed = {place["seed"]: path for place, path in zip(named, weights, strict=True)}
    histories = {places.place(path, kind)["seed"]: tables.read(kind, path) for path in history}
    if incomplete := sorted(set(by_seed) ^ set(histories)):
        raise ValueError(f"seeds {', '.join(incomplete)} have weights or a history alone: give both of every training")
    measurements = best({seed: histories[seed] for seed in by_seed})
    path = by_seed[next(iter(measurements))]
    content = path.read_bytes()
    if len(content) > LARGEST:
        raise ValueError(f"{len(content)} bytes of weights, at most {LARGEST} are shipped: train a smaller network")
    return Best(networks[0], measurements, path, content)


def install(content: bytes, card: str, file: Path) -> None:
    """Write weights into a file of the package, and README.md beside it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    for path, written in ((file, content), (file.parent / "README.md", card.encode())):
        with tables.replacing(path) as temporary:
            temporary.write_bytes(written)
