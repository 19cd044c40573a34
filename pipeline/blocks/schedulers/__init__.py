"""One file, one scheduler; found by the file's name. `find(method)` gives its class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from pipeline.blocks.latency.costs import Processor
from pipeline.blocks.problems.instructions import Encodings
from pipeline.blocks.problems.problems import Blocks, Problems
from pipeline.config.experiments import Training
from pipeline.config.schedulers import Scheduler as Settings


@dataclass(frozen=True)
class Request:
    """What a scheduler is made from; the untrained ones need none of it."""

    settings: Settings
    training: Training | None
    weights: Path | None
    blocks: Blocks | None  # of POCSNet: for the vocabulary's size and the token trie
    encodings: Encodings | None = None  # of imitators
    machine: Processor | None = None  # of those that schedule for a processor; rows as in `encodings`


@dataclass(frozen=True)
class Optima:
    """What an exact scheduler knows of B blocks on a machine; its method `optima(problems, rng)` says so."""

    order: np.ndarray  # (B, n) int16, as `schedule` gives it
    cycles: np.ndarray  # (B,) int32, of a single pass in that order
    bound: np.ndarray  # (B,) int32: no legal order takes fewer cycles

    @property
    def proven(self) -> np.ndarray:
        """(B,) bool: the order is optimal."""
        return self.cycles == self.bound


class Scheduler(Protocol):
    """Every scheduler is this small."""

    def schedule(self, problems: Problems, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Orders of a batch of B problems for each decoder: name -> (B, n), order[b, t] = instruction in slot t."""
        ...


@runtime_checkable
class Exact(Scheduler, Protocol):
    """A scheduler that knows how good its orders are."""

    def optima(self, problems: Problems, rng: np.random.Generator) -> Optima:
        """Orders of a batch, their cycles, and bounds on those of any order."""
        ...


def needed_machine(request: Request, name: str) -> Processor:
    """The request's machine. Raises ValueError for a scheduler, called `name`, that is given none."""
    if request.machine is None:
        raise ValueError(f"{name} schedules for a machine and is given none: it needs a table machine_instructions")
    return request.machine


def needed_in_order_machine(request: Request, name: str) -> Processor:
    """As `needed_machine`. Raises ValueError for an out-of-order machine as well."""
    machine = needed_machine(request, name)
    if not machine.issues_in_order:
        raise ValueError(f"{name} is for machines that issue in order; take `search` for this one")
    return machine


def methods() -> list[str]:
    """Names of all schedulers: the files of this folder."""
    files = (path for folder in __path__ for path in Path(folder).glob("*.py"))
    return sorted(path.stem for path in files if path.stem != "__init__")


def find(method: str) -> Callable[[Request], Scheduler]:
    """The scheduler of the file <method>.py. Raises ValueError for an unknown name, listing the known."""
    if method not in methods():
        raise ValueError(f"no scheduler {method!r}; there are {methods()}")
    module = import_module(f"pipeline.blocks.schedulers.{method}")
    made: Callable[[Request], Scheduler] = module.make
    return made
