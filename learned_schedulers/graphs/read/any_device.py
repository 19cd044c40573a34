"""What torch does on one kind of device alone, traced by tensors without content on a machine that lacks the device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.amp.autocast_mode import autocast
from torch.nn.attention import flex_attention


@contextmanager
def as_on_any_device() -> Iterator[list[torch.dtype]]:
    """Each autocast is one of the CPU, where it also casts fake tensors; yields the types that are cast to.

    torch leaves out the autocast of a device that the machine lacks, and none casts tensors on the meta device. Flex
    attention is there, too, and has gradients, which it has on no CPU.
    """
    make, enter, check = autocast.__init__, autocast.__enter__, flex_attention._validate_device
    regions: list[torch.dtype] = []
    elsewhere: list[tuple[autocast, str]] = []  # those that exist already, as decorators of functions do

    def make_on_cpu(
        self: autocast,
        device_type: str,
        dtype: torch.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        make(self, "cpu", dtype or torch.get_autocast_dtype(device_type), enabled, cache_enabled)

    def enter_on_cpu(self: autocast) -> Any:
        if self.device != "cpu":
            elsewhere.append((self, self.device))
            self.device = "cpu"
        if self._enabled and self.fast_dtype is not None:
            regions.append(self.fast_dtype)
        return enter(self)

    autocast.__init__, autocast.__enter__ = make_on_cpu, enter_on_cpu  # type: ignore[method-assign]
    flex_attention._validate_device = lambda *_: None
    try:
        yield regions
    finally:
        autocast.__init__, autocast.__enter__ = make, enter  # type: ignore[method-assign]
        flex_attention._validate_device = check
        for before, device in elsewhere:
            before.device = device
