"""What a policy sees of partial schedules: numbers without a unit, independent of the numbering of the devices."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch

from learned_schedulers.graphs.environment.batched import Environment

_MOST = 5.0  # mean run times; larger numbers are clamped to it
N_STATE, N_DEVICE, N_OPERATION, N_PAIR = 8, 5, 11, 7
# Columns of the numbers of a state.
(
    STATE_WORK,  # share of the run time that is not scheduled
    STATE_OPERATIONS,  # share of the operations that are not scheduled
    STATE_READY,  # how many operations are ready
    STATE_READY_SHARE,  # ready operations for each device
    STATE_MAKESPAN,  # by how much the makespan exceeds the first start
    STATE_CRITICAL,  # by how much the critical path exceeds an even distribution of the work
    STATE_TAIL,  # the longest path of a ready operation
    STATE_IDLE,  # idle time of usable devices until the first start
) = range(N_STATE)
# Columns of the numbers of a device.
DEVICE_LATER, DEVICE_LATER_CLAMPED, DEVICE_EMPTY, DEVICE_USABLE, DEVICE_REMOVABLE = range(N_DEVICE)
# Columns of the numbers of an operation that may be added. BEHIND_LONGEST and LATER_THAN_FIRST are plain differences in
# mean run times: by how much its longest path is shorter than that of any ready operation, and how much later it would
# start than the first ready one.
(
    BEHIND_LONGEST,
    LATER_THAN_FIRST,
    BEHIND_SQUASHED,
    LATER_SQUASHED,
    SLACK_SQUASHED,
    SLACK_CLAMPED,
    LEAST_GAP,  # idle time before it on the device where that is least
    BEST_SHARE,  # share of the devices on which it would start first
    ALLOWED_SHARE,  # share of the devices on which it is allowed
    LATEST_START,  # how much later it would start on the worst device
    RUN_TIME,
) = range(N_OPERATION)
# Columns of the numbers of an operation on a device; LATER_THAN_BEST is the plain difference to the best device.
(
    LATER_THAN_BEST,
    PAIR_LATER_SQUASHED,
    PAIR_GAP_CLAMPED,  # idle time before it
    PAIR_GAP_SQUASHED,
    PAIR_FREE,  # how much later the device is free than the first free one
    PAIR_EMPTY,
    PAIR_BEST,
) = range(N_PAIR)


@dataclass(frozen=True)
class Observation:
    """S states of one graph on m devices, and the R operations that may be added to them."""

    tips: torch.Tensor  # (S, m) last operation of each device; n if it is empty
    devices: torch.Tensor  # (S, m, N_DEVICE)
    usable: torch.Tensor  # (S, m) bool
    removable: torch.Tensor  # (S, m) bool
    unscheduled: torch.Tensor  # (S, n) bool: operations that are not scheduled
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
        columns = {name: torch.cat([getattr(part, name) for part in parts]) for name in names}
        return Observation(rows=torch.cat(rows), **columns)


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
