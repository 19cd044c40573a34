"""Whether forward does by itself what it did in its capture, by tensors without content.

Python code may ask where a tensor is and of which class; autocast changes types on its device alone. Both show in the
calls of torch's functions. No number is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import zip_longest

from torch import nn
from torch._subclasses import FakeTensorMode

from learned_schedulers.graphs.plans.call_form import Call, NotPlaceable, bound
from learned_schedulers.graphs.plans.call_log import CallLog, Event, no_fast_paths
from learned_schedulers.graphs.plans.module_capture import like, on_device


def check_calls(module: nn.Module, call: Call, expected: Sequence[Event], device: str) -> None:
    """Raises NotPlaceable if forward calls other functions than in its capture: on `meta` or another kind of device."""
    present = _events(module, call, device)
    for first, second in zip_longest(expected, present, fillvalue=("nothing",)):
        if first != second:
            raise NotPlaceable(
                f"forward does other things on the device {device} than in its capture: {' '.join(second)} instead of "
                f"{' '.join(first)}; it must not ask where its tensors are or of which class, nor use torch.autocast"
            )


def _events(module: nn.Module, call: Call, device: str) -> list[Event]:
    with no_fast_paths(), FakeTensorMode(allow_non_fake_inputs=True) if device != "meta" else nullcontext():
        copy = on_device(module, device)
        inputs = [like(tensor, device) for tensor in call.tensors]
        inputs = [tensor.clone() if tensor.requires_grad else tensor for tensor in inputs]  # leaves cannot change
        args, kwargs = bound(copy.forward, call.arguments(inputs))
        with CallLog() as log:
            log.end(copy(*args, **kwargs))
    return log.events
