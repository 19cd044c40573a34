"""A gymnasium environment for any agent: one schedule of a computation graph, built operation by operation.

`batched.py` defines the states and actions. By its id:
`gymnasium.make("learned_schedulers.graphs.environment:Schedule-v0", problem=problem)`.
"""

from __future__ import annotations

from typing import Any, get_args

import gymnasium
import numpy as np
import torch
from gymnasium import spaces

from learned_schedulers.graphs.environment.batched import Environment, Sequence, add
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
    - action_mask (n * m,): 1 for actions that are allowed; also in `info`, as `action_space.sample` takes it.

    The reward is 0 until the last step; then it is the speedup, sum of run times / makespan (0 if no operation takes
    time), and `info` has the makespan. An action that is not allowed changes nothing and ends the episode
    with reward 0; `info` has the reason as `refused`. Raises ValueError for a problem without operations.
    """

    def __init__(self, problem: Problem, sequence: Sequence = "any") -> None:
        n, m = len(problem), problem.devices
        if n == 0:
            raise ValueError("a graph without operations has no action")
        if sequence not in get_args(Sequence):
            raise ValueError(f"no sequence {sequence!r}; the sequences are {', '.join(get_args(Sequence))}")
        self.problem, self.sequence = problem, sequence
        # The longest path to an arrival contains each operation at most once, with its delay at most once.
        latest = float(problem.seconds.sum() + problem.delays.sum()) * _ROUNDING
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
        self._states = Environment(self.problem, 1, self.sequence)
        self._added = 0  # number of operations
        self._chosen, self._start = np.array([[-1], [-1]]), np.zeros(1)  # the last action, and its start
        self._mask = self._states.actions.numpy().reshape(-1)

    def action_masks(self) -> np.ndarray:
        """(n * m,) bool: actions that are allowed, as sb3-contrib's MaskablePPO asks for them."""
        return self._mask.astype(bool)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start with an empty schedule; there are no options."""
        super().reset(seed=seed)
        self._begin()
        return self._observed()

    def step(self, action: int | np.integer) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Add an operation to a device: it starts once the device is free and all results that it needs are there.

        Raises ValueError for what is no action at all.
        """
        states, devices = self._states, self.problem.devices
        if action not in self.action_space:
            count = len(self.problem) * devices
            raise ValueError(f"no action {action}; an action is operation * devices + device, less than {count}")
        operation, device = divmod(int(action), devices)
        if not self._mask[action]:
            observation, details = self._observed()
            reason = f"operation {operation} cannot be added to device {device}: {self._reason(operation, device)}"
            return observation, 0.0, True, False, details | {"refused": reason}
        self._chosen[:, 0] = operation, device
        operations, devices_chosen = self._chosen
        arrays = states.arrays  # Environment.step makes tensors, which takes several times as long as a single schedule
        graph, by_start = states.problem_arrays, self.sequence == "by_start"
        add(0, 1, arrays.actions, operations, devices_chosen, self._start, graph, arrays, by_start)
        self._added += 1
        observation, details = self._observed()
        if self._added < len(self.problem):
            return observation, 0.0, False, False, details
        details["makespan"] = makespan = float(arrays.free.max())
        speedup = float(self.problem.seconds.sum()) / makespan if makespan else 0.0
        return observation, speedup, True, False, details

    def _reason(self, operation: int, device: int) -> str:
        """Why an action is not allowed."""
        states = self._states
        if (placed := int(states.placement[0, operation])) >= 0:
            return f"it is scheduled already, on device {placed}"
        parents = self.problem.parents
        needed = parents.targets[parents.offsets[operation] : parents.offsets[operation + 1]].tolist()
        if missing := [parent for parent in needed if states.placement[0, parent] < 0]:
            return f"it is not ready, for it needs the result of operation {missing[0]}, which is not scheduled"
        if not states.usable[0, device]:
            return f"the device is empty, and device {int((states.last >= 0).sum())} is the first empty one"
        start = float(states.starts(torch.tensor([0]), torch.tensor([operation]))[0, device])
        last = f"operation {self._chosen[0, 0]}, the last one, at {self._start[0]} s"
        if start < self._start[0]:
            return f"it would start at {start} s, before {last}"
        return f"it would start together with {last}, whose number is higher"

    def _observed(self) -> tuple[Observation, dict[str, Any]]:
        """Copies of what an agent sees."""
        arrays, mask = self._states.arrays, self._mask.astype(np.int8)
        ends = arrays.ends[0]
        observation = {
            "seconds": self.problem.seconds.copy(),
            "placement": arrays.placement[0].copy(),
            "ends": np.where(np.isnan(ends), -1.0, ends),
            "arrivals": arrays.arrivals[0].copy(),
            "free": arrays.free[0].copy(),
            "last": arrays.last[0].copy(),
            "action_mask": mask,
        }
        return observation, {"action_mask": mask.copy()}
