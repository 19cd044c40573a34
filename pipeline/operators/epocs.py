"""EPOCS: differentiable projection of network outputs onto constraints that may differ for every input.

    layer = Epocs()
    y = layer(network(inputs), [AffineEqualities(A, b), NonNegative(), HalfSpaces(C, d)])  # C y <= d

Jain & Amarasinghe 2019 project onto one set after the other, a fixed number of times. Here each item of
a batch stops when all its constraints hold to a tolerance, and two methods are added. All are
compositions of differentiable steps, and autograd goes through them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from pipeline.operators.constraints import AffineEqualities, Constraint, HalfSpaces

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
    - "cyclic": the paper's; projects onto one set after the other.
    - "extrapolated": all sets at once, the sum of their steps d_k lengthened by sum |d_k|^2 / |sum d_k|^2 and by
      `relaxation` in (0, 2); the first `AffineEqualities` is never left (Bauschke, Combettes, Kruk 2006).
      Mostly far fewer iterations.
    - "dykstra": the nearest point of the intersection (Boyle, Dykstra 1986); the slowest. Half-spaces
      count one by one, so it is for few of them. An item stops only when neither the point nor a correction
      changed by more than `tolerance` in the last iteration.
    iterations: at most so many; an item stops when no violation is above `tolerance`. Check with `violation`
    what is left: iterations may run out, and an empty intersection is not found out otherwise.
    relaxation: of "extrapolated" alone. recompute: keep only what passes from iteration to iteration for the
    gradient and run each again in the backward pass; with "dykstra" that is a correction for every set, so little
    is saved.
    Raises ValueError for an unknown method and for a relaxation outside (0, 2).
    """
    if not 0 < relaxation < 2:
        raise ValueError(f"relaxation: {relaxation} is not in (0, 2)")
    sets = list(constraints)
    if not sets:
        return y
    if method == "dykstra":
        sets = [part for one in sets for part in (one.parts() if isinstance(one, HalfSpaces) else [one])]
        state = (y, *(torch.zeros_like(y) for _ in sets))
        step = _dykstra
    elif method == "extrapolated":
        carriers = [one for one in sets if isinstance(one, AffineEqualities)][:1]
        state = (carriers[0].project(y) if carriers else y,)
        sets = carriers + [one for one in sets if not carriers or one is not carriers[0]]
        step = _extrapolated
    elif method == "cyclic":
        state = (y,)
        step = _cyclic
    else:
        raise ValueError(f"method: {method!r} is none of cyclic, extrapolated, dykstra")
    moved = torch.full((len(y),), method == "dykstra", device=y.device)
    for _ in range(iterations):
        going = (violation(state[0].detach(), sets) > tolerance) | moved
        if not going.any():
            break
        if recompute and torch.is_grad_enabled():
            following = checkpoint(step, state, sets, relaxation, use_reentrant=False)
        else:
            following = step(state, sets, relaxation)
        if method == "dykstra":  # its points may meet all sets, or stand still for long, before the corrections do
            changes = [(new - old).detach().abs().amax(1) for new, old in zip(following, state, strict=True)]
            moved = torch.stack(changes).amax(0) > tolerance
        state = tuple(torch.where(going[:, None], new, old) for new, old in zip(following, state, strict=True))
    return state[0]


def violation(y: torch.Tensor, constraints: Sequence[Constraint]) -> torch.Tensor:
    """Largest violation of any constraint, (B, d) -> (B,)."""
    return torch.stack([one.violation(y) for one in constraints]).amax(0)


class Epocs(nn.Module):
    """`epocs` as a layer without weights, for any network: y (B, d) and the constraints of the batch -> (B, d).

    The arguments are those of `epocs`. Constraints that all batches share are made once, outside; they are no
    part of the module's state, so move them to the device of y.
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
    for one in sets:
        y = one.project(y)
    return (y,)


def _extrapolated(state: State, sets: list[Constraint], relaxation: float) -> State:
    (y,) = state
    carrier = sets[0] if isinstance(sets[0], AffineEqualities) else None
    steps = [one.project(y) - y for one in (sets[1:] if carrier else sets)]
    direction = torch.stack(steps).sum(0) if steps else torch.zeros_like(y)
    if carrier:
        direction = carrier.direction(direction)
    square = direction.square().sum(-1)
    value = sum((step.square().sum(-1) for step in steps), torch.zeros_like(square))
    moving = square > 0
    length = relaxation * torch.where(moving, value / torch.where(moving, square, 1.0), 0.0)
    y = y + length.unsqueeze(-1) * direction
    return (carrier.project(y) if carrier else y,)  # again, lest rounding add up


def _dykstra(state: State, sets: list[Constraint], relaxation: float) -> State:
    y, *corrections = state
    kept = []
    for one, correction in zip(sets, corrections, strict=True):
        moved = y + correction
        y = one.project(moved)
        kept.append(moved - y)
    return (y, *kept)
