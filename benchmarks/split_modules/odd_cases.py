"""Modules that once broke a run by operations, or might: state outside of buffers, hooks, new content of tensors."""

from __future__ import annotations

import random
from functools import cache
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from benchmarks.split_modules.case import Cases, real
from benchmarks.split_modules.state_cases import Based

CASES = Cases()
PYTHON = "a value of Python"


@CASES.of(real(4, 8), refusal=PYTHON)
class CountsInItsClass(Based):
    calls: ClassVar[int] = 0

    def forward(self, x: Tensor) -> Tensor:
        type(self).calls += 1
        return self.layer(x) * type(self).calls


@CASES.of(real(4, 8), refusal=PYTHON)
class CountsInAClosure(Based):
    def __init__(self) -> None:
        super().__init__()
        calls = [0]

        def scaled(x: Tensor) -> Tensor:
            calls[0] += 1
            return x * calls[0]

        self.scaled = scaled

    def forward(self, x: Tensor) -> Tensor:
        return self.scaled(self.layer(x))


@CASES.of(real(4, 8), refusal=PYTHON)
class GeneratorOfItsOwn(Based):
    def __init__(self) -> None:
        super().__init__()
        self.draws = random.Random(3)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) * self.draws.random()


@CASES.of(real(4, 8), refusal=PYTHON)
class ChangesItsMode(Based):
    def forward(self, x: Tensor) -> Tensor:
        self.layer.train(not self.layer.training)
        return self.layer(x)


@CASES.of(real(4, 8), refusal="assigns the attribute data")
class NewContent(Based):
    def forward(self, x: Tensor) -> Tensor:
        self.layer.weight.data = self.layer.weight.data * 0.9
        return self.layer(x)


@CASES.of(real(4, 8), refusal="catches an error")
class CatchesErrors(Based):
    def forward(self, x: Tensor) -> Tensor:
        try:
            return self.layer(x) * float(x.sum())
        except Exception:
            return self.layer(x)


@CASES.of(real(4, 8), refusal="other things on the device")
class AsksForTheClass(Based):
    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) * (2 if type(x) is Tensor else 3)


@cache
def ramp(length: int) -> Tensor:
    return torch.arange(float(length))


@CASES.of(real(4, 8), refusal="register it as a buffer")
class CachedConstant(Based):
    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) * ramp(8)


@CASES.of(real(4, 8), refusal="shares memory|is not what it was")
class BufferOfTwoNames(Based):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("first", torch.ones(8))
        self.register_buffer("second", self.first)

    def forward(self, x: Tensor) -> Tensor:
        self.first.add_(1)
        return self.layer(x) * self.second


@CASES.of(real(4, 8), refusal="is not what it was")
class GrowingCache(Based):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(0, 8))

    def forward(self, x: Tensor) -> Tensor:
        self.keys = torch.cat([self.keys, x.detach()])
        return self.layer(x) + self.keys.sum(0)


@CASES.of(real(4, 8))
class Hooked(Based):
    def __init__(self) -> None:
        super().__init__()
        self.layer.register_forward_hook(lambda _, inputs, result: result * 2)
        self.layer.register_forward_pre_hook(lambda _, inputs: (inputs[0] + 1,))
        self.layer.register_full_backward_hook(
            lambda _, inputs, results: (None if inputs[0] is None else inputs[0] * 5,)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


@CASES.of(real(4, 8))
class StateWithGradient(Based):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.zeros(8))

    def forward(self, x: Tensor) -> Tensor:
        self.state = self.state * 0.5 + self.layer(x).mean(0)
        y = x * self.state
        self.state = self.state.detach()
        return y


@CASES.of(real(4, 8))
class SwappedBuffers(Based):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("first", torch.zeros(8))
        self.register_buffer("second", torch.ones(8))

    def forward(self, x: Tensor) -> Tensor:
        self.first, self.second = self.second, self.first
        self.first.add_(1)
        return self.layer(x) * self.first


@CASES.of(lambda: torch.randn(20, 8)[8:12].t())
class PartOfAnother(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 8)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return self.layer(x), x.t().view(-1)[3:9], torch.as_strided(x, (2, 2), (1, 2)), x[1:]


@CASES.of(real(4, 8))
class Transformed(Based):
    def forward(self, x: Tensor) -> tuple[Tensor, Any]:
        return torch.vmap(self.layer)(x), torch.func.jacrev(lambda row: self.layer(row))(x[0])


@CASES.of(real(4, 8))
class ContentOfBuffers(Based):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("last", torch.zeros(8))

    def forward(self, x: Tensor) -> Tensor:
        self.last.data.copy_(x.detach()[0])
        self.layer.weight.data.clamp_(-0.2, 0.2)
        return self.layer(x) + self.last
