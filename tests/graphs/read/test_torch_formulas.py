"""FLOPs and bytes of torch operators against calculations by hand."""

from __future__ import annotations

from collections.abc import Callable
from math import log2

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from learned_schedulers.graphs.read.export import graph_of_fx, traced
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.node_costs import Prices


class Function(nn.Module):
    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> object:
        return self.function(*inputs)


def graph_of(function: Callable[..., object], *inputs: Tensor) -> Graph:
    nodes = traced(Function(function), tuple(tensor.to("meta") for tensor in inputs), "forward").nodes
    assert not Prices().unpriced(nodes)
    return graph_of_fx(nodes, "net", "nets", "forward")


def cost(graph: Graph, kind: str) -> tuple[float, int, int]:
    place = graph.kinds.index(kind)
    return float(graph.flops[place]), int(graph.bytes_read[place]), int(graph.bytes_written[place])


@pytest.mark.parametrize(
    ("kind", "function", "shape", "flops"),
    [
        ("max_pool2d_with_indices", lambda x: functional.max_pool2d(x, 3, 2), (2, 4, 9, 9), 2 * 4 * 16 * 9),
        ("avg_pool2d", lambda x: functional.avg_pool2d(x, (2, 3)), (2, 4, 8, 9), 2 * 4 * 12 * 6),
        ("max_pool3d_with_indices", lambda x: functional.max_pool3d(x, 2), (2, 4, 4, 4, 4), 2 * 4 * 8 * 8),
        ("_adaptive_avg_pool2d", lambda x: functional.adaptive_avg_pool2d(x, 2), (2, 4, 9, 9), 2 * 4 * 81),
        ("sort", lambda x: x.sort().values, (16, 1024), 16 * 1024 * 10),
        ("topk", lambda x: x.topk(8).values, (16, 1024), 16 * 1024 * 3),
        ("_fft_c2c", lambda x: torch.fft.fft(x.to(torch.complex64)).abs(), (4, 256), 5 * 4 * 256 * 8),
        ("_fft_r2c", lambda x: torch.fft.rfft(x).abs(), (4, 256), 2.5 * 4 * 256 * 8),
        ("linalg_cholesky_ex", torch.linalg.cholesky, (2, 30, 30), 2 * 30**3 / 3),
        ("linalg_lu_factor_ex", lambda x: torch.linalg.lu_factor(x)[0], (2, 30, 30), 2 * 30**3 * 2 / 3),
        ("linalg_qr", lambda x: torch.linalg.qr(x)[1], (40, 30), 4 * 40 * 900 - 4 / 3 * 30**3),
        ("_cdist_forward", lambda x: torch.cdist(x, x, p=1.0), (2, 50, 3), 3 * 2 * 50 * 50 * 3),
        ("_euclidean_dist", lambda x: torch.cdist(x, x), (2, 50, 3), 2 * 2 * 50 * 50 * 5),
        ("im2col", lambda x: functional.unfold(x, 3), (2, 4, 9, 9), 0),
        ("interpolate", lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear"), (1, 2, 4, 4), 7 * 2 * 64),
        ("interpolate", lambda x: functional.interpolate(x, scale_factor=2), (1, 2, 4, 4), 0),
        ("bmm", lambda x: torch.einsum("bik,bjk->bij", x, x), (2, 30, 40), 2 * 2 * 30 * 30 * 40),
    ],
)
def test_flops(kind: str, function: Callable[..., object], shape: tuple[int, ...], flops: float) -> None:
    assert cost(graph_of(function, torch.empty(shape)), kind)[0] == pytest.approx(flops)


def test_searches_and_products_of_integers() -> None:
    sorted_rows = graph_of(torch.searchsorted, torch.empty(1024), torch.empty(50))
    assert cost(sorted_rows, "searchsorted")[0] == 50 * log2(1024)
    first, second = torch.empty(32, 64, dtype=torch.int8), torch.empty(64, 48, dtype=torch.int8)
    assert cost(graph_of(torch._int_mm, first, second), "_int_mm")[0] == 2 * 32 * 64 * 48
    forms = torch.empty(2, 5), torch.empty(2, 6), torch.empty(7, 5, 6)
    assert cost(graph_of(functional.bilinear, *forms), "_trilinear")[0] == 2 * 2 * 5 * 6 * 7


TABLE = torch.empty(50_257, 64)
WORDS = torch.empty(2, 8, dtype=torch.long)


@pytest.mark.parametrize(
    ("kind", "function", "inputs", "read"),
    [
        ("embedding", lambda table, words: functional.embedding(words, table), (TABLE, WORDS), 4 * 16 * 64 + 8 * 16),
        ("index", lambda table, words: table[words], (TABLE, WORDS), 4 * 16 * 64 + 8 * 16),
        ("index_select", lambda t, w: t.index_select(0, w.flatten()), (TABLE, WORDS), 4 * 16 * 64 + 8 * 16),
        ("gather", lambda table, words: table.gather(1, words), (TABLE, WORDS), 4 * 16 + 8 * 16),
        ("relu", lambda table, words: table[3:5].relu(), (TABLE, WORDS), 4 * 2 * 64),
        ("zeros_like", lambda table, words: torch.zeros_like(table), (TABLE, WORDS), 0),
        ("relu", lambda table, words: table[:1].expand(900, 64).relu(), (TABLE, WORDS), 4 * 64),
        ("relu", lambda table, words: table.flatten().unfold(0, 3, 1)[:62].relu(), (TABLE, WORDS), 4 * 64),
    ],
)
def test_bytes_that_are_touched(kind: str, function: Callable[..., object], inputs: tuple, read: int) -> None:
    graph = graph_of(function, *inputs)
    assert cost(graph, kind)[1] == read


def test_a_table_counts_as_a_weight_as_a_whole() -> None:
    with torch.device("meta"):
        nodes = traced(nn.Embedding(1000, 8), (torch.empty(2, 3, dtype=torch.long),), "forward").nodes
    graph = graph_of_fx(nodes, "net", "nets", "forward")
    assert graph.bytes_kept.tolist() == [4 * 8000] and graph.bytes_read.tolist() == [4 * 48 + 8 * 6]


@pytest.mark.slow
def test_control_flow_is_one_operation() -> None:
    """The more expensive branch; one step of a loop; all steps of a scan. What is within is looked at, too."""
    square = torch.empty(64, 64)

    def branches(x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda z: z @ z @ z, lambda z: z.sin(), (x,))

    assert cost(graph_of(branches, square), "cond")[0] == 2 * 2 * 64**3

    def unknown(x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda z: torch.linalg.matrix_exp(z), lambda z: z.sin(), (x,))

    nodes = traced(Function(unknown), (square.to("meta"),), "forward").nodes
    assert Prices().unpriced(nodes) == ("linalg_matrix_exp",)

    def scanned(x: Tensor) -> Tensor:
        from torch._higher_order_ops.scan import scan

        def step(carry: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
            after = carry @ row
            return after, after.clone()

        return scan(step, x[0], x)[1]

    assert cost(graph_of(scanned, torch.empty(10, 8, 8)), "scan")[0] == 10 * 2 * 8**3
