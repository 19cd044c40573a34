"""Run a user's torch module by a split: every operation on its device; results move to the devices that read them.

    from learned_schedulers.graphs.plans.placed_module import PlacedModule
    placed = PlacedModule.of_split(module.eval(), (image,), "split.json", ["cuda:0", "cuda:1", "cuda:2", "cuda:3"])
    logits = placed(image)

`learned-schedulers graph module:Class --split split.json` writes the split of the module in evaluation mode, for inputs
of the same forms. Operations are numbered as in its graph: aten operations in program order, without those that cost
nothing; these run on the device of their input. Each device runs its operations in program order. Gradients of an
operation are computed on its device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, fx, nn
from torch._dynamo import OptimizedModule
from torch._export.utils import _compiling_state_context  # as torch.export traces

from learned_schedulers.graphs.plans.call_form import Call, NotPlaceable, call_of
from learned_schedulers.graphs.plans.forward_checks import check_calls, check_exported
from learned_schedulers.graphs.plans.module_capture import (
    CONTROL_FLOW,
    Captured,
    captured,
    operations_of,
    plain_graph,
    with_gradients,
)
from learned_schedulers.graphs.plans.module_state import difference, state_of, weights_of
from learned_schedulers.graphs.plans.node_places import check_placement, of_file, place_nodes
from learned_schedulers.graphs.plans.overlapping import check_memory, move
from learned_schedulers.graphs.plans.placed_run import PlacedRun
from learned_schedulers.graphs.plans.torch_errors import needs_values, placing_remedy
from learned_schedulers.graphs.read.any_device import as_on_any_device
from learned_schedulers.graphs.read.export import kind_of
from learned_schedulers.graphs.read.workloads import WorkloadError
from learned_schedulers.public import checked

Result = TypeVar("Result")
_PLAIN_CAPTURES = ("meta", "cpu")  # where a call without gradients is captured: as `graph` does, or else


class PlacedModule:
    """A module on several devices: what it computes and changes is what the module does, or a call is refused.

    The module stays the owner of its parameters and buffers, which move to the devices that read them, as by
    `module.to`; optimisers, `load_state_dict` and `state_dict` work on the module. Its form is fixed: sizes, types and
    strides of tensors, all plain values, modes, attributes. Random numbers and autocast are refused.
    """

    @checked
    def __init__(
        self,
        module: nn.Module,
        inputs: Sequence[Any],
        placement: np.ndarray | Path,
        devices: Sequence[str | torch.device],
        keywords: Mapping[str, Any] | None = None,
    ) -> None:
        """inputs, keywords: an example of a call; placement: (n,) device of each operation, from 0 on, or a split file.

        Raises NotPlaceable if the placement has a different number of operations or names an unknown device, and with
        the reason if torch cannot capture the module, or a run by operations would not do what the module does.
        """
        self.module = module
        self.devices = [_device(device) for device in devices]
        self.transfers: set[tuple[int, int]] = set()  # (operation, device that its result moved to) of the last call
        self._homes: dict[str, int] = {}  # weight -> number of its device
        self._captures: dict[tuple[bool, ...], Captured] = {}
        self._settings = _settings()
        self._state = state_of(module)
        _check_module(module, self._settings)
        call = call_of(module.forward, inputs, keywords or {})
        self._form = call.form
        self._kinds = _kinds(module, call)  # of the operations that the placement numbers
        self._exported = False  # whether forward runs as it is exported
        if isinstance(placement, Path):
            placement = of_file(placement, type(module).__name__, self._kinds)
        check_placement(placement, len(self._kinds), len(devices), module.training)
        self._placement = placement.tolist()
        with torch.no_grad():
            self._first_captured(call)
        move(module, {name: self.devices[number] for name, number in self._homes.items()})

    @classmethod
    @checked
    def of_split(
        cls,
        module: nn.Module,
        inputs: Sequence[Any],
        split: str | Path,
        devices: Sequence[str | torch.device],
        keywords: Mapping[str, Any] | None = None,
    ) -> PlacedModule:
        """By a file of `graph --split`. Raises NotPlaceable for a file that is not a split of this module."""
        return cls(module, inputs, Path(split), devices, keywords)

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        """What the module returns for these inputs, in its form; each tensor is on its operation's device.

        Raises NotPlaceable, which names place and remedy, for a call of another form than the example, and if the
        module was changed in more than the values of its parameters and buffers.
        """
        call = call_of(self.module.forward, inputs, keywords)
        self._form.check(call.form)
        self._check_unchanged()
        capture = self._captured(call)
        weights = weights_of(self.module)
        check_memory({name: weights[name] for name in capture.weights}, call, capture.changed)
        self.transfers.clear()
        result, assigned = capture.run([weights[name] for name in capture.weights], call.tensors)
        for name, tensor in assigned.items():
            path, _, attribute = name.rpartition(".")
            setattr(self.module.get_submodule(path), attribute, tensor)
        return result

    def _first_captured(self, call: Call) -> None:
        """Capture the usual forward; if that asks for values of tensors (is a mask empty?), the exported one."""
        try:
            self._captured(call)
        except NotPlaceable as refusal:
            if not needs_values(refusal.__cause__):
                raise
            self._exported = True
            try:
                self._captured(call)
            except NotPlaceable:
                raise refusal from refusal.__cause__
            check_exported(self.module, call)

    def _captured(self, call: Call) -> Captured:
        """The capture for what requires gradients in this call."""
        tensors = [*weights_of(self.module).values(), *call.tensors]
        gradients = with_gradients(self.module, call)
        key = (torch.is_grad_enabled(), *(tensor.requires_grad for tensor in tensors))
        if key in self._captures:
            return self._captures[key]
        with _compiling_state_context() if self._exported else nullcontext():
            kinds = sorted({device.type for device in self.devices})
            origins: list[torch.device | None] = []
            capture = _first(
                partial(captured, self.module, call, self._place, partial(self._runner, origins), device)
                for device in ((*kinds, "meta") if gradients else _PLAIN_CAPTURES)
            )
            for kind in {*kinds, capture.device}:
                _first([partial(check_calls, self.module, call, capture.events, kind)])
        self._captures[key] = capture
        return capture

    def _place(self, graph: fx.Graph) -> None:
        """Give the nodes of a graph their devices."""
        homes = place_nodes(graph, self._kinds, self._placement)
        if not self._captures:
            self._homes = homes

    def _runner(self, origins: list[torch.device | None], graph: fx.GraphModule, gradients: bool) -> PlacedRun:
        return PlacedRun(graph, self.devices, set() if gradients else self.transfers, origins, gradients)

    def _check_unchanged(self) -> None:
        if place := difference(self._state, state_of(self.module)):
            raise NotPlaceable(
                f"{place} of the module is not what it was when the module was placed: place the module anew, with a "
                "split of what it is now"
            )
        if place := difference(self._settings, _settings()):
            raise NotPlaceable(f"{place} is not what it was when the module was placed: set it back, or place it anew")


def _device(name: str | torch.device) -> torch.device:
    """A device that can compute. Raises NotPlaceable that names it otherwise."""
    try:
        if torch.empty(0, device=name).is_meta:
            raise ValueError("it has no values")
        return torch.device(name)
    except Exception as error:  # torch raises AssertionError where it was built without CUDA
        reason = " ".join(str(error).split())[:100]
        raise NotPlaceable(f"torch cannot compute on the device {name} here ({reason}): name others, as cpu") from error


def operation_kinds(
    module: nn.Module, inputs: Sequence[Any], keywords: Mapping[str, Any] | None = None
) -> tuple[str, ...]:
    """Names of the aten operations that a placement numbers, for an example of a call. Raises as PlacedModule does."""
    return _kinds(module, call_of(module.forward, inputs, keywords or {}))


def _kinds(module: nn.Module, call: Call) -> tuple[str, ...]:
    """The operations as `graph` lists them: of forward while it is exported, on the meta device if that is possible.

    Of weights without gradients. Some forwards are not exported, and have the operations of a usual call.
    """
    with as_on_any_device() as regions:
        try:
            with _compiling_state_context():
                kinds = _plain_kinds(module, call)
        except NotPlaceable:
            kinds = _plain_kinds(module, call)
    if regions:
        raise NotPlaceable(f"forward uses torch.autocast to {regions[0]}, which depends on the device: cast in forward")
    return kinds


def _plain_kinds(module: nn.Module, call: Call) -> tuple[str, ...]:
    graph = _first(partial(plain_graph, module, call, device) for device in _PLAIN_CAPTURES)
    return tuple(map(kind_of, operations_of(graph)))


def _first(attempts: Iterable[Callable[[], Result]]) -> Result:
    """The first result of functions that run the user's code.

    If all fail, raises NotPlaceable of the first one that states a reason of ours, or else of the last one.
    """
    refusals: list[NotPlaceable] = []
    for attempt in attempts:
        try:
            return attempt()
        except WorkloadError:
            raise
        except NotPlaceable as error:
            refusals.append(error)
        except Exception as error:  # the user's code, or torch because of it, may raise anything
            remedy = CONTROL_FLOW if "HigherOrderOp" in type(error).__name__ else placing_remedy(error)
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            refusals.append(NotPlaceable(f"torch cannot trace the module on its meta device: {reason}; {remedy}"))
            refusals[-1].__cause__ = error
    raise next((refusal for refusal in refusals if refusal.__cause__ is None), refusals[-1])


def _settings() -> dict[str, object]:
    """Settings of torch that a capture has built in."""
    autocast = {f"torch.autocast of {kind}": torch.is_autocast_enabled(kind) for kind in ("cpu", "cuda")}
    return {**autocast, "torch.get_default_dtype()": torch.get_default_dtype()}


def _check_module(module: nn.Module, settings: Mapping[str, object]) -> None:
    for name, enabled in settings.items():
        if enabled is True:
            raise NotPlaceable(
                f"{name} is enabled, which is not in the graph of a module: leave it, or cast in forward"
            )
    for name, part in module.named_modules():
        if isinstance(part, OptimizedModule) or part._compiled_call_impl is not None:
            raise NotPlaceable(
                f"{name or 'the module'} is compiled by torch.compile, whose kernels no split divides: place what was "
                "compiled (compiled._orig_mod, or the module without module.compile())"
            )
    for name, tensor in weights_of(module).items():
        if type(tensor) not in (Tensor, nn.Parameter) or tensor.layout != torch.strided or tensor.is_quantized:
            raise NotPlaceable(
                f"{name} of the module is a {type(tensor).__name__} of layout {tensor.layout}: let it be dense"
            )
        if tensor.is_meta:
            raise NotPlaceable(f"{name} of the module is on the meta device: give the module its weights first")
