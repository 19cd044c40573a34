"""What the comparison knows of an instance; `graphs.py` has those of graphs."""

from __future__ import annotations

from typing import Literal, Protocol

from learned_schedulers.bench.tasks import Task
from learned_schedulers.graphs.method_settings import Sight
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.section import Section

Status = Literal["unsupported", "no schedule fits", "failed"]
REFUSED: Status = "unsupported"  # by the method, which says why
UNFIT: Status = "no schedule fits"  # the memory
FAILED: Status = "failed"  # the method raised an error, or its answer is none


class Result(Section):
    """One instance, with one seed."""

    cost: float | None = None
    schedule: str | None = None  # the one that counts, as text, from which the judge computes the cost again
    seconds: float = 0.0  # wall time of the method
    evaluations: int = 0  # that it took, as far as the method says; else answers that it proposed
    failure: tuple[Status, str] | None = None  # with the message


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

    def alone(self, target: str) -> float:
        """What all operations on one device cost: so does an instance that a method has no answer to."""
        ...

    def task(self, target: str, seed: int, budget: Budget, sees: Sight) -> Task:
        """What a method is given, with the same random draws at every call."""
        ...

    def judge(self, answer: Proposals, target: str, sees: Sight, budget: Budget) -> Result:
        """The cost of an answer, or why it has none."""
        ...

    def cost(self, schedule: str, target: str) -> float:
        """The cost of a schedule that was written as text. Raises ValueError for what is none."""
        ...
