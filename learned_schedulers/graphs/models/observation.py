"""What a policy sees of partial schedules: numbers without a unit, independent of the numbering of the devices.

fused_kernels.py computes them; tests/graphs/models/observer.py has the same in torch.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch

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
