"""Attention, recurrent layers and interpolation stay whole, compute what torch computes, and are priced by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils._pytree import tree_leaves

from learned_schedulers.graphs.devices.settings import DEVICES
from learned_schedulers.graphs.devices.simulator import peaks
from learned_schedulers.graphs.read.export import Way, graph_of_fx, graph_of_module, traced
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.graphs.read.whole_operators import WholeOperators


class Attention(nn.Module):
    """Attention of 4 heads of width 8."""

    def __init__(self, masked: bool = False) -> None:
        super().__init__()
        self.project = nn.Linear(32, 96)
        self.mask = nn.Parameter(torch.zeros(1, 4, 1, 1)) if masked else None

    def forward(self, x: Tensor) -> Tensor:
        parts = self.project(x).view(*x.shape[:2], 3, 4, 8).permute(2, 0, 3, 1, 4)
        mask = None if self.mask is None else self.mask.expand(1, 4, x.shape[1], x.shape[1])
        result = functional.scaled_dot_product_attention(*parts, attn_mask=mask, is_causal=mask is None)
        return result.transpose(1, 2).reshape(x.shape)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(32, 4, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.RNNBase], **options: object) -> None:
        super().__init__()
        self.layers = kind(8, 6, 2, **options)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return tuple(tree_leaves(self.layers(x)))


class Resized(nn.Module):
    def __init__(self, mode: str, **options: object) -> None:
        super().__init__()
        self.mode, self.options = mode, options

    def forward(self, x: Tensor) -> Tensor:
        return functional.interpolate(x, mode=self.mode, **self.options)


CASES = {
    "attention": (lambda: Attention(), (2, 5, 32), ["scaled_dot_product_attention"]),
    "mask": (lambda: Attention(True), (2, 5, 32), ["scaled_dot_product_attention"]),
    "encoder": (lambda: Encoder(), (2, 5, 32), ["scaled_dot_product_attention"]),
    "lstm": (lambda: Recurrent(nn.LSTM, batch_first=True, bidirectional=True), (3, 4, 8), ["lstm"] * 2),
    "projected": (lambda: Recurrent(nn.LSTM, proj_size=3), (4, 3, 8), ["lstm"] * 2),
    "gru": (lambda: Recurrent(nn.GRU, bias=False), (4, 3, 8), ["gru"] * 2),
    "rnn": (lambda: Recurrent(nn.RNN, nonlinearity="relu"), (4, 3, 8), ["rnn_relu"] * 2),
    "bilinear": (lambda: Resized("bilinear", size=(7, 9), align_corners=True), (1, 2, 4, 4), ["interpolate"]),
    "nearest": (lambda: Resized("nearest", scale_factor=2), (1, 2, 4), ["interpolate"]),
    "smaller": (lambda: Resized("bicubic", scale_factor=0.5, antialias=True), (1, 2, 8, 8), ["interpolate"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_they_stay_whole_and_compute_what_torch_does(name: str) -> None:
    make, shape, kinds = CASES[name]
    torch.manual_seed(0)
    module, x = make().eval(), torch.randn(shape, requires_grad=True)
    with torch.no_grad():
        for first, second in zip(tree_leaves(module(x)), under(module, x), strict=True):
            assert torch.allclose(first, second, atol=1e-6) and first.shape == second.shape
    operands = [x, *module.parameters()]
    expected = torch.autograd.grad(sum(part.square().sum() for part in tree_leaves(module(x))), operands)
    gradients = torch.autograd.grad(sum(part.square().sum() for part in under(module, x)), operands, allow_unused=True)
    for first, second in zip(expected, gradients, strict=True):
        assert torch.allclose(first, second, atol=1e-4)
    forward = graph_of(make(), shape, "forward")
    assert [kind for kind in forward.kinds if kind in kinds] == kinds


def under(module: nn.Module, x: Tensor) -> list[Tensor]:
    with WholeOperators():
        return tree_leaves(module(x))


def graph_of(module: nn.Module, shape: tuple[int, ...], variant: str, way: Way | None = None) -> Graph:
    nodes = traced(module.to("meta"), (torch.empty(shape, device="meta"),), variant, way).nodes
    return graph_of_fx(nodes, "net", "nets", variant)


def test_attention_has_no_matrix_of_tokens_by_tokens() -> None:
    tokens = 2048
    fused = graph_of(Attention(), (1, tokens, 32), "forward")
    parts = graph_of(Attention(), (1, tokens, 32), "forward", Way(attention=False))
    matrix = 4 * 4 * tokens**2
    assert fused.kinds == ("addmm", "scaled_dot_product_attention") and "_safe_softmax" in parts.kinds
    assert fused.flops[1] == 2 * 4 * tokens**2 * (8 + 8)
    assert fused.flops[1] == sum(parts.flops[np.array(parts.kinds) == "bmm"])
    assert peak(fused) < matrix / 8 < 2 * matrix < peak(parts)


def peak(graph: Graph) -> float:
    problem = problem_of(graph, 1, DEVICES["v100"])
    order, placement = np.arange(len(graph), dtype=np.int32), np.zeros(len(graph), np.int32)
    return float(peaks(problem, order, placement)[0])


def test_gradients_of_attention_by_hand() -> None:
    """Scores anew, and four further products, without the matrix."""
    graph = graph_of(Attention(), (2, 64, 32), "training")
    backward = graph.kinds.index("scaled_dot_product_attention_backward")
    assert graph.flops[backward] == 2.5 * graph.flops[graph.kinds.index("scaled_dot_product_attention")]
    assert graph.bytes_written[backward] == 3 * 4 * 2 * 64 * 32
    assert graph.layers[graph.kinds.index("addmm")] == "project"


def test_a_mask_that_learns_stays_in_parts_in_training() -> None:
    assert "scaled_dot_product_attention" not in graph_of(Attention(True), (2, 5, 32), "training").kinds


def test_recurrent_layers_by_hand() -> None:
    """3 steps of 4 samples meet all weights of both directions, twice in gradients, which read what was saved."""
    options = {"batch_first": True, "bidirectional": True}
    first = 2 * (24 * 8 + 24 * 6)  # weights of a layer
    second = 2 * (24 * 12 + 24 * 6)
    biases = 2 * 2 * 24
    forward = graph_of(Recurrent(nn.LSTM, **options), (4, 3, 8), "forward")
    flops = forward.flops[np.array(forward.kinds) == "lstm"].tolist()
    assert flops == [12 * (2 * first + biases), 12 * (2 * second + biases)]
    assert forward.bytes_kept.sum() == 4 * (first + second + 2 * biases)
    training = graph_of(Recurrent(nn.LSTM, **options), (4, 3, 8), "training")
    places = np.flatnonzero(np.array(training.kinds) == "lstm_backward")
    assert training.flops[places].tolist() == [2 * flops[1], 2 * flops[0]]
    saved = 4 * 12 * 2 * 24
    assert training.bytes_written[training.kinds.index("lstm")] >= saved + 4 * 12 * 12


def test_packed_sequences_and_three_dimensions_are_left_to_torch() -> None:
    with WholeOperators():
        packed = nn.utils.rnn.pack_padded_sequence(torch.randn(4, 2, 8), [4, 2])
        result = nn.LSTM(8, 6)(packed)[0]
        assert result.data.shape == (6, 6)
        x = torch.randn(2, 5, 8)
        assert functional.scaled_dot_product_attention(x, x, x).shape == (2, 5, 8)


def test_the_cached_graphs_have_them_in_parts() -> None:
    """`python -m pipeline.graph_sets` gives the published graphs again."""
    with torch.device("meta"):
        x = torch.empty(2, 5, 32)
        graph = graph_of_module(Attention(), (x,), "net", "nets", "forward", in_parts=True)
    assert "bmm" in graph.kinds and "_safe_softmax" in graph.kinds
