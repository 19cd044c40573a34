"""The numbers that a policy sees, in torch: the oracle of the compiled ones (fused_kernels.py)."""

from __future__ import annotations

import torch

from learned_schedulers.graphs.environment.batched import Environment
from learned_schedulers.graphs.models.observation import Observation

_MOST = 5.0  # mean run times; larger numbers are clamped to it


class Observer:
    """Observes the states of one environment; `tails`: (n,) seconds of the longest path from an operation's start."""

    def __init__(self, environment: Environment, tails: torch.Tensor) -> None:
        self._env, self._tails = environment, tails
        self._unit = float(environment.seconds.mean()) or 1.0
        self._total = float(environment.seconds.sum()) or 1.0

    def __call__(self) -> Observation:
        env, unit = self._env, self._unit
        n, m, states = env.operations, env.devices, env.batch
        unscheduled = env.placement < 0
        rows, operations = env.ready.nonzero(as_tuple=True)
        starts = env.starts(rows, operations)
        allowed = env.allowed(rows, operations, starts)
        if env.sequence == "by_start":
            may_be_added = allowed.any(1)
            rows, operations, starts, allowed = (
                rows[may_be_added],
                operations[may_be_added],
                starts[may_be_added],
                allowed[may_be_added],
            )
        best = starts.masked_fill(~allowed, torch.inf).min(1).values  # (R,)
        tails = self._tails[operations]
        first = _least(best, rows, states)
        first = torch.where(torch.isinf(first), env.makespan, first)  # nothing is ready
        longest = -_least(-tails, rows, states).clamp_max(0.0)
        critical = -_least(-(best + tails), rows, states)
        critical = torch.where(torch.isinf(critical), env.makespan, critical)
        work = (unscheduled * env.seconds).sum(1)
        idle = (first[:, None] - env.free).clamp_min(0.0).masked_fill(~env.usable, 0.0)
        ready = torch.bincount(rows, minlength=states).to(first.dtype)
        even = (work + env.free.sum(1)) / m  # if all devices ended together
        state = [
            work / self._total,
            unscheduled.sum(1) / max(n, 1),
            torch.log1p(ready) / 4,
            ready.clamp_max(m) / m,
            _squashed((env.makespan - first) / unit),
            _squashed((critical - even) / unit),
            _squashed(longest / unit / 4),
            _squashed(idle.sum(1) / unit),
        ]
        free = (env.free - first[:, None]) / unit
        empty = env.last < 0
        devices = [_squashed(free), free.clamp(-_MOST, _MOST) / _MOST, empty, env.usable, env.removable]
        behind, later = (tails - longest[rows]) / unit, (best - first[rows]) / unit
        slack = (best + tails - critical[rows]) / unit
        free_of_rows = env.free[rows]
        gap = (starts - free_of_rows) / unit  # (R, m) idle time before the operation
        least_gap = gap.masked_fill(~allowed, torch.inf).min(1).values
        late = (starts - best[:, None]) / unit
        candidates = [
            behind.clamp(-_MOST, 0.0),
            later.clamp(0.0, _MOST),
            _squashed(behind),
            _squashed(later),
            _squashed(slack),
            slack.clamp(-_MOST, 0.0) / _MOST,
            _squashed(least_gap),
            (allowed & (late <= 0)).sum(1) / m,
            allowed.sum(1) / m,
            _squashed(late.masked_fill(~allowed, 0.0).max(1).values),
            _squashed(env.seconds[operations] / unit),
        ]
        emptiest = free_of_rows.min(1, keepdim=True).values
        pairs = [
            late.clamp(0.0, _MOST),
            _squashed(late),
            gap.clamp(0.0, _MOST) / _MOST,
            _squashed(gap),
            _squashed((free_of_rows - emptiest) / unit),
            empty[rows],
            late <= 0,
        ]
        return Observation(
            tips=torch.where(empty, n, env.last),
            devices=_stacked(devices),
            usable=env.usable,
            removable=env.removable,
            unscheduled=unscheduled,
            state=_stacked(state),
            rows=rows,
            operations=operations,
            candidates=_stacked(candidates),
            pairs=_stacked(pairs),
            allowed=allowed,
        )


def _least(values: torch.Tensor, rows: torch.Tensor, states: int) -> torch.Tensor:
    """The least value of each state, (S,); infinite for a state without values."""
    out = torch.full((states,), torch.inf, dtype=values.dtype, device=values.device)
    return out.scatter_reduce(0, rows, values, "amin")


def _squashed(values: torch.Tensor) -> torch.Tensor:
    return values / (1 + values.abs())


def _stacked(columns: list[torch.Tensor]) -> torch.Tensor:
    return torch.stack([column.to(torch.float32) for column in columns], -1)
