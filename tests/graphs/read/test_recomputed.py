"""torch.utils.checkpoint: memory and arithmetic of a training step are those that torch's own account has."""

from __future__ import annotations

from functools import partial

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.distributed._tools.mem_tracker import MemTracker
from torch.nn import functional
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
from torch.utils.flop_counter import FlopCounterMode

from learned_schedulers.graphs.devices.simulator import peaks
from learned_schedulers.graphs.plans.best import chosen, trials
from learned_schedulers.graphs.plans.module_export import export_module
from learned_schedulers.graphs.plans.sources import Source, on_devices

ROWS, WIDTH = 1024, 64


class Net(nn.Module):
    """Blocks whose inner results are large, each a region or not."""

    def __init__(self, way: str = "plain") -> None:
        super().__init__()
        self.way, self.first, self.last = way, nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 10)
        blocks = (nn.Sequential(nn.Linear(WIDTH, 256), nn.Tanh(), nn.Linear(256, WIDTH)) for _ in range(4))
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for block in self.blocks:
            x = x + self.region(block, x)
        return self.last(x)

    def region(self, block: nn.Module, x: Tensor) -> Tensor:
        match self.way:
            case "plain":
                return block(x)
            case "reentrant":
                return checkpoint(block, x, use_reentrant=True)
            case "whole":
                return checkpoint(block, x, use_reentrant=False, early_stop=False)
            case "nested":
                inner = partial(checkpoint, block, use_reentrant=False)
                return checkpoint(inner, x, use_reentrant=False)
            case "selective":
                contexts = partial(create_selective_checkpoint_contexts, [torch.ops.aten.addmm.default])
                return checkpoint(block, x, use_reentrant=False, context_fn=contexts)
        return checkpoint(block, x, use_reentrant=False)


class NoGradientArrives(Net):
    """Regions with reentry whose input needs no gradient: torch gives their weights none."""

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.region(self.blocks[0], x))


def read(way: str, named: str = "Net", training: bool = True) -> Source:
    return export_module(f"{__name__}:{named}('{way}')", [f"{ROWS},{WIDTH}"], training=training)


def peak(source: Source) -> float:
    problem, n = on_devices(source, 1), len(source.graph)
    return float(peaks(problem, np.arange(n, dtype=np.int32), np.zeros(n, np.int32))[0])


def step(module: nn.Module, x: Tensor) -> None:
    functional.cross_entropy(module(x), torch.zeros(ROWS, dtype=torch.int64)).backward()


def by_torch(module: nn.Module) -> tuple[float, int]:
    """Most bytes at a time, the input among them, and FLOPs of products."""
    x, tracker = torch.randn(ROWS, WIDTH), MemTracker()
    tracker.track_external(module, x)
    with tracker:
        step(module, x)
    with FlopCounterMode(display=False) as counter:
        step(module, x)
    return float(tracker.get_tracker_snapshot("peak")[torch.device("cpu")]["Total"]), counter.get_total_flops()


def products(source: Source) -> float:
    return float(sum(flops for kind, flops in zip(source.graph.kinds, source.graph.flops, strict=True) if "mm" in kind))


@pytest.mark.parametrize("way", ["plain", "region", "whole", "nested", "reentrant"])
def test_memory_and_flops_are_those_of_torch(way: str) -> None:
    """With reentry torch also keeps the gradient of a region's input: a matrix of ROWS x WIDTH."""
    source, (most, flops) = read(way), by_torch(Net(way))
    assert peak(source) == pytest.approx(most, abs=4 * ROWS * WIDTH * (way == "reentrant") + 0.01 * most)
    assert products(source) == flops
    assert any("computed anew" in note for note in source.notes) == (way != "plain")
    assert (peak(source) < 0.7 * peak(read("plain"))) == (way != "plain")


def test_without_a_gradient_that_arrives_a_region_with_reentry_has_none() -> None:
    assert products(read("reentrant", "NoGradientArrives")) == by_torch(NoGradientArrives("reentrant"))[1]


def test_forward_computes_nothing_anew() -> None:
    assert read("region", training=False).graph.kinds == read("plain", training=False).graph.kinds


def test_regions_that_keep_a_selection_are_refused() -> None:
    with pytest.raises(ValueError, match="leave out context_fn, or this checkpoint"):
        read("selective")


def test_a_region_is_computed_anew_when_its_gradient_is_there() -> None:
    """Its first operation waits for the gradient, so no schedule on more devices computes it in advance."""
    graph = read("region").graph
    kinds, edges = graph.kinds, zip(graph.children.sources.tolist(), graph.children.targets.tolist(), strict=True)
    whole, loss = nx.DiGraph(edges), kinds.index("_log_softmax")
    waiting = [loss in nx.ancestors(whole, number) for number, kind in enumerate(kinds) if kind == "tanh"]
    assert waiting == [False] * 4 + [True] * 4


def test_one_device_runs_the_order_of_the_program() -> None:
    problem = on_devices(read("plain"), 1)
    best = chosen(trials(problem, 0, moves=100))
    assert best.order is not None and best.order.tolist() == list(range(len(problem)))
