"""Modules that change something: buffers, inputs, parameters, results in place; and results of many forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from benchmarks.split_modules.case import Cases, real, whole

CASES = Cases()


class Based(nn.Module):
    """A module with a linear layer of 8 by 8."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)


@CASES.of(real(3, 8))
class Counter(Based):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return self.layer(x) * self.calls


@CASES.of(real(3, 8))
class ReassignedBuffer(Based):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("average", torch.ones(8))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        before = self.average
        self.average = 0.9 * self.average + 0.1 * x.mean(0)
        return self.layer(x) * self.average, before


@CASES.of(real(3, 8))
class NotPersistent(Based):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.rand(8), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        self.scale.mul_(0.5)
        return self.layer(x) * self.scale


@CASES.of(real(2, 1, 8))
class KeyValueCache(Based):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(2, 16, 8))
        self.register_buffer("place", torch.zeros(1, dtype=torch.long))

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            self.keys.index_copy_(1, self.place, self.layer(x))
        scores = (x @ self.keys.transpose(1, 2)).masked_fill(torch.arange(16, device=x.device) > self.place, -1e9)
        self.place.add_(1)
        return scores.softmax(-1) @ self.keys


@CASES.of(real(2, 2, 8), real(2, 6, 8), real(2, 6, 8))
class CacheAsInput(Based):
    def forward(self, x: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        keys[:, 2:4] = x
        values[:, 2:4].copy_(self.layer(x).detach())
        return (x @ keys.transpose(1, 2)).softmax(-1) @ values, keys


@CASES.of(real(6, 8), training=True)
class NormInTraining(Based):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.layer(self.norm(x)))


@CASES.of(real(6, 8), training=True)
class NormPartlyTraining(Based):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.BatchNorm1d(8, momentum=0.5), nn.BatchNorm1d(8, affine=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.layer(self.first(x)).relu_())


@CASES.of(real(4, 8), training=True)
class AveragedWeights(Based):
    def __init__(self) -> None:
        super().__init__()
        self.teacher = nn.Linear(8, 8).requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            for mine, other in zip(self.teacher.parameters(), self.layer.parameters(), strict=True):
                mine.mul_(0.9).add_(other, alpha=0.1)
        return (self.layer(x) - self.teacher(x)).square()


@CASES.of(real(4, 8))
class InputInPlace(Based):
    def forward(self, x: Tensor) -> Tensor:
        x.add_(1)
        return self.layer(x)


@CASES.of(real(4, 8), gradients=False)
class InputInPlaceAndReturned(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x.mul_(2)
        return x, x[1:]


@CASES.of(real(4, 8))
class ResultsInPlace(Based):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.layer(x) + 1
        y[1] = 0
        y[:, 2:4].mul_(3)
        part = y[0]
        part += 1
        return y, part


@CASES.of(real(4, 8), gradients=False)
class ViewsOfInput(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return x, x.view(-1)[3:7], x.t()


@CASES.of(real(4, 8))
class ViewsOfResult(Based):
    def forward(self, x: Tensor) -> list[Tensor]:
        y = self.layer(x)
        return [y, y[0], y.t(), y]


@CASES.of(real(4, 8))
class Dictionary(Based):
    def forward(self, x: Tensor) -> dict[str, Any]:
        y = self.layer(x)
        return {"second": y * 2, "first": y, "inside": {"nothing": None, "size": len(x), "name": "row"}}


class Pair(NamedTuple):
    left: Tensor
    right: Tensor | None


@CASES.of(real(4, 8))
class NamedResult(Based):
    def forward(self, x: Tensor) -> Pair:
        return Pair(self.layer(x), None)


@dataclass
class Answer:
    logits: Tensor
    states: tuple[Tensor, ...]
    loss: Tensor | None = None


@CASES.of(real(4, 8))
class DataclassResult(Based):
    def forward(self, x: Tensor) -> Answer:
        y = self.layer(x)
        return Answer(y, (y.tanh(), y.exp()))


@CASES.of(lambda: {"rows": [torch.randn(3, 8), torch.randn(2, 8)], "mask": None}, 2.5, "sum", weight=real(8))
class NestedInputs(Based):
    def forward(self, parts: dict[str, Any], scale: float, how: str, weight: Tensor | None = None) -> Tensor:
        y = self.layer(torch.cat(parts["rows"])) * scale
        y = y if weight is None else y * weight
        return y.sum(0) if how == "sum" else y


@CASES.of(real(4, 8))
class ReturnsWeights(Based):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.layer(x), self.layer.weight, self.layer.weight[0]


@CASES.of(real(4, 8), whole(10, 4))
class UnusedWeights(Based):
    def __init__(self) -> None:
        super().__init__()
        self.unused = nn.Linear(3, 3)
        self.frozen = nn.Linear(8, 8).requires_grad_(False)

    def forward(self, x: Tensor, unused: Tensor) -> Tensor:
        return self.frozen(self.layer(x))


@CASES.of(whole(12, 3, 5))
class TiedWeights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(12, 8)
        self.head = nn.Linear(8, 12)
        self.head.weight = self.words.weight

    def forward(self, words: Tensor) -> Tensor:
        return self.head(self.words(words).mean(1))


@CASES.of(real(4, 8))
class TiedModules(Based):
    def __init__(self) -> None:
        super().__init__()
        self.again = self.layer
        self.list = nn.ModuleList([self.layer, nn.Tanh(), self.layer])

    def forward(self, x: Tensor) -> Tensor:
        for part in self.list:
            x = part(x)
        return self.again(x)


@CASES.of(whole(12, 3, 5), training=True)
class RenormedEmbedding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(12, 8, max_norm=1.0, padding_idx=0, scale_grad_by_freq=True)

    def forward(self, words: Tensor) -> Tensor:
        return self.words(words).sin()


@CASES.of(real(4, 8), refusal="calls, a value of Python")
class PythonCounter(Based):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return self.layer(x) * self.calls


@CASES.of(real(4, 8), refusal="last, a value of Python|last")
class PlainTensorKept(Based):
    def __init__(self) -> None:
        super().__init__()
        self.last: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        y = self.layer(x) if self.last is None else self.layer(x) + self.last
        self.last = y.detach()
        return y


@CASES.of(real(4, 8), refusal="shares memory")
class SharedBuffers(Based):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("whole", torch.zeros(8))
        self.register_buffer("part", self.whole[:4])

    def forward(self, x: Tensor) -> Tensor:
        self.whole += 1
        return self.layer(x) + self.part.sum()
