"""Whole networks of torchvision, timm and transformers, and odd ones: those of `benchmarks/own_models/modules.yaml`.

They are compared in float64, because many use fused operations of the CPU.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import nn

from benchmarks.own_models.modules import MODULES, inputs_of, module
from benchmarks.split_modules.case import Case

_RATE, _STEPS = 1e-5, 2
_WITHOUT_GRADIENTS = {"integers"}
_OF_COMPILED = {"ssdlite"}  # needs compiled operators of torchvision, which fit one kind of torch
_NOT_DOUBLE = {"mixtral"}  # torch has no grouped products of float64
_REFUSALS = {  # patterns of the reasons
    "branches": "control flow by data",
    "eight_bits": "fake impl|Quantized",
    "gpt2": "returns a DynamicCache",
    "item_scale": "register tensors",
    "levit": "attention_bias_cache",
    "loops": "control flow by data",
    "mixtral": "other things on the device",
    "raft_small": "register tensors",
}


def _called(name: str) -> nn.Module:
    """The module after a first call, in which some networks of transformers add hooks."""
    network = module(name)
    positional, keywords = inputs_of(name, key="small")
    with torch.no_grad():
        network(*positional, **keywords)
    return network


CASES = [
    Case(
        name,
        partial(_called, name),
        partial(inputs_of, name, key="small"),
        refusal=_REFUSALS.get(name, ""),
        gradients=name not in _WITHOUT_GRADIENTS,
        rounding=name not in _NOT_DOUBLE,
        rate=_RATE,
        steps=_STEPS,
    )
    for name in reversed(MODULES)  # the small ones first
    if name not in _OF_COMPILED
]
