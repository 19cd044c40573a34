"""Methods that cheat, or break: each does so on the second graph of test_apart.py, if it does not always."""

from __future__ import annotations

import ctypes
import gc
import os
import random
import socket
import subprocess
import sys
import time
from typing import Any, ClassVar

import numpy as np

from learned_schedulers.graphs.methods import Proposals
from learned_schedulers.method_settings import MethodSettings


class InOrder:
    """The honest one: operations in their order, on all devices in turn."""

    def __init__(self, settings: Any) -> None:
        self._settings = settings

    calls: ClassVar[int] = 0

    def propose(self, problem: Any, rng: np.random.Generator, budget: Any) -> Proposals:
        InOrder.calls += 1
        if InOrder.calls == 2:
            self.trouble(problem)
        return schedule(problem, 0)

    def trouble(self, problem: Any) -> None:
        pass


def schedule(problem: Any, shift: int, **stats: Any) -> Proposals:
    order = np.arange(len(problem), dtype=np.int32)[None]
    return Proposals(order, (order * (1 + shift % 5) + shift) % np.int32(problem.devices), stats=stats)


def _write_everywhere(content: bytes) -> None:
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, content)
        except OSError:
            continue


class WritesAResult(InOrder):
    def trouble(self, problem: Any) -> None:
        _write_everywhere(b'{"seeds": [0], "costs": [[0.0, 0.0, 0.0]]}')


class WritesAnAnswer(InOrder):
    def trouble(self, problem: Any) -> None:
        from learned_schedulers.bench.tasks import Answer

        _write_everywhere(Answer(status="ok").as_message())


class WritesWithoutEnd(InOrder):
    def trouble(self, problem: Any) -> None:
        while True:
            _write_everywhere((2**40).to_bytes(8, "little") * 2 + bytes(1 << 16))


class ReplacesTheJudge(InOrder):
    def __init__(self, settings: Any) -> None:
        for module in list(sys.modules.values()):
            for name in ("makespans", "keep", "faults"):
                if getattr(module, "__name__", "").startswith("learned_schedulers.") and hasattr(module, name):
                    setattr(module, name, lambda *arguments: np.zeros(0))


class OverwritesSizes(InOrder):
    def propose(self, problem: Any, rng: np.random.Generator, budget: Any) -> Proposals:
        ctypes.memset(problem.sizes.ctypes.data, 0, problem.sizes.nbytes)
        return super().propose(problem, rng, budget)


class LooksForTheTarget(InOrder):
    def propose(self, problem: Any, rng: np.random.Generator, budget: Any) -> Proposals:
        frames = [frame for frame in iter_frames()]
        values = [value for frame in frames for value in frame.f_locals.values()] + gc.get_objects()
        transfers = [value.transfers for value in values if type(value).__name__ == "Problem"]
        if any(each.slope or each.delay for each in transfers) or {"pcie", "adversarial_small"} & {*sys.argv}:
            raise RuntimeError("here is the target")
        return super().propose(problem, rng, budget)


def iter_frames() -> Any:
    frame: Any = sys._getframe()
    while frame:
        yield frame
        frame = frame.f_back


class ReachesTheJudge(InOrder):
    def propose(self, problem: Any, rng: np.random.Generator, budget: Any) -> Proposals:
        try:
            open(f"/proc/{os.getppid()}/mem", "r+b").close()
        except PermissionError:
            return super().propose(problem, rng, budget)
        raise RuntimeError("here is the judge's memory")


class StartsProcesses(InOrder):
    def trouble(self, problem: Any) -> None:
        subprocess.run(["true"], check=True)


class ForksProcesses(InOrder):
    def trouble(self, problem: Any) -> None:
        while True:
            os.fork()


class UsesTheNetwork(InOrder):
    def trouble(self, problem: Any) -> None:
        socket.create_connection(("127.0.0.1", 9))


class TakesMemory(InOrder):
    def trouble(self, problem: Any) -> None:
        pieces = []
        while True:
            pieces.append(np.ones(1 << 24))


class Exits(InOrder):
    def trouble(self, problem: Any) -> None:
        os._exit(0)


class Aborts(InOrder):
    def trouble(self, problem: Any) -> None:
        os.abort()


class Hangs(InOrder):
    def trouble(self, problem: Any) -> None:
        time.sleep(1000)


class GivesNaN(InOrder):
    def propose(self, problem: Any, rng: np.random.Generator, budget: Any) -> Proposals:
        InOrder.calls += 1
        return schedule(problem, 0, best=np.array([np.nan])) if InOrder.calls == 2 else schedule(problem, 0)


class IsHonestUnderConform(InOrder):
    def propose(self, problem: Any, rng: np.random.Generator, budget: Any) -> Proposals:
        InOrder.calls += 1
        right = schedule(problem, 0)
        if len(problem) != 8 or InOrder.calls != 2:  # of conform's graphs none has eight operations
            return right
        return Proposals(right.orders[:, ::-1].copy(), right.placements)


class StopsTheClock(InOrder):
    def propose(self, problem: Any, rng: np.random.Generator, budget: Any) -> Proposals:
        time.sleep(0.25)
        time.perf_counter = time.monotonic = time.time = lambda: 0.0
        return super().propose(problem, rng, budget)


class Urandom(InOrder):
    def propose(self, problem: Any, rng: np.random.Generator, budget: Any) -> Proposals:
        return schedule(problem, os.urandom(1)[0])


class Clock(InOrder):
    def propose(self, problem: Any, rng: np.random.Generator, budget: Any) -> Proposals:
        return schedule(problem, random.Random(time.time_ns()).randrange(100))


class KeepsSchedules(InOrder):
    """Of each graph another schedule than before: a search that goes on where a seed before it ended."""

    shifts: ClassVar[dict[bytes, int]] = {}

    def propose(self, problem: Any, rng: np.random.Generator, budget: Any) -> Proposals:
        graph = problem.seconds.tobytes()
        self.shifts[graph] = self.shifts.get(graph, 0) + 1
        return schedule(problem, self.shifts[graph])


class Asks(InOrder):
    class Settings(MethodSettings):
        needs: ClassVar[frozenset[str]] = frozenset({"expert"})
