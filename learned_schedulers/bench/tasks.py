"""What a method is given of a graph or a project, and its answer, as messages between the judge's process and its own.

A message is two lengths of eight bytes, JSON, and the bytes of arrays. Nothing that is read is executed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, replace
from functools import partial
from typing import Annotated, Any, BinaryIO, Generic, Literal, NamedTuple, TypeVar

import numpy as np
from pydantic import Field

from learned_schedulers.files import printable
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import Sight
from learned_schedulers.graphs.methods import UNSUPPORTED, Budget, Proposals
from learned_schedulers.graphs.problems.problem import Edges, Problem, Transfers
from learned_schedulers.projects.methods import Budget as ProjectBudget
from learned_schedulers.projects.methods import Schedules
from learned_schedulers.projects.problem import JobShop, Project
from learned_schedulers.section import Section

_HEADER = 1 << 20  # bytes of JSON in an answer
LENGTHS = 16  # bytes of both lengths
LONGEST = 2000  # characters of a method's message, or of its error
_BYTES = 8  # of the numbers of an operation in a schedule: its place and its device, or its start
SIMULATED = "simulated"  # in the stats: schedules that the target simulated for a method of another package


class Fault(Exception):
    """What is wrong with a method or with its answer, in full words."""


class Introduction(Section):
    """What a method says of itself. If it is of another package, this comes from its process."""

    name: str
    kind: Literal["graph", "project"] = "graph"  # what it schedules
    settings: dict[str, Any] = {}
    needs: frozenset[str] = frozenset()  # what it is given beside the problem: target, weights
    draws: bool = False  # at random
    package: str = ""  # distribution that it belongs to, with its version; `unknown` for a loose file
    source: str = ""  # SHA-256 of the file of its class; empty for schedules that were computed elsewhere
    weights: str = ""  # SHA-256 of its network's file
    unconfined: str = ""  # why its process may start others and use the network

    @property
    def sees(self) -> Sight:
        return "target" if "target" in self.needs else "proxy"


class Task(NamedTuple):
    """A graph, as a method gets it."""

    problem: Problem  # without transfers
    draws: tuple[Problem, ...]  # of the target; none if the method does not need it
    rng: np.random.Generator
    budget: Budget

    def message(self, number: str) -> bytes:
        """number: that the answer has to repeat."""
        problem = self.problem
        return _message(
            {
                "number": number,
                "seconds": problem.seconds.tolist(),
                "sizes": problem.sizes.tolist(),
                "weight_bytes": problem.weights.tolist(),
                "offsets": problem.children.offsets.tolist(),
                "targets": problem.children.targets.tolist(),
                "devices": problem.devices,
                "memory": problem.memory,
                "draws": [[each.seconds.tolist(), *astuple(each.transfers)] for each in self.draws],
                "rng": self.rng.bit_generator.state,
                "budget": astuple(self.budget),
            }
        )

    @staticmethod
    def read(text: bytes) -> tuple[str, Task]:
        """The number and the task of a message; its arrays are read-only."""
        content = json.loads(text)
        problem = Problem(
            seconds=np.array(content["seconds"], float),
            sizes=np.array(content["sizes"], float),
            children=Edges(np.array(content["offsets"], np.int32), np.array(content["targets"], np.int32)),
            devices=content["devices"],
            weight_bytes=np.array(content["weight_bytes"], float),
            memory=content["memory"],
        )
        draws = tuple(
            replace(problem, seconds=np.array(seconds, float), transfers=Transfers(*transfers))
            for seconds, *transfers in content["draws"]
        )
        generator = np.random.default_rng()
        generator.bit_generator.state = content["rng"]
        sealed = Target((problem, *draws)).sealed().draws
        return content["number"], Task(sealed[0], sealed[1:], generator, Budget(*content["budget"]))

    def received(self) -> Received[Proposals]:
        """The answer that is to come."""
        n = len(self.problem)
        return Received(_BYTES * self.budget.proposals * n, partial(_proposals, n=n))

    @staticmethod
    def reply(number: str, answer: Proposals) -> bytes:
        """The message of an answer without faults."""
        arrays = [part.astype("<i4") for part in (answer.orders, answer.placements)]
        return _reply(number, answer.status, answer.message, arrays, answer.stats)


class ProjectTask(NamedTuple):
    """A project, as a method gets it."""

    project: Project
    rng: np.random.Generator
    budget: ProjectBudget

    def message(self, number: str) -> bytes:
        """number: that the answer has to repeat."""
        project, job_shop = self.project, self.project.job_shop
        arrays = {
            name: getattr(project, name).tolist()
            for name in ("durations", "offsets", "targets", "demands", "capacities")
        }
        shop = None if job_shop is None else [job_shop.machines.tolist(), job_shop.durations.tolist()]
        rng, budget = self.rng.bit_generator.state, astuple(self.budget)
        return _message({"number": number, **arrays, "job_shop": shop, "rng": rng, "budget": budget})

    @staticmethod
    def read(text: bytes) -> tuple[str, ProjectTask]:
        """The number and the task of a message."""
        content = json.loads(text)
        durations, capacities = (np.array(content[name], np.int64) for name in ("durations", "capacities"))
        shop = content["job_shop"]
        project = Project(
            durations=durations,
            offsets=np.array(content["offsets"], np.int32),
            targets=np.array(content["targets"], np.int32),
            demands=np.array(content["demands"], np.int64).reshape(len(durations), len(capacities)),
            capacities=capacities,
            job_shop=None if shop is None else JobShop(np.array(shop[0], np.int32), np.array(shop[1], np.int64)),
        )
        generator = np.random.default_rng()
        generator.bit_generator.state = content["rng"]
        return content["number"], ProjectTask(project, generator, ProjectBudget(*content["budget"]))

    def received(self) -> Received[Schedules]:
        """The answer that is to come."""
        n = len(self.project)
        return Received(_BYTES * self.budget.schedules * n, partial(_schedules, n=n))

    @staticmethod
    def reply(number: str, answer: Schedules) -> bytes:
        """The message of an answer without faults."""
        stats = {"bound": np.array(answer.bound)}
        return _reply(number, answer.status, answer.message, [answer.starts.astype("<i8")], stats)


class Answer(Section):
    """The JSON of an answer; the arrays of `count` schedules follow as bytes."""

    number: str = ""
    introduction: Introduction | None = None  # before the first task
    fault: str = ""
    status: str = ""
    message: str = ""
    count: Annotated[int, Field(ge=0)] = 0
    stats: dict[str, Any] = {}  # numbers, and lists of numbers

    def as_message(self, arrays: Sequence[np.ndarray] = ()) -> bytes:
        """arrays: of schedules without faults."""
        return _message(self.model_dump(mode="json"), b"".join(array.tobytes() for array in arrays))


def _reply(
    number: str, status: str, message: str, arrays: Sequence[np.ndarray], stats: Mapping[str, np.ndarray]
) -> bytes:
    arrays = [] if status == UNSUPPORTED else arrays
    answer = Answer(
        number=number,
        status=status,
        message=message[:LONGEST],
        count=len(arrays[0]) if arrays else 0,
        stats={key: np.asarray(values).tolist() for key, values in stats.items()},
    )
    return answer.as_message(arrays)


def _proposals(answer: Answer, body: bytes, n: int) -> Proposals:
    orders, placements = np.frombuffer(body, "<i4").reshape(2, answer.count, n).astype(np.int32)
    stats = {name: np.array(values) for name, values in answer.stats.items()}
    return Proposals(orders, placements, answer.status, printable(answer.message), stats)


def _schedules(answer: Answer, body: bytes, n: int) -> Schedules:
    starts = np.frombuffer(body, "<i8").reshape(answer.count, n).astype(np.int64)
    bound = answer.stats.get("bound", 0)
    return Schedules(starts, answer.status, printable(answer.message), bound if type(bound) is int else 0)


def read_header(stream: BinaryIO) -> bytes:
    """The JSON of the next message without arrays; empty if there is none."""
    lengths = stream.read(LENGTHS)
    return stream.read(int.from_bytes(lengths[:8], "little"))


def _message(content: dict[str, Any], body: bytes = b"") -> bytes:
    header = json.dumps(content).encode()
    return len(header).to_bytes(8, "little") + len(body).to_bytes(8, "little") + header + body


Content = TypeVar("Content")


class Received(Generic[Content]):
    """An answer as it comes, whose arrays have at most so many bytes; they are read by `content`."""

    def __init__(self, most: int, content: Callable[[Answer, bytes], Content]) -> None:
        self._most, self._content = most, content
        self._bytes = bytearray()

    def add(self, part: bytes) -> bool:
        """Whether the answer is complete. Raises ValueError if it is too long."""
        self._bytes += part
        if len(self._bytes) < LENGTHS:
            return False
        header, body = self._lengths
        if header > _HEADER or body > self._most or len(self._bytes) > LENGTHS + header + body:
            raise ValueError("longer than an answer may be")
        return len(self._bytes) == LENGTHS + header + body

    def answer(self) -> tuple[Answer, Content]:
        """The complete answer. Raises ValueError for another form."""
        header, _ = self._lengths
        answer = Answer.model_validate_json(bytes(self._bytes[LENGTHS : LENGTHS + header]))
        return answer, self._content(answer, bytes(self._bytes[LENGTHS + header :]))

    @property
    def _lengths(self) -> tuple[int, int]:
        return int.from_bytes(self._bytes[:8], "little"), int.from_bytes(self._bytes[8:16], "little")


def nothing_more() -> Received[None]:
    """An answer without arrays that is to come."""
    return Received(0, lambda answer, body: None)
