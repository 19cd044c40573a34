"""Whole networks of torchvision, timm and transformers, and odd ones: those of `benchmarks/own_models/modules.yaml`.

They are compared in float64, because many use fused operations of the CPU.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import nn

from benchmarks.own_models.modules import MODULES, inputs_of, module
from benchmarks.split_modules.case import Case

_STEP = 1e-5
_WITHOUT_GRADIENTS = {"integers"}
_REFUSALS = {  # patterns of the reasons
    "branches": "control flow by data",
    "eight_bits": "fake impl",
    "gpt2": "returns a DynamicCache",
    "item_scale": "register tensors",
    "loops": "control flow by data",
    "mixtral": "other things on the device",
    "ssdlite": "torch cannot trace",
}


def _called(name: str) -> nn.Module:
    """The module after a first call, in which some networks of transformers add hooks."""
    network = module(name)
    positional, keywords = inputs_of(name, small=True)
    with torch.no_grad():
        network(*positional, **keywords)
    return network


CASES = [
    Case(
        name,
        partial(_called, name),
        partial(inputs_of, name, small=True),
        refusal=_REFUSALS.get(name, ""),
        gradients=name not in _WITHOUT_GRADIENTS,
        rounding=True,
        step=_STEP,
    )
    for name in MODULES
]
