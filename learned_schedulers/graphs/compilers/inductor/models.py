"""Small networks that are compiled and timed: families for learning, and unseen families for tests.

Weights and inputs are drawn from a seed. Each network has up to 40 kernels under TorchInductor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

WIDTH = 96


class Recurrent(nn.Module):
    """Three steps of an LSTM or a GRU, written in basic operations."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(WIDTH, WIDTH) if kind == "lstm" else nn.GRUCell(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        state: Tensor = x.new_zeros(x.shape[1], WIDTH)
        memory = state
        for step in x[:3]:
            if isinstance(self.cell, nn.LSTMCell):
                gates = F.linear(step, self.cell.weight_ih, self.cell.bias_ih)
                gates = gates + F.linear(state, self.cell.weight_hh, self.cell.bias_hh)
                i, f, g, o = gates.chunk(4, 1)
                memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
                state = torch.sigmoid(o) * torch.tanh(memory)
            else:
                from_input = F.linear(step, self.cell.weight_ih, self.cell.bias_ih).chunk(3, 1)
                from_state = F.linear(state, self.cell.weight_hh, self.cell.bias_hh).chunk(3, 1)
                reset = torch.sigmoid(from_input[0] + from_state[0])
                update = torch.sigmoid(from_input[1] + from_state[1])
                state = (1 - update) * torch.tanh(from_input[2] + reset * from_state[2]) + update * state
        return state


class Residual(nn.Module):
    """Two residual blocks of convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.ModuleList([nn.Conv2d(32, 32, 3, padding=1) for _ in range(2)])
        self.second = nn.ModuleList([nn.Conv2d(32, 32, 3, padding=1) for _ in range(2)])
        self.norms = nn.ModuleList([nn.BatchNorm2d(32) for _ in range(4)])

    def forward(self, x: Tensor) -> Tensor:
        for k in range(2):
            y = F.relu(self.norms[2 * k](self.first[k](x)))
            x = F.relu(x + self.norms[2 * k + 1](self.second[k](y)))
        return x.mean((2, 3))


class Transformer(nn.Module):
    """One block: attention, written in basic operations, and a feed-forward part."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.read, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.inner, self.outer = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.read(self.before(x)).chunk(3, -1)
        weights = torch.softmax(query @ key.transpose(1, 2) * WIDTH**-0.5, -1)
        x = x + self.out(weights @ value)
        return x + self.outer(F.gelu(self.inner(self.between(x))))


class Mixer(nn.Module):
    """Two blocks of an MLP mixer."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH) for _ in range(4)])
        self.tokens = nn.ModuleList([nn.Linear(64, 64) for _ in range(2)])
        self.channels = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(2)])

    def forward(self, x: Tensor) -> Tensor:
        for k in range(2):
            y = self.norms[2 * k](x).transpose(1, 2)
            x = x + F.gelu(self.tokens[k](y)).transpose(1, 2)
            x = x + F.gelu(self.channels[k](self.norms[2 * k + 1](x)))
        return x


class Messages(nn.Module):
    """Two rounds of messages on a ring of nodes, by gathers and additions."""

    def __init__(self) -> None:
        super().__init__()
        self.send, self.take = nn.Linear(WIDTH, WIDTH), nn.Linear(2 * WIDTH, WIDTH)
        self.left: Tensor
        self.right: Tensor
        self.register_buffer("left", (torch.arange(512) + 1) % 512)
        self.register_buffer("right", (torch.arange(512) - 1) % 512)

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(2):
            sent = F.relu(self.send(x))
            received = torch.maximum(sent[self.left], sent[self.right])
            x = torch.tanh(self.take(torch.cat([x, received], 1))) + x
        return x


class Norms(nn.Module):
    """Normalisations of one input along its rows, and computations with their results."""

    def forward(self, x: Tensor) -> Tensor:
        rows = (x - x.mean(-1, keepdim=True)) * torch.rsqrt(x.var(-1, keepdim=True) + 1e-5)
        soft, sharp = torch.softmax(x, -1), torch.log_softmax(2 * x, -1)
        scaled = x / x.abs().amax(-1, keepdim=True).clamp(min=1e-3)
        columns = (rows + soft).mean(0, keepdim=True)
        return (rows * soft + sharp.exp() * scaled - columns).sum(-1) + (scaled * rows).amax(-1)


class Shared(nn.Module):
    """Results, some of them expensive, that several chains read: to be recomputed or stored."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        expensive = torch.tanh(torch.exp(-x * x) + torch.sin(y))
        cheap = x * 0.5 + y
        by_rows, by_columns = (expensive * cheap).sum(1), (expensive + cheap).sum(0)
        transposed = (cheap.t().contiguous() * expensive.t()).relu()
        return expensive * by_rows[:, None], cheap - by_columns, transposed.sum(0), torch.sigmoid(cheap) * expensive


class CartPole(nn.Module):
    """Four steps of many CartPoles, which are pushed to the side to which the pole leans."""

    def forward(self, x: Tensor, v: Tensor, angle: Tensor, turn: Tensor) -> tuple[Tensor, ...]:
        for _ in range(4):
            force = torch.where(angle > 0, 10.0, -10.0)
            cos, sin = torch.cos(angle), torch.sin(angle)
            inner = (force + 0.05 * turn * turn * sin) / 1.1
            turn_acceleration = (9.8 * sin - cos * inner) / (0.5 * (4.0 / 3.0 - 0.1 * cos * cos / 1.1))
            acceleration = inner - 0.05 * turn_acceleration * cos / 1.1
            x, v = x + 0.02 * v, v + 0.02 * acceleration
            angle, turn = angle + 0.02 * turn, turn + 0.02 * turn_acceleration
        return x, v, angle, turn, (x.abs() > 2.4) | (angle.abs() > 0.2095)


class Optimiser(nn.Module):
    """A step of Adam with clipping of the gradients' norm, for four tensors."""

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        weights, gradients, first, second = (tensors[k::4] for k in range(4))
        norm = torch.stack([gradient.square().sum() for gradient in gradients]).sum().sqrt()
        clipped = [gradient * (1.0 / norm.clamp(min=1.0)) for gradient in gradients]
        first = tuple(0.9 * m + 0.1 * g for m, g in zip(first, clipped, strict=True))
        second = tuple(0.99 * v + 0.01 * g * g for v, g in zip(second, clipped, strict=True))
        updated = [w - 1e-3 * m / (v.sqrt() + 1e-8) for w, m, v in zip(weights, first, second, strict=True)]
        return *updated, *first, *second


class GatedLinear(nn.Module):
    """Two blocks of gated linear units, each after a normalisation by the root of the mean square."""

    def __init__(self) -> None:
        super().__init__()
        self.scales = nn.ParameterList([nn.Parameter(torch.ones(WIDTH)) for _ in range(2)])
        self.gates = nn.ModuleList([nn.Linear(WIDTH, 4 * WIDTH) for _ in range(2)])
        self.out = nn.ModuleList([nn.Linear(2 * WIDTH, WIDTH) for _ in range(2)])

    def forward(self, x: Tensor) -> Tensor:
        for k in range(2):
            y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.scales[k]
            gate, value = self.gates[k](y).chunk(2, -1)
            x = x + self.out[k](F.silu(gate) * value)
        return x


class GroupNorms(nn.Module):
    """Two residual convolutions, each after a normalisation by groups of channels."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.GroupNorm(4, 32) for _ in range(2)])
        self.convolutions = nn.ModuleList([nn.Conv2d(32, 32, 3, padding=1) for _ in range(2)])

    def forward(self, x: Tensor) -> Tensor:
        for k in range(2):
            x = x + self.convolutions[k](F.silu(self.norms[k](x)))
        return x


class Losses(nn.Module):
    """Several losses and statistics of the same logits."""

    def forward(self, logits: Tensor, targets: Tensor) -> tuple[Tensor, ...]:
        logarithms = torch.log_softmax(logits, -1)
        probabilities, expected = logarithms.exp(), torch.softmax(targets, -1)
        entropy = -(probabilities * logarithms).sum(-1)
        divergence = (expected * (expected.clamp(min=1e-9).log() - logarithms)).sum(-1)
        focal = ((1 - probabilities).square() * expected * -logarithms).sum(-1)
        sharpest = torch.sigmoid(logits.amax(-1) - logits.mean(-1))
        return entropy, divergence, focal, sharpest, (probabilities - expected).mean(0)


class Statistics(nn.Module):
    """Columns and rows, each standardised by its own mean and standard deviation, and squashed."""

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        by_rows = (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-3)
        by_columns = (x - x.mean(0, keepdim=True)) / (x.std(0, keepdim=True) + 1e-3)
        squashed = torch.tanh(by_rows) * torch.sigmoid(by_columns)
        return squashed.sum(1), squashed.amax(0), (by_rows * by_columns).mean(1), by_columns.square().sum(0)


@dataclass(frozen=True)
class Model:
    """A module and its inputs, to be built."""

    make: Callable[[], nn.Module]
    shapes: tuple[tuple[int, ...], ...]
    training: bool = False  # compile a training step: the mean of the squared results, and all gradients
    unseen: bool = False  # no method learns from this model

    def build(self) -> tuple[nn.Module, tuple[Tensor, ...]]:
        """The module and its inputs; every call returns equal ones."""
        torch.manual_seed(0)
        module = self.make().train(self.training)
        module.requires_grad_(self.training)
        return module, tuple(torch.rand(shape) - 0.5 for shape in self.shapes)


MODELS = {
    "lstm": Model(partial(Recurrent, "lstm"), ((3, 64, WIDTH),)),
    "residual": Model(Residual, ((4, 32, 16, 16),)),
    "mixer": Model(Mixer, ((8, 64, WIDTH),)),
    "messages": Model(Messages, ((512, WIDTH),)),
    "mixer_training": Model(Mixer, ((8, 64, WIDTH),), training=True),
    "messages_training": Model(Messages, ((512, WIDTH),), training=True),
    "norms_small": Model(Norms, ((64, 64),)),
    "shared_small": Model(Shared, ((64, 64), (64, 64))),
    "gru": Model(partial(Recurrent, "gru"), ((3, 64, WIDTH),), unseen=True),
    "transformer": Model(Transformer, ((8, 64, WIDTH),), unseen=True),
    "norms": Model(Norms, ((512, 512),), unseen=True),
    "shared": Model(Shared, ((512, 512), (512, 512)), unseen=True),
    "cartpole": Model(CartPole, ((65536,),) * 4, unseen=True),
    "gated_linear": Model(GatedLinear, ((8, 64, WIDTH),), unseen=True),
    "group_norms": Model(GroupNorms, ((4, 32, 16, 16),), unseen=True),
    "losses": Model(Losses, ((512, 256), (512, 256)), unseen=True),
    "statistics": Model(Statistics, ((512, 512),), unseen=True),
    "optimiser": Model(Optimiser, ((256, 256),) * 16, unseen=True),
    "transformer_training": Model(Transformer, ((8, 64, WIDTH),), training=True, unseen=True),
    "gated_linear_training": Model(GatedLinear, ((8, 64, WIDTH),), training=True, unseen=True),
    "group_norms_training": Model(GroupNorms, ((4, 32, 16, 16),), training=True, unseen=True),
}
