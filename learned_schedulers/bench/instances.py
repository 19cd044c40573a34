"""The frozen sets of the benchmark and their instances, each known by the hash of its content, a set by its digest."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from io import BytesIO

import pandas as pd
import pyarrow as pa

from learned_schedulers.bench import blocks, fusion, graphs
from learned_schedulers.bench.frozen_files import FOLDER, checked
from learned_schedulers.bench.kinds import FrozenSet, Instance

_EVERY: tuple[FrozenSet, ...] = (*graphs.SETS, *blocks.SETS, *fusion.SETS)
SETS = {each.name: each for each in _EVERY}


@cache
def instances(name: str) -> tuple[Instance, ...]:
    """The instances of a frozen set, by their hashes.

    Raises ValueError for an unknown set, and for a file that is not the frozen one.
    """
    if name not in SETS:
        raise ValueError(f"no set {name!r}; the sets are {', '.join(SETS)}")
    path = FOLDER / SETS[name].file
    try:
        every = SETS[name].instances(pd.read_parquet(BytesIO(checked(path))).to_dict("records"))
        return tuple(sorted(every, key=lambda instance: instance.graph_id))
    except (OSError, ValueError, pa.ArrowException) as error:
        raise ValueError(f"{path}: these are not the frozen instances: {error}; install the package again") from error


def digest(every: Sequence[Instance]) -> str:
    """SHA-256 of what instances are, graphs with devices and memory limits: what a result was computed on."""
    return hashlib.sha256("".join(f"{instance.identity}\n" for instance in every).encode()).hexdigest()


def check_target(name: str, target: str) -> None:
    """Raises ValueError if the set has no such target."""
    first, *_ = instances(name)
    if not SETS[name].has(target):
        raise ValueError(f"the set {name} has no target {target!r}; its targets are {', '.join(SETS[name].targets)}")
    first.bound(target)
