"""The examples of the README run, one after the other, and their results satisfy the constraints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch

from learned_schedulers import operators
from learned_schedulers.operators.epocs import violation
from learned_schedulers.operators.popocs import residual

README = Path(operators.__file__).with_name("README.md")


def test_examples() -> None:
    torch.manual_seed(0)
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL):
        exec(block, names)
    assert residual(names["matrix"].detach(), names["orders"]).max() <= 1.5e-5
    assert names["logits"].grad.isfinite().all()
    assert violation(names["y"].detach(), names["constraints"]).max() <= 1e-5
    assert all(weight.grad is not None for weight in names["network"].parameters())
    assert residual(names["whole"].detach(), names["orders"]).max() <= 1.5e-5


def test_the_example_of_the_docs() -> None:
    torch.manual_seed(0)
    names: dict[str, Any] = {}
    text = (Path(__file__).parents[2] / "docs/operator.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(block, names)
    assert residual(names["matrix"].detach(), names["orders"]).max() <= 1.5e-5
    assert names["logits"].grad.isfinite().all()
