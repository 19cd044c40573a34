"""The network of slots: it is equivariant, its soft orders respect the precedence, and its file restores it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from safetensors.torch import save_file

from pipeline.config.slot_network import SlotNetwork as Settings
from pipeline.graphs.models.slot_network import SlotNetwork
from pipeline.graphs.models.views import batch, view
from pipeline.graphs.schedulers.rules.settling import by_tails, makespan
from pipeline.operators.decoding import expected_slots
from pipeline.operators.popocs import residual
from tests.graphs.models.small_jobs import SETTINGS, network, problem, renumbered
from tests.graphs.problems import drawn


@torch.inference_mode()
def test_another_numbering_permutes_scores_and_slots() -> None:
    untrained = network()
    for seed in range(5):
        rng = np.random.default_rng(seed)
        original = problem(rng, 12)
        order = drawn.schedules(original, rng, 1)[0][0]
        graph, renumbered_graph = batch([view(original)]), batch([view(renumbered(original, order))])
        scores = untrained.scores(graph), untrained.scores(renumbered_graph)
        torch.testing.assert_close(scores[1], scores[0][:, order], atol=1e-4, rtol=0)
        slots = untrained.constrain(scores[0], graph.orders), untrained.constrain(scores[1], renumbered_graph.orders)
        torch.testing.assert_close(slots[1], slots[0][:, order], atol=1e-3, rtol=0)


@torch.inference_mode()
def test_related_operations_are_told_apart() -> None:
    """Without the biases for relations, scores differ."""
    untrained, graph = network(), batch([view(problem(np.random.default_rng(0), 12))])
    scores = untrained.scores(graph)
    torch.nn.init.zeros_(untrained.relations.weight)
    assert (untrained.scores(graph) - scores).abs().max() > 1e-3


@torch.inference_mode()
@pytest.mark.parametrize("operator", ["popocs", "sinkhorn"])
def test_slots_are_soft_orders(operator: str) -> None:
    untrained = network(operator=operator)
    rng = np.random.default_rng(1)
    graphs = batch([view(problem(rng, 14)) for _ in range(4)])
    matrix = untrained.constrain(10 * untrained.scores(graphs), graphs.orders)
    torch.testing.assert_close(matrix.sum(1), torch.ones(4, 14), atol=1e-3, rtol=0)
    violated = residual(matrix, graphs.orders).max()
    assert violated < 1e-5 if operator == "popocs" else violated > 0.1


@torch.inference_mode()
def test_scores_can_start_from_the_ranking_of_list_scheduling() -> None:
    rng = np.random.default_rng(2)
    jobs = [problem(rng, 14) for _ in range(4)]
    graphs = batch([view(job) for job in jobs])
    untrained = network(start="ranking")
    orders = expected_slots(untrained.constrain(untrained.scores(graphs), graphs.orders).numpy(), graphs.orders)
    for job, order in zip(jobs, orders, strict=True):
        assert makespan(job, order) == pytest.approx(makespan(job, by_tails(job)))


def test_a_file_says_all_about_its_network(tmp_path: Path) -> None:
    saved, path = network(operator="sinkhorn"), tmp_path / "slots.safetensors"
    saved.save(path)
    read = SlotNetwork.load(path)
    assert read.settings == saved.settings and not read.training
    for name, weight in saved.state_dict().items():
        assert torch.equal(read.state_dict()[name], weight), name


def test_a_file_that_is_no_network_is_named(tmp_path: Path) -> None:
    path = tmp_path / "slots.safetensors"
    with pytest.raises(ValueError, match=re.escape(f"{path} is not a file of weights")):
        SlotNetwork.load(path)
    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match=re.escape(f"{path} is not a file of weights")):
        SlotNetwork.load(path)
    save_file({"weight": torch.zeros(1)}, path)
    with pytest.raises(ValueError, match="is not a network of slots"):
        SlotNetwork.load(path)


def test_heads_that_cannot_share_the_width_are_refused() -> None:
    with pytest.raises(ValidationError, match="width 16 cannot be shared by 3 heads"):
        Settings.model_validate({**SETTINGS.model_dump(), "heads": 3})
