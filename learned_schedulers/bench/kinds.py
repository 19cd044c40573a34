"""What the comparison knows of an instance and of a method that enters; `graphs.py` has both for graphs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from learned_schedulers.graphs.method_settings import Sight
from learned_schedulers.graphs.methods import Budget

Status = Literal["unsupported", "no schedule fits", "failed"]
REFUSED: Status = "unsupported"  # by the method, which says why
UNFIT: Status = "no schedule fits"  # the memory
FAILED: Status = "failed"  # the method raised an error, or its answer is none


class Instance(Protocol):
    """A problem of a set."""

    @property
    def graph_id(self) -> str:
        """SHA-256 of its content; results that are handed in name instances so."""
        ...

    @property
    def title(self) -> str:
        """What messages call it."""
        ...

    @property
    def family(self) -> str:
        """Instances of a family resemble each other; intervals resample families first."""
        ...

    @property
    def identity(self) -> str:
        """A line of all that its costs follow from, beside the target; a set's digest is of these lines."""
        ...

    def __len__(self) -> int:
        """Number of its operations."""
        ...

    def bound(self, target: str) -> float:
        """No answer costs less on the target."""
        ...


class Verdict(NamedTuple):
    """What the judge says of an answer."""

    cost: float | None
    evaluations: int = 0  # that it took, as far as the method says; else answers that it proposed
    failure: tuple[Status, str] | None = None  # with the message


class Entrant(Protocol):
    """A method of the comparison."""

    @property
    def name(self) -> str: ...

    @property
    def method(self) -> str:
        """Its name in the registry, or its reference."""
        ...

    @property
    def keys(self) -> dict[str, Any]:
        """Its settings."""
        ...

    @property
    def sees(self) -> Sight: ...

    @property
    def draws(self) -> bool:
        """Whether its answers differ by seed."""
        ...

    def weights_for(self, target: str) -> Path | None:
        """The file of its network."""
        ...

    def attempt(self, instance: Any, target: str, seed: int) -> Callable[[Budget], Any]:
        """The method for an instance; a call makes it anew, so that every call has the same random draws."""
        ...

    def arrays(self, answer: Any) -> tuple[np.ndarray, ...]:
        """What tells answers apart."""
        ...

    def judge(self, answer: Any, instance: Any, target: str, budget: Budget) -> Verdict:
        """The cost of an answer, which may be of any type, or why it has none."""
        ...
