"""Tensors that share memory: which a capture does not know, so that changes in place and moves are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from learned_schedulers.graphs.plans.call_form import Call, NotPlaceable
from learned_schedulers.graphs.plans.module_state import weights_of


def check_memory(weights: Mapping[str, Tensor], call: Call, changed: Sequence[str]) -> None:
    """Raises NotPlaceable if a tensor that forward changes shares memory with another one.

    weights: by name; changed: names of weights, and `inputs.` with the number of a tensor of the call.
    """
    if not changed:
        return
    inputs = {f"inputs.{k}": tensor for k, tensor in enumerate(call.tensors)}
    words = {f"inputs.{k}": f"the input {name}" for k, name in enumerate(call.names)}
    spans = {name: _span(tensor) for name, tensor in {**weights, **inputs}.items() if tensor.numel()}
    for first in (name for name in changed if name in spans):
        for second in spans:
            if second != first and _overlap(spans[first], spans[second]):
                raise NotPlaceable(
                    f"forward changes {words.get(first, first)}, which shares memory with {words.get(second, second)}: "
                    "give each its own memory (clone)"
                )


def move(module: nn.Module, homes: Mapping[str, torch.device]) -> None:
    """Move weights, by name, as `module.to` does: parameters stay the same objects.

    Raises NotPlaceable, before any moves, for tensors that share memory, which would be torn apart.
    """
    weights = weights_of(module)
    names = {id(tensor): name for name, tensor in reversed(weights.items())}  # the first name of each
    away = {
        name: device for name, device in homes.items() if weights[name].device != torch.empty(0, device=device).device
    }
    spans = {name: _span(weights[name]) for name in names.values() if weights[name].numel()}
    for first in away:
        for second in spans:
            if first in spans and second != names[id(weights[first])] and _overlap(spans[first], spans[second]):
                raise NotPlaceable(
                    f"{first} shares memory with {second} of the module, and only one of them would move"
                )
    for name, device in away.items():
        tensor = weights[name]
        if isinstance(tensor, nn.Parameter):
            gradient, tensor.grad = tensor.grad, None
            tensor.data = tensor.data.to(device)
            tensor.grad = None if gradient is None else gradient.to(device)
        else:
            moved = tensor.to(device)
            for further in (other for other, value in weights.items() if value is tensor):
                path, _, attribute = further.rpartition(".")
                module.get_submodule(path)._buffers[attribute] = moved


def _span(tensor: Tensor) -> tuple[str, int, int]:
    """A tensor's device, the address of its first byte, and the address after its last."""
    length = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    begin = tensor.data_ptr()
    return str(tensor.device), begin, begin + length * tensor.element_size()


def _overlap(first: tuple[str, int, int], second: tuple[str, int, int]) -> bool:
    return first[0] == second[0] and first[1] < second[2] and second[1] < first[2]
