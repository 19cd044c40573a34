"""Small torch modules, drawn: the text of a file that has a class `Network`, and the shape of its input."""

from __future__ import annotations

from pathlib import Path

import numpy as np

_HEAD = """import torch
from torch import nn


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([{layers}])

    def forward(self, x):
        values = [x]
{steps}
        return {result}
"""
_PLAIN = ("nn.Linear({n}, {n})", "nn.LayerNorm({n})", "nn.GELU()", "nn.Tanh()", "nn.SiLU()", "nn.Softmax(-1)")
_IMAGES = (
    *(
        "nn.Conv2d({n}, {n}, 3, padding=1)",
        "nn.Conv2d({n}, {n}, 1)",
        "nn.BatchNorm2d({n})",
        "nn.Sigmoid()",
        "nn.ReLU()",
    ),
    *("nn.AvgPool2d(3, 1, 1)", "nn.MaxPool2d(3, 1, 1)"),
)
_JOINS = ("{a} + {b}", "{a} * torch.sigmoid({b})", "torch.maximum({a}, {b})", "{a} - 0.5 * {b}")


def drawn_network(rng: np.random.Generator, path: Path) -> tuple[int, ...]:
    """Write a module of random layers and joins, in which every value has one shape; returns the shape of its input."""
    width = int(rng.choice([4, 8, 32]))
    is_image = rng.random() < 0.4
    layers, steps, unread = [], [], {0}
    for number in range(1, int(rng.integers(2, 15))):
        a, b = (int(rng.integers(number)) for _ in range(2))
        if rng.random() < 0.35:
            joined = str(rng.choice(_JOINS)).format(a=f"values[{a}]", b=f"values[{b}]")
            steps.append(f"        values.append({joined})")
            unread -= {a, b}
        else:
            steps.append(f"        values.append(self.layers[{len(layers)}](values[{a}]))")
            layers.append(str(rng.choice(_IMAGES if is_image else _PLAIN)).format(n=width))
            unread -= {a}
        unread.add(number)
    result = " + ".join(f"values[{number}]" for number in sorted(unread))
    path.write_text(_HEAD.format(layers=", ".join(layers), steps="\n".join(steps), result=result))
    batch = int(rng.integers(1, 5))
    return (batch, width, 6, 6) if is_image else (batch, width)
