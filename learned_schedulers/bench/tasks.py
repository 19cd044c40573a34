"""What a method is given of a graph, and what it answers, as messages between the judge's process and the method's.

A message is two lengths of eight bytes, JSON, and the bytes of arrays. Nothing that is read is executed.
"""

from __future__ import annotations

import json
from dataclasses import astuple, replace
from typing import Annotated, Any, BinaryIO, NamedTuple

import numpy as np
from pydantic import Field

from learned_schedulers.files import printable
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import Sight
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.problems.problem import Edges, Problem, Transfers
from learned_schedulers.section import Section

_HEADER = 1 << 20  # bytes of JSON in an answer
LENGTHS = 16  # bytes of both lengths
_INT32 = 4  # bytes
SIMULATED = "simulated"  # in the stats: schedules that the target simulated for a method of another package


class Fault(Exception):
    """What is wrong with a method or with its answer to a graph, in full words."""


class Introduction(Section):
    """What a method says of itself. If it is of another package, this comes from its process."""

    name: str
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


class Answer(Section):
    """The JSON of an answer; `count` orders, and as many placements, follow as bytes."""

    number: str = ""
    introduction: Introduction | None = None  # before the first task
    fault: str = ""
    status: str = ""
    message: str = ""
    count: Annotated[int, Field(ge=0)] = 0
    stats: dict[str, Any] = {}  # numbers, and lists of numbers

    def as_message(self, proposals: Proposals | None = None) -> bytes:
        """proposals: without faults."""
        parts = [] if proposals is None else [proposals.orders, proposals.placements]
        return _message(self.model_dump(mode="json"), b"".join(part.astype("<i4").tobytes() for part in parts))


def read_header(stream: BinaryIO) -> bytes:
    """The JSON of the next message without arrays; empty if there is none."""
    lengths = stream.read(LENGTHS)
    return stream.read(int.from_bytes(lengths[:8], "little"))


def _message(content: dict[str, Any], body: bytes = b"") -> bytes:
    header = json.dumps(content).encode()
    return len(header).to_bytes(8, "little") + len(body).to_bytes(8, "little") + header + body


class Received:
    """An answer as it comes, of at most `schedules` schedules of n operations."""

    def __init__(self, schedules: int, n: int) -> None:
        self._most, self._n = 2 * schedules * n * _INT32, n
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

    def answer(self) -> tuple[Answer, Proposals]:
        """The complete answer. Raises ValueError for another form."""
        header, _ = self._lengths
        answer = Answer.model_validate_json(bytes(self._bytes[LENGTHS : LENGTHS + header]))
        numbers = np.frombuffer(bytes(self._bytes[LENGTHS + header :]), "<i4")
        orders, placements = numbers.reshape(2, answer.count, self._n).astype(np.int32)
        stats = {name: np.array(values) for name, values in answer.stats.items()}
        return answer, Proposals(orders, placements, answer.status, printable(answer.message), stats)

    @property
    def _lengths(self) -> tuple[int, int]:
        return int.from_bytes(self._bytes[:8], "little"), int.from_bytes(self._bytes[8:16], "little")
