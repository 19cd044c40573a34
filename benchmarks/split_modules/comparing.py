"""A module beside its placed copy: forward, backward and steps of an optimiser, all tensors compared."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor, fx, nn
from torch.utils import _pytree as pytree

from benchmarks.split_modules.case import Arguments, Case
from learned_schedulers.graphs.plans.call_form import NotPlaceable, with_dataclasses
from learned_schedulers.graphs.plans.placed_module import PlacedModule, operation_kinds
from learned_schedulers.graphs.plans.placed_run import OPERATION, PlacedRun

ROUNDING = {"rtol": 1e-9, "atol": 1e-9}  # of cases in float64, in which an operation deviates by 1e-16
EQUAL, REFUSED, DIFFERENT = "equal", "refused", "different"


class Verdict(NamedTuple):
    """What became of a case with a split."""

    case: str
    seed: int
    name: str  # EQUAL | REFUSED | DIFFERENT
    detail: str  # the reason, or what differs
    tensors: int  # that were compared


def compared(case: Case, seed: int, devices: int = 2) -> Verdict:
    """Run a case and its copy that is placed at random on so many devices, all of them the CPU."""
    try:
        operations = _operations(case)
        torch.manual_seed(seed)
        module = _module(case)
        twin = deepcopy(module)
        positional, keywords = _arguments(case)
        placement = np.random.default_rng(seed).integers(0, devices, operations)
        placed = PlacedModule(twin, positional, placement, ["cpu"] * devices, keywords)
        tensors = 0
        for first, second in _pairs(case, module, placed):
            tensors += 1
            if difference := _difference(first, second, case.rounding):
                return Verdict(case.name, seed, DIFFERENT, difference, tensors)
    except NotPlaceable as error:
        return Verdict(case.name, seed, REFUSED, str(error), 0)
    except Exception as error:  # neither a result nor a refusal
        return Verdict(case.name, seed, DIFFERENT, f"it raises {type(error).__name__}: {error}"[:500], 0)
    return Verdict(case.name, seed, EQUAL, "", tensors)


def detected(case: Case, seed: int) -> bool | None:
    """Whether the comparison notices that the result of one random operation is a thousandth larger.

    None if no operation of the case has a result of floating-point numbers.
    """
    rng = np.random.default_rng(seed)
    changeable: set[int] = set()
    target: list[int] = []
    run_node = PlacedRun.run_node

    def changed(run: PlacedRun, node: fx.Node) -> Any:
        result = run_node(run, node)
        number = node.meta.get(OPERATION, -1)
        if node.op == "call_function" and isinstance(result, Tensor) and result.is_floating_point() and number >= 0:
            changeable.add(number)
            if target == [number] and result.numel():
                return result * 1.001 + 0.001
        return result

    with patch.object(PlacedRun, "run_node", changed):
        if compared(case, seed).name != EQUAL or not changeable:
            return None
        target.append(int(rng.choice(sorted(changeable))))
        return compared(case, seed).name == DIFFERENT


@cache
def _operations(case: Case) -> int:
    positional, keywords = _arguments(case)
    return len(operation_kinds(_module(case), positional, keywords))


def _module(case: Case) -> nn.Module:
    return case.make().train(case.training).to(torch.float64 if case.rounding else None)


class Named(NamedTuple):
    """A tensor or another value, and what it is."""

    name: str
    value: Any


def _pairs(case: Case, module: nn.Module, placed: PlacedModule) -> Iterator[tuple[Named, Named]]:
    """Everything to be compared, of the module and of its twin, in steps."""
    twin = placed.module
    optimisers = [
        torch.optim.SGD(list(part.parameters()) or [torch.zeros(1)], case.rate, 0.9) for part in (module, twin)
    ]
    for step in range(case.steps):
        for gradients in (False, True) if case.gradients else (False,):
            label = f"step {step}, {'with' if gradients else 'without'} gradients"
            calls = _twice(_arguments(case), gradients)
            with torch.set_grad_enabled(gradients):
                results = [
                    function(*call[0], **call[1]) for function, call in zip((module, placed), calls, strict=True)
                ]
            yield from _values(label, "result", *results)
            yield from _values(label, "aliases", *map(_aliases, results, calls))
            yield from _values(label, "inputs", *calls)
            yield from _values(label, "weights", *(dict(part.state_dict()) for part in (module, twin)))
            yield from _values(label, "buffers", *(dict(part.named_buffers()) for part in (module, twin)))
            if gradients:
                for optimiser, result in zip(optimisers, results, strict=True):
                    optimiser.zero_grad()
                    _loss(result).backward()
                leaves = [[leaf.grad for leaf in _tensors(call) if leaf.is_leaf] for call in calls]
                yield from _values(label, "gradients of inputs", *leaves)
                yield from _values(
                    label, "gradients", *({n: p.grad for n, p in part.named_parameters()} for part in (module, twin))
                )
                for optimiser in optimisers:
                    optimiser.step()
                yield from _values(
                    label, "stepped weights", *(dict(part.named_parameters()) for part in (module, twin))
                )


def _arguments(case: Case) -> Arguments:
    """The inputs of a call; of a case that rounds otherwise, in float64."""
    arguments = case.arguments()
    if not case.rounding:
        return arguments
    wide: Arguments = pytree.tree_map_only(Tensor, lambda x: x.double() if x.is_floating_point() else x, arguments)
    return wide


def _twice(call: Arguments, gradients: bool) -> list[Arguments]:
    """Two equal copies of a call. With gradients, its real tensors require them and are no leaves."""

    def copy(tensor: Tensor) -> Tensor:
        if gradients and tensor.is_floating_point():
            return tensor.clone().requires_grad_().mul(1)
        return tensor.clone()

    return [pytree.tree_map_only(Tensor, copy, call) for _ in range(2)]


def _loss(result: Any) -> Tensor:
    """A number that depends on each element of a result in its own way."""
    total = torch.zeros((), dtype=torch.float64)
    for number, leaf in enumerate(_tensors(result)):
        if leaf.requires_grad:
            real = torch.view_as_real(leaf) if leaf.is_complex() else leaf
            weights = torch.linspace(0.5, 1.5, real.numel()).reshape(real.shape) + number
            total = total + (real.double() * weights).sum()
    return total


def _values(label: str, kind: str, first: Any, second: Any) -> Iterator[tuple[Named, Named]]:
    """Pairs of leaves; the structures come first."""
    sides = [pytree.tree_flatten_with_path(with_dataclasses(side)) for side in (first, second)]
    yield Named(f"{label}: form of {kind}", str(sides[0][1])), Named("", str(sides[1][1]))
    for (path, one_leaf), (_, other_leaf) in zip(sides[0][0], sides[1][0], strict=True):
        name = f"{label}: {kind}{pytree.keystr(path)}"
        yield Named(name, one_leaf), Named(name, other_leaf)


def _aliases(result: Any, call: Arguments) -> list[tuple[int, int]]:
    """Pairs of tensors, of a result and then of its call, that share memory."""
    memories = [leaf.untyped_storage().data_ptr() for leaf in (*_tensors(result), *_tensors(call))]
    return [(i, j) for j in range(len(memories)) for i in range(j) if memories[i] == memories[j] != 0]


def _tensors(value: Any) -> list[Tensor]:
    return [leaf for leaf in pytree.tree_leaves(with_dataclasses(value)) if isinstance(leaf, Tensor)]


def _difference(first: Named, second: Named, rounding: bool) -> str:
    """How two values differ; empty if they are equal."""
    one_value, other = first.value, second.value
    if type(one_value) is not type(other):
        return f"{first.name}: {type(one_value).__name__} and {type(other).__name__}"
    if not isinstance(one_value, Tensor):
        return "" if one_value == other else f"{first.name}: {one_value!r} and {other!r}"
    if (one_value.dtype, one_value.shape, one_value.requires_grad) != (other.dtype, other.shape, other.requires_grad):
        return f"{first.name}: {one_value.dtype} {tuple(one_value.shape)} and {other.dtype} {tuple(other.shape)}"
    try:
        bounds = ROUNDING if rounding else {"rtol": 0.0, "atol": 0.0}
        torch.testing.assert_close(other, one_value, equal_nan=True, **bounds)
    except AssertionError as error:
        return f"{first.name}: {' '.join(str(error).split())}"
    return ""
