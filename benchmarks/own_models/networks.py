"""Modules of `modules.yaml` that no package makes by a name: networks of transformers by settings, and odd ones."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


def transformer(kind: str, **settings: Any) -> nn.Module:
    """A network of transformers with random weights, by the settings of its configuration."""
    import transformers  # slow to import

    network = getattr(transformers, kind)
    module: nn.Module = network(network.config_class(**settings))
    return module


def eight_bits() -> nn.Module:
    """Layers whose weights are integers of eight bits."""
    plain = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 16)).eval()
    quantised: nn.Module = torch.ao.quantization.quantize_dynamic(plain, {nn.Linear}, dtype=torch.qint8)
    return quantised


class Branches(nn.Module):
    """A branch that depends on data."""

    def __init__(self) -> None:
        super().__init__()
        self.wide, self.deep = nn.Linear(32, 32), nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 32))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda y: self.wide(y), lambda y: self.deep(y), (x,))


class Loops(nn.Module):
    """A loop whose number of steps depends on data."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(32, 32)

    def forward(self, x: Tensor) -> Tensor:
        from torch._higher_order_ops.while_loop import while_loop

        def again(step: Tensor, y: Tensor) -> Tensor:
            return (step < 5) & (y.abs().sum() < 1e6)

        def body(step: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            return step + 1, torch.tanh(y @ self.layer.weight) + 1

        return while_loop(again, body, (torch.zeros((), dtype=torch.int64, device=x.device), x))[1]


class Waves(nn.Module):
    """Fourier transforms and complex numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.filter = nn.Parameter(torch.randn(513, 2))
        self.head = nn.Linear(1024, 10)

    def forward(self, x: Tensor) -> Tensor:
        spectrum = torch.fft.rfft(x) * torch.view_as_complex(self.filter)
        return self.head(torch.fft.irfft(spectrum, n=1024))


class Dictionaries(nn.Module):
    """A dictionary of inputs, and one of results."""

    def __init__(self) -> None:
        super().__init__()
        self.image, self.words = nn.Conv2d(3, 8, 3), nn.EmbeddingBag(100, 8, mode="mean")

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        image, words = self.image(batch["image"]).mean((2, 3)), self.words(batch["words"])
        return {"image": image, "words": words, "both": functional.cosine_similarity(image, words)}


class Experts(nn.Module):
    """A mixture of experts: every expert computes all rows, and the best two of each row count."""

    def __init__(self, width: int = 32, count: int = 4) -> None:
        super().__init__()
        self.gate = nn.Linear(width, count)
        self.weights = nn.Parameter(torch.randn(count, width, width) / width**0.5)

    def forward(self, x: Tensor) -> Tensor:
        scores = self.gate(x)
        values, places = scores.topk(2, -1)
        shares = torch.zeros_like(scores).scatter(1, places, values.softmax(-1))
        return torch.einsum("re,rd,edf->rf", shares, x, self.weights)


class Gates(nn.Module):
    """Recurrent layers of two kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.LSTM(32, 24, num_layers=2, bidirectional=True, batch_first=True)
        self.second = nn.GRU(48, 16, batch_first=True)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.second(self.first(x)[0])


class ItemScale(nn.Module):
    """A number that the constructor reads from a tensor, and a plain tensor as an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(32, 32)
        self.scale = torch.linspace(0.5, 2.0, 4).mean().item()
        self.shift = torch.arange(32.0) / 32

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) * self.scale + self.shift.to(x.device) + torch.tensor([1.0], device=x.device)


class Sampled(nn.Module):
    """Volumes, transposed convolutions, and points between pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.volume = nn.ConvTranspose2d(8, 4, 2, stride=2), nn.Conv3d(1, 2, 3, padding=1)
        self.grid = nn.Conv2d(4, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        up = self.up(x)
        grid = self.grid(up).permute(0, 2, 3, 1).tanh()
        sampled = functional.grid_sample(up, grid, align_corners=False)
        return functional.interpolate(self.volume(sampled.unsqueeze(1)).flatten(1, 2), scale_factor=0.5, mode="bicubic")


class Heads(nn.Module):
    """Attention of six heads, its input as queries, keys and values."""

    def forward(self, x: Tensor) -> Tensor:
        heads = x.unflatten(-1, (6, -1)).transpose(1, 2)
        return functional.scaled_dot_product_attention(heads, heads, heads).transpose(1, 2).flatten(-2)


class Integers(nn.Module):
    """A product of integers of eight bits."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-8, 8, (64, 96), dtype=torch.int8))

    def forward(self, x: Tensor) -> Tensor:
        rounded = (x * 16).clamp(-127, 127).to(torch.int8)
        return torch._int_mm(rounded, self.weight).float() / 256
