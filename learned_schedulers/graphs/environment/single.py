"""A gymnasium environment for any agent: one schedule of a computation graph, built operation by operation.

`batched.py` defines the states and actions. This module implements them again in plain Python and NumPy; tests compare
the batched environment with it.
"""

from __future__ import annotations

from typing import Any, get_args

import gymnasium
import numpy as np
from gymnasium import spaces

from learned_schedulers.graphs.environment.batched import Sequence
from learned_schedulers.graphs.problems.problem import Problem

Observation = dict[str, np.ndarray]
_ROUNDING = 1 + 1e-9  # sums of the same seconds in different sequences differ by less


class ScheduleEnv(gymnasium.Env[dict[str, Any], Any]):
    """A schedule of n operations on m devices. Action: operation * m + device. Nothing is random: seeds have no effect.

    Observation; -1 stands for no device, no time or no operation yet:

    - seconds (n,): run time of each operation;
    - placement (n,), ends (n,): device of each operation, and the second at which it ends;
    - arrivals (n, m): the second at which all results of scheduled operations that an operation needs are on a device;
    - free (m,), last (m,): the second at which each device becomes free, and its last operation;
    - action_mask (n * m,): 1 for actions that are allowed; also in `info`.

    The reward is 0 until the last step; then it is the speedup, sum of run times / makespan (0 if no operation takes
    time), and `info` has the makespan. Raises ValueError for a problem without operations, or an action that is not
    allowed.
    """

    def __init__(self, problem: Problem, sequence: Sequence = "any") -> None:
        n, m = len(problem), problem.devices
        if n == 0:
            raise ValueError("a graph without operations has no action")
        if sequence not in get_args(Sequence):
            raise ValueError(f"no sequence {sequence!r}; the sequences are {', '.join(get_args(Sequence))}")
        self.problem, self.sequence = problem, sequence
        self._seconds: list[float] = problem.seconds.tolist()
        self._work = float(problem.seconds.sum())
        self._delays: list[float] = problem.delays.tolist()
        self._children, self._parents = (
            [part.tolist() for part in np.split(edges.targets, edges.offsets[1:-1])]
            for edges in (problem.children, problem.parents)
        )
        # The longest path to an arrival contains each operation at most once, with its delay at most once.
        latest = (self._work + sum(self._delays)) * _ROUNDING
        self.action_space = spaces.Discrete(n * m)
        self.observation_space = spaces.Dict(
            {
                "seconds": spaces.Box(0.0, latest, (n,), np.float64),
                "placement": spaces.Box(-1, m - 1, (n,), np.int64),
                "ends": spaces.Box(-1.0, latest, (n,), np.float64),
                "arrivals": spaces.Box(0.0, latest, (n, m), np.float64),
                "free": spaces.Box(0.0, latest, (m,), np.float64),
                "last": spaces.Box(-1, n - 1, (m,), np.int64),
                "action_mask": spaces.MultiBinary(n * m),
            }
        )
        self._begin()

    def _begin(self) -> None:
        n, m = len(self.problem), self.problem.devices
        self._placement, self._ends = np.full(n, -1), np.full(n, -1.0)
        self._arrivals, self._free, self._last = np.zeros((n, m)), np.zeros(m), np.full(m, -1)
        self._waiting = [len(parents) for parents in self._parents]  # unscheduled parents of each operation
        self._ready = {i for i in range(n) if not self._waiting[i]}  # unscheduled, but all parents are scheduled
        self._used = 0  # number of devices with an operation, which have the lowest numbers
        self._now, self._added = 0.0, -1  # start and number of the operation added last
        self._mask = self._allowed()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start with an empty schedule; there are no options."""
        super().reset(seed=seed)
        self._begin()
        return self._observation(), self._details()

    def step(self, action: int | np.integer) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Add an operation to a device: it starts once the device is free and all results that it needs are there."""
        if action not in self.action_space:
            raise ValueError(
                f"no action {action}; an action is operation * devices + device, less than {len(self._mask)}"
            )
        operation, device = divmod(int(action), self.problem.devices)
        if not self._mask[action]:
            raise ValueError(
                f"operation {operation} cannot be added to device {device}: {self._reason(operation, device)}"
            )
        start = self._start(operation, device)
        end = start + self._seconds[operation]
        self._used += int(self._last[device] < 0)
        self._placement[operation], self._ends[operation] = device, end
        self._free[device], self._last[device] = end, operation
        self._now, self._added = start, operation
        self._ready.remove(operation)
        arrivals = np.full(self.problem.devices, end + self._delays[operation])
        arrivals[device] = end
        for child in self._children[operation]:
            np.maximum(self._arrivals[child], arrivals, out=self._arrivals[child])
            self._waiting[child] -= 1
            if not self._waiting[child]:
                self._ready.add(child)
        self._mask = self._allowed()
        details = self._details()
        if not (complete := bool((self._placement >= 0).all())):
            return self._observation(), 0.0, False, False, details
        details["makespan"] = makespan = float(self._free.max())
        return self._observation(), self._work / makespan if makespan else 0.0, complete, False, details

    def _start(self, operation: int, device: int) -> float:
        return max(float(self._free[device]), float(self._arrivals[operation, device]))

    def _allowed(self) -> np.ndarray:
        """The mask of actions, (n * m,) int8."""
        m = self.problem.devices
        mask = np.zeros(len(self.problem) * m, np.int8)
        usable = min(self._used + 1, m)  # devices with an operation, and the first empty one
        for operation in self._ready:
            for device in range(usable):
                if self.sequence == "any" or self._in_sequence(operation, device):
                    mask[operation * m + device] = 1
        return mask

    def _in_sequence(self, operation: int, device: int) -> bool:
        """Whether `by_start` allows the operation after the one added last."""
        start = self._start(operation, device)
        if start != self._now:
            return start > self._now
        return operation > self._added or int(self._last[device]) == self._added

    def _reason(self, operation: int, device: int) -> str:
        """Why an action is not allowed."""
        if self._placement[operation] >= 0:
            return f"it is scheduled already, on device {self._placement[operation]}"
        if missing := [parent for parent in self._parents[operation] if self._placement[parent] < 0]:
            return f"it is not ready, for it needs the result of operation {missing[0]}, which is not scheduled"
        if device > self._used:
            return f"the device is empty, and device {self._used} is the first empty one"
        start, last = self._start(operation, device), f"operation {self._added}, the last one, at {self._now} s"
        if start < self._now:
            return f"it would start at {start} s, before {last}"
        return f"it would start together with {last}, whose number is higher"

    def _observation(self) -> Observation:
        return {
            "seconds": self.problem.seconds.copy(),
            "placement": self._placement.copy(),
            "ends": self._ends.copy(),
            "arrivals": self._arrivals.copy(),
            "free": self._free.copy(),
            "last": self._last.copy(),
            "action_mask": self._mask.copy(),
        }

    def _details(self) -> dict[str, Any]:
        return {"action_mask": self._mask.copy()}
