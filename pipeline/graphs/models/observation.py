"""What a policy sees of partial schedules: numbers without a unit, the same whatever the devices are called."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch

from pipeline.graphs.environment.batched import Environment

_MOST = 5.0  # mean run times: more counts as much
N_STATE, N_DEVICE, N_OPERATION, N_PAIR = 8, 5, 11, 7
# Of these numbers, columns that are plain differences in mean run times: what an operation's longest path lacks to the
# longest of all ready ones; how much later it would start than the first; on a device, than on the best device.
BEHIND_LONGEST, LATER_THAN_FIRST, LATER_THAN_BEST = 0, 1, 0


@dataclass(frozen=True)
class Observation:
    """S states of one graph on m devices, and the R operations that may be added to them."""

    tips: torch.Tensor  # (S, m) last operation of each device, n of an empty one
    devices: torch.Tensor  # (S, m, N_DEVICE)
    usable: torch.Tensor  # (S, m) bool
    removable: torch.Tensor  # (S, m) bool
    left: torch.Tensor  # (S, n) bool: operations that are not scheduled
    state: torch.Tensor  # (S, N_STATE)
    rows: torch.Tensor  # (R,) the state of each operation, ascending
    operations: torch.Tensor  # (R,)
    candidates: torch.Tensor  # (R, N_OPERATION)
    pairs: torch.Tensor  # (R, m, N_PAIR) each operation on each device
    allowed: torch.Tensor  # (R, m) bool

    @staticmethod
    def joined(parts: list[Observation]) -> Observation:
        """The states of all parts, one after the other."""
        names = [field.name for field in fields(Observation) if field.name != "rows"]
        offset, rows = 0, []
        for part in parts:
            rows.append(part.rows + offset)
            offset += len(part.tips)
        others = {name: torch.cat([getattr(part, name) for part in parts]) for name in names}
        return Observation(rows=torch.cat(rows), **others)


class Observer:
    """Observes states of one environment; `tails`: (n,) seconds to the end of the longest path behind an operation."""

    def __init__(self, environment: Environment, tails: torch.Tensor) -> None:
        self._env, self._tails = environment, tails
        self._unit = float(environment.seconds.mean()) or 1.0
        self._total = float(environment.seconds.sum()) or 1.0

    def __call__(self) -> Observation:
        env, unit = self._env, self._unit
        n, m, states = env.operations, env.devices, env.batch
        left = env.placement < 0
        rows, operations = env.ready.nonzero(as_tuple=True)
        starts = env.starts(rows, operations)
        allowed = env.allowed(rows, operations, starts)
        if env.sequence == "by_start":
            kept = allowed.any(1)
            rows, operations, starts, allowed = rows[kept], operations[kept], starts[kept], allowed[kept]
        best = starts.masked_fill(~allowed, torch.inf).min(1).values  # (R,)
        tails = self._tails[operations]
        first = _least(best, rows, states)
        first = torch.where(torch.isinf(first), env.makespan, first)  # nothing is left
        longest = -_least(-tails, rows, states).clamp_max(0.0)
        critical = -_least(-(best + tails), rows, states)
        critical = torch.where(torch.isinf(critical), env.makespan, critical)
        work = (left * env.seconds).sum(1)
        idle = (first[:, None] - env.free).clamp_min(0.0).masked_fill(~env.usable, 0.0)
        ready = torch.bincount(rows, minlength=states).to(first.dtype)
        even = (work + env.free.sum(1)) / m  # all devices end together
        state = [
            work / self._total,
            left.sum(1) / max(n, 1),
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
        free_there = env.free[rows]
        gap = (starts - free_there) / unit  # (R, m) idle time before it
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
        emptiest = free_there.min(1, keepdim=True).values
        pairs = [
            late.clamp(0.0, _MOST),
            _squashed(late),
            gap.clamp(0.0, _MOST) / _MOST,
            _squashed(gap),
            _squashed((free_there - emptiest) / unit),
            empty[rows],
            late <= 0,
        ]
        return Observation(
            tips=torch.where(empty, n, env.last),
            devices=_stacked(devices),
            usable=env.usable,
            removable=env.removable,
            left=left,
            state=_stacked(state),
            rows=rows,
            operations=operations,
            candidates=_stacked(candidates),
            pairs=_stacked(pairs),
            allowed=allowed,
        )


def _least(values: torch.Tensor, rows: torch.Tensor, states: int) -> torch.Tensor:
    """The least value of each state, infinite without one: (S,)."""
    out = torch.full((states,), torch.inf, dtype=values.dtype, device=values.device)
    return out.scatter_reduce(0, rows, values, "amin")


def _squashed(values: torch.Tensor) -> torch.Tensor:
    return values / (1 + values.abs())


def _stacked(columns: list[torch.Tensor]) -> torch.Tensor:
    return torch.stack([column.to(torch.float32) for column in columns], -1)
