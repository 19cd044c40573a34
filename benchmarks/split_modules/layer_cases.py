"""Modules of all kinds of operations: layers of torch, casts, indices, custom gradients; and some to be refused."""

from __future__ import annotations

import random
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint

from benchmarks.split_modules.case import Cases, real, whole
from benchmarks.split_modules.state_cases import Based

CASES = Cases()
DRAWS = "random numbers"

CASES.make("Layers", lambda: nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 3)), real(4, 8))
CASES.make("Convolutions", lambda: nn.Sequential(
    nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2),
    nn.Conv2d(4, 4, 3, groups=2), nn.AdaptiveAvgPool2d(1), nn.Flatten()), real(2, 3, 8, 8), training=True)  # fmt: skip
CASES.make("Upwards", lambda: nn.Sequential(
    nn.ConvTranspose2d(4, 6, 2, stride=2), nn.GroupNorm(2, 6), nn.Upsample(scale_factor=2, mode="bilinear"), nn.SiLU(),
    nn.ReflectionPad2d(1), nn.PixelUnshuffle(2)), real(2, 4, 4, 4), rounding=True)  # fmt: skip
CASES.make("Volumes", lambda: nn.Sequential(
    nn.Conv3d(2, 3, 2), nn.InstanceNorm3d(3, affine=True, track_running_stats=True), nn.AvgPool3d(2)),
    real(2, 2, 5, 5, 5), training=True)  # fmt: skip
CASES.make("Encoder", lambda: nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), real(2, 5, 8), rounding=True)
CASES.make(
    "Decoder",
    lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True),
    real(2, 5, 8),
    real(2, 3, 8),
    rounding=True,
)
CASES.make(
    "Attention", lambda: nn.MultiheadAttention(8, 2, batch_first=True), real(2, 5, 8), real(2, 4, 8), real(2, 4, 8)
)
CASES.make("TwoWayLstm", lambda: nn.LSTM(8, 6, batch_first=True, bidirectional=True), real(2, 4, 8), rounding=True)
CASES.make("GruWithState", lambda: nn.GRU(8, 6), real(3, 2, 8), real(1, 2, 6))
CASES.make("LstmCell", lambda: nn.LSTMCell(8, 6), real(2, 8), lambda: (torch.randn(2, 6), torch.randn(2, 6)))
CASES.make("WeightNorm", lambda: parametrizations.weight_norm(nn.Linear(8, 5)), real(4, 8))
CASES.make("SpectralNorm", lambda: parametrizations.spectral_norm(nn.Linear(8, 5)), real(4, 8), training=True)
CASES.make("Bag", lambda: nn.EmbeddingBag(12, 8, mode="sum"), whole(12, 3, 5))
CASES.make("Bilinear", lambda: nn.Bilinear(8, 4, 5), real(3, 8), real(3, 4))
CASES.make(
    "DoublePrecision", lambda: nn.Sequential(nn.Linear(8, 8), nn.Softplus()).double(), real(3, 8, dtype=torch.float64)
)
CASES.make("BrainFloats", lambda: nn.Linear(8, 8, dtype=torch.bfloat16), real(3, 8, dtype=torch.bfloat16))
CASES.make("Dropout", lambda: nn.Sequential(nn.Linear(8, 8), nn.Dropout()), real(3, 8), training=True, refusal=DRAWS)
CASES.make("DropoutAtRest", lambda: nn.Sequential(nn.Linear(8, 8), nn.Dropout()), real(3, 8))


@CASES.of(real(3, 8, dtype=torch.float16))
class Casts(Based):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = self.layer(x.float()).to(torch.float64)
        return y.type_as(x), y.bfloat16().relu(), (y > 0).long()


@CASES.of(real(2, 6, 8), rounding=True)
class CausalAttention(Based):
    def forward(self, x: Tensor) -> Tensor:
        q = k = self.layer(x).view(2, 6, 2, 4).transpose(1, 2)
        return functional.scaled_dot_product_attention(q, k, k * 2, is_causal=True).flatten(2)


@CASES.of(real(4, 8), whole(8, 4, 3))
class Indices(Based):
    def forward(self, x: Tensor, places: Tensor) -> tuple[Tensor, ...]:
        y = self.layer(x)
        rows = torch.arange(4, device=x.device)
        picked = y[rows[:, None], places]
        y = y.index_put((rows, places[:, 0]), picked[:, 1], accumulate=True)
        return y.gather(1, places), y[:, [0, 2, 0]], y[..., None, ::2], torch.take_along_dim(y, places, 1)


@CASES.of(real(4, 8), whole(5, 4))
class Scatter(Based):
    def forward(self, x: Tensor, groups: Tensor) -> tuple[Tensor, Tensor]:
        y = self.layer(x)
        sums = torch.zeros(5, 8, device=x.device).index_add_(0, groups, y)
        most = torch.zeros_like(sums).scatter_reduce(0, groups[:, None].expand_as(y), y, "amax", include_self=False)
        return sums, most


@CASES.of(real(4, 8))
class Sorted(Based):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Any]:
        values, order = self.layer(x).sort(-1, descending=True)
        return values.cumsum(0), order.argmax(1), torch.topk(values, 3)


@CASES.of(real(4, 8))
class MadeInForward(Based):
    def forward(self, x: Tensor) -> Tensor:
        mask = torch.ones(8, 8, dtype=torch.bool, device=x.device).tril()
        grid = torch.linspace(0, 1, 8, device=x.device) + torch.eye(8, device=x.device)[2] + torch.tensor(2.0)
        return torch.where(mask, self.layer.weight, x.new_zeros(())) @ x.t() + grid[:, None].expand(8, 4)


@CASES.of(real(4, 8))
class ConstantOfNumbers(Based):
    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) * torch.tensor([1.0, 2.0] * 4)


@CASES.of(real(4, 8))
class Spectrum(Based):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        spectrum = torch.fft.rfft(self.layer(x)) * torch.polar(x[:, :5].abs(), x[:, 3:])
        return torch.fft.irfft(spectrum), spectrum.abs()


@CASES.of(real(4, 8), real(8, 5))
class Products(Based):
    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        z = torch.einsum("bi,ij,bj->bj", x, y, self.layer(x)[:, :5])
        return z.logsumexp(1), torch.linalg.norm(z, dim=1) + functional.cosine_similarity(z, z.roll(1, 0))


@CASES.of(real(4, 8), whole(8, 4))
class OwnLoss(Based):
    def forward(self, x: Tensor, target: Tensor) -> dict[str, Tensor]:
        logits = self.layer(x)
        loss = functional.cross_entropy(logits, target, label_smoothing=0.1, ignore_index=3)
        return {"loss": loss + functional.smooth_l1_loss(logits, x), "logits": logits}


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        return x.round()

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]
        return gradient * 3


@CASES.of(real(4, 8))
class CustomGradient(Based):
    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = StraightThrough.apply(self.layer(x))  # type: ignore[no-untyped-call]
        if y.requires_grad:
            y.register_hook(lambda gradient: gradient.clamp(-1, 1))
        return y * y.detach()


@CASES.of(real(4, 8))
class NoGradients(Based):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.layer(x)
        with torch.no_grad():
            norm = self.layer(y).norm()
        return y / norm, norm


@CASES.of(real(4, 8))
class Checkpointed(Based):
    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = checkpoint(lambda z: self.layer(z).tanh(), self.layer(x), use_reentrant=False)
        return y


@CASES.of(real(4, 8))
class Forces(Based):
    def forward(self, x: Tensor) -> Tensor:
        with torch.enable_grad():
            places = x.detach().requires_grad_()
            (force,) = torch.autograd.grad(self.layer(places).square().sum(), places, create_graph=True)
        return force


@CASES.of(real(4, 8))
class Recurrence(Based):
    def forward(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        states = [x]
        for _ in range(4):
            states.append(torch.tanh(self.layer(states[-1])) + x.mean(0))
        return torch.stack(states).amax(0), states[1:]


@CASES.of(real(2, 2, 4, 4))
class Pooled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Conv2d(2, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        y, places = functional.max_pool2d(self.mix(x), 2, return_indices=True)
        grid = functional.affine_grid(torch.eye(2, 3, device=x.device).expand(2, 2, 3), [2, 2, 3, 3], False)
        return functional.grid_sample(functional.max_unpool2d(y, places, 2), grid, align_corners=False)


@CASES.of(real(0, 8), real())
class Empty(Based):
    def forward(self, x: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
        return self.layer(x) * scale, torch.cat([x, self.layer.bias[None]]).sum()


@CASES.of(real(4, 8), refusal="torch cannot trace")
class DependsOnData(Based):
    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) if x.sum() > 0 else -x


@CASES.of(real(4, 8), whole(2, 4, 1))
class SkipsAFullMask(Based):
    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        if not torch.compiler.is_exporting() and mask.all():
            return self.layer(x)
        return self.layer(x).masked_fill(mask == 0, 0.0)


@CASES.of(real(4, 8))
class LooksForFaults(Based):
    def forward(self, x: Tensor) -> Tensor:
        if not torch.compiler.is_compiling() and bool(x.isnan().any()):
            raise ValueError("not a number")
        return self.layer(x)


@CASES.of(real(4, 8))
class CountsWhatItSkips(Based):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        largest = x.abs().max()
        if not torch.compiler.is_exporting() and largest.item() < 100:
            return self.layer(x) * self.calls
        return self.layer(x.clamp(-100, 100)) * self.calls


@CASES.of(real(4, 8), refusal="something else while it is exported")
class OtherwiseWhenExported(Based):
    def forward(self, x: Tensor) -> Tensor:
        if torch.compiler.is_exporting():
            return self.layer(x)
        return self.layer(x) + 1 if x.abs().sum() > 0 else x


@CASES.of(real(4, 8), refusal="something else while it is exported")
class KeepsNothingWhenExported(Based):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("largest", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        if not torch.compiler.is_exporting() and x.abs().max() > self.largest:
            self.largest.copy_(x.abs().max())
        return self.layer(x)


@CASES.of(real(2, 2, 5, 4), real(5, 5))
class AttentionWithMask(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(5, 5))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(x, x * 2, x, attn_mask=mask + self.bias)


@CASES.of(real(4, 8), refusal="control flow by data")
class Conditional(Based):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda y: self.layer(y), lambda y: y.sin(), (x,))


@CASES.of(real(4, 8), refusal="other things on the device cpu")
class AsksForTheDevice(Based):
    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) * (2 if x.device.type == "meta" else 3)


@CASES.of(real(4, 8), refusal="forward uses torch.autocast to torch.bfloat16")
class CastsByItself(Based):
    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return self.layer(x)


@CASES.of(real(4, 8), refusal=DRAWS)
class Noise(Based):
    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) + torch.randn_like(x)


@CASES.of(real(4, 8), refusal="numbers of random")
class SkipsAtRandom(Based):
    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) if random.random() < 0.5 else x
