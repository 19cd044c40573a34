"""EPOCS: differentiable projection of network outputs onto constraints that may differ for every input.

    layer = Epocs()
    y = layer(network(inputs), [AffineEqualities(A, b), NonNegative(), HalfSpaces(C, d)])  # C y <= d

Jain & Amarasinghe 2019 project onto one set after the other, a fixed number of times. Here each item of a batch
stops once it satisfies all its constraints to a tolerance, and there are two further methods. All methods are
compositions of differentiable steps, and autograd differentiates through them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from learned_schedulers.operators.constraints import AffineEqualities, Constraint, HalfSpaces

Method = Literal["cyclic", "extrapolated", "dykstra"]


def epocs(
    y: torch.Tensor,
    constraints: Sequence[Constraint],
    *,
    method: Method = "extrapolated",
    iterations: int = 200,
    tolerance: float = 1e-5,
    relaxation: float = 1.5,
    recompute: bool = False,
) -> torch.Tensor:
    """Move y (B, d) into, or near, the intersection of convex sets. Returns (B, d).

    method:
    - "cyclic": the paper's method, which projects onto one set after the other.
    - "extrapolated": projects onto all sets at once. The sum of the steps d_k is multiplied by
      sum |d_k|^2 / |sum d_k|^2 and by `relaxation` in (0, 2). Every iteration stays in the first
      `AffineEqualities` (Bauschke, Combettes, Kruk 2006). It mostly needs far fewer iterations.
    - "dykstra": the nearest point of the intersection (Boyle, Dykstra 1986); the slowest method. Each half-space
      counts as a set of its own, so it suits few of them. An item stops only once neither the point nor a
      correction changed by more than `tolerance` in the last iteration.
    iterations: the largest number; an item stops once no violation is above `tolerance`. Call `violation` on the
    result: the iterations may run out, and only `violation` shows that an intersection is empty.
    relaxation: for "extrapolated" alone. recompute: store only the state between iterations for the gradient, and
    repeat each iteration in the backward pass; with "dykstra" the state has a correction for every set, so
    recomputation saves little memory.
    Raises ValueError for an unknown method and for a relaxation outside (0, 2).
    """
    if not 0 < relaxation < 2:
        raise ValueError(f"relaxation: {relaxation} is not in (0, 2)")
    sets = list(constraints)
    if not sets:
        return y
    if method == "dykstra":
        sets = [
            part
            for constraint in sets
            for part in (constraint.parts() if isinstance(constraint, HalfSpaces) else [constraint])
        ]
        state = (y, *(torch.zeros_like(y) for _ in sets))
        step = _dykstra
    elif method == "extrapolated":
        carriers = [constraint for constraint in sets if isinstance(constraint, AffineEqualities)][:1]
        state = (carriers[0].project(y) if carriers else y,)
        sets = carriers + [constraint for constraint in sets if not carriers or constraint is not carriers[0]]
        step = _extrapolated
    elif method == "cyclic":
        state = (y,)
        step = _cyclic
    else:
        raise ValueError(f"method: {method!r} is unknown; choose one of cyclic, extrapolated, dykstra")
    moved = torch.full((len(y),), method == "dykstra", device=y.device)
    for _ in range(iterations):
        going = (violation(state[0].detach(), sets) > tolerance) | moved
        if not going.any():
            break
        if recompute and torch.is_grad_enabled():
            following = checkpoint(step, state, sets, relaxation, use_reentrant=False)
        else:
            following = step(state, sets, relaxation)
        if method == "dykstra":  # its point may be in all sets, or stop for long, while the corrections still change
            changes = [(new - old).detach().abs().amax(1) for new, old in zip(following, state, strict=True)]
            moved = torch.stack(changes).amax(0) > tolerance
        state = tuple(torch.where(going[:, None], new, old) for new, old in zip(following, state, strict=True))
    return state[0]


def violation(y: torch.Tensor, constraints: Sequence[Constraint]) -> torch.Tensor:
    """Largest violation of any constraint, (B, d) -> (B,)."""
    return torch.stack([constraint.violation(y) for constraint in constraints]).amax(0)


class Epocs(nn.Module):
    """`epocs` as a layer without weights, for any network: y (B, d) and the constraints of the batch -> (B, d).

    The arguments are those of `epocs`. Create constraints that all batches share once, outside; they are not part
    of the module's state, so move them to the device of y.
    """

    def __init__(
        self,
        method: Method = "extrapolated",
        iterations: int = 200,
        tolerance: float = 1e-5,
        relaxation: float = 1.5,
        recompute: bool = False,
    ) -> None:
        super().__init__()
        self.method: Method = method
        self.iterations, self.tolerance, self.relaxation, self.recompute = iterations, tolerance, relaxation, recompute

    def forward(self, y: torch.Tensor, constraints: Sequence[Constraint]) -> torch.Tensor:
        return epocs(
            y,
            constraints,
            method=self.method,
            iterations=self.iterations,
            tolerance=self.tolerance,
            relaxation=self.relaxation,
            recompute=self.recompute,
        )


State = tuple[torch.Tensor, ...]


def _cyclic(state: State, sets: list[Constraint], relaxation: float) -> State:
    (y,) = state
    for constraint in sets:
        y = constraint.project(y)
    return (y,)


def _extrapolated(state: State, sets: list[Constraint], relaxation: float) -> State:
    (y,) = state
    carrier = sets[0] if isinstance(sets[0], AffineEqualities) else None
    steps = [constraint.project(y) - y for constraint in (sets[1:] if carrier else sets)]
    direction = torch.stack(steps).sum(0) if steps else torch.zeros_like(y)
    if carrier:
        direction = carrier.direction(direction)
    square = direction.square().sum(-1)
    value = sum((step.square().sum(-1) for step in steps), torch.zeros_like(square))
    moving = square > 0
    length = relaxation * torch.where(moving, value / torch.where(moving, square, 1.0), 0.0)
    y = y + length.unsqueeze(-1) * direction
    return (carrier.project(y) if carrier else y,)  # a second projection prevents rounding errors from adding up


def _dykstra(state: State, sets: list[Constraint], relaxation: float) -> State:
    y, *corrections = state
    new_corrections = []
    for constraint, correction in zip(sets, corrections, strict=True):
        moved = y + correction
        y = constraint.project(moved)
        new_corrections.append(moved - y)
    return (y, *new_corrections)
