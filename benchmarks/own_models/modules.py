"""Modules of `modules.yaml`: a factory, and inputs that fit."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import yaml
from torch import Tensor, nn

from learned_schedulers.graphs.plans.module_words import Input, arguments_of, imported, input_of

MODULES: Mapping[str, Mapping[str, Any]] = yaml.safe_load(Path(__file__).with_name("modules.yaml").read_text())
_LEAST_WORDS = 100  # every vocabulary has so many words
_LIBRARIES: list[torch.library.Library] = []  # they last as long as somebody holds them


def declare_operators() -> None:
    """Let torchvision be imported where its compiled part was built for another torch (with CUDA) than is installed.

    Networks that need its operators do not run then.
    """
    if find_spec("torchvision") is None or _LIBRARIES:
        return
    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        _LIBRARIES.append(torch.library.Library("torchvision", "DEF"))
        for kind in ("nms", "qnms"):
            _LIBRARIES[0].define(f"{kind}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        for loaded in [name for name in sys.modules if name.startswith("torchvision")]:
            del sys.modules[loaded]


def module(name: str) -> nn.Module:
    """The module of a name, with random weights, in evaluation mode."""
    declare_operators()
    with imported(MODULES[name]["module"]) as make:
        network: nn.Module = make()
    return network.eval()


def inputs_of(name: str, key: str = "inputs") -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Random positional and keyword arguments of a call; key: `small` or `form` for other sizes, if there are some."""
    entry = MODULES[name]
    shapes = entry.get(key, entry["inputs"])
    return arguments_of(entry["module"], [input_of(text) for text in shapes], _drawn)


def _drawn(entry: Input) -> Tensor:
    kind = getattr(torch, entry.kind)
    if kind.is_floating_point:
        return torch.randn(entry.shape, dtype=kind)
    return torch.randint(0, _LEAST_WORDS, entry.shape, dtype=kind)
