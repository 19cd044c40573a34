"""TorchInductor fuses what levels allow, and its results stay the same."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch._inductor.cpu_vec_isa import valid_vec_isa_list

from learned_schedulers.graphs.compilers.inductor.available import missing
from learned_schedulers.graphs.compilers.inductor.candidate import difference
from learned_schedulers.graphs.compilers.inductor.levelled_choices import Levels
from learned_schedulers.graphs.compilers.inductor.models import MODELS, Model, Optimiser
from learned_schedulers.graphs.compilers.inductor.nodes import Node, grouped
from learned_schedulers.graphs.compilers.inductor.nodes_problem import levels_of_plan
from learned_schedulers.graphs.compilers.inductor.processes import Candidate, over_default, timed_in_turns
from learned_schedulers.graphs.compilers.kinds import Loop
from learned_schedulers.graphs.compilers.plan import members
from learned_schedulers.graphs.models.fusing.fusing_network import Fusing
from learned_schedulers.graphs.models.fusing.inductor import Compiler, Proposal, learned
from learned_schedulers.graphs.models.whole_graph.settings import WholeGraph as Settings

pytestmark = [pytest.mark.skipif(bool(missing()), reason=missing()), pytest.mark.slow]


FOLDER = TemporaryDirectory()  # of what is compiled here; candidates have their own


class Scaled(nn.Module):
    """Forward and backward have few nodes that may be fused: the compiler takes a second for each kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(16))

    def forward(self, x: Tensor) -> Tensor:
        return (x * self.scale).softmax(-1)


SCALED = Model(Scaled, ((32, 16),), training=True)


def groups(model: str | Model, levels: Levels | None) -> tuple[list[Node], set[frozenset[str]]]:
    """Nodes, and the groups of nodes that became one kernel."""
    model = MODELS[model] if isinstance(model, str) else model
    module, inputs = model.build()
    valid_vec_isa_list()  # first: this probes the processor, which takes seconds in an empty folder
    with torch.set_grad_enabled(model.training), patch.dict(os.environ, TORCHINDUCTOR_CACHE_DIR=FOLDER.name):
        result = grouped(module, inputs, model.training, levels)
    return result.nodes, {frozenset(group) for group in result.groups}


@cache
def of_inductor(model: str | Model) -> tuple[list[Node], set[frozenset[str]]]:
    """Nodes and groups of Inductor's own choices. Not to be changed."""
    return groups(model, None)


def test_nodes_are_in_a_topological_order_and_say_what_they_cost() -> None:
    nodes, _ = of_inductor("transformer")
    earlier: set[str] = set()
    for node in nodes:
        assert set(node.parents) <= earlier and all(count > 0 for count in node.parents.values())
        assert node.written > 0 and node.elements > 0
        assert (node.flops > 0) == (node.loop == Loop.LIBRARY)
        assert set(node.fusable).isdisjoint(earlier | {node.name})
        earlier.add(node.name)
    assert {node.loop for node in nodes} >= {Loop.LIBRARY, Loop.REDUCTION, Loop.ELEMENTWISE}


@pytest.mark.parametrize("model", ["norms_small", "transformer", "optimiser"])
def test_levels_allow_and_forbid(model: str) -> None:
    """No levels: one kernel per node. Equal levels: Inductor's own kernels. Equal levels of a pair: only the pair."""
    nodes, default = of_inductor(model)
    assert groups(model, {})[1] == {frozenset({node.name}) for node in nodes}
    assert groups(model, {node.name: 1 for node in nodes})[1] == default
    pairs = [(node.name, name) for node in nodes for name in node.fusable]
    first = pairs[0]
    alone = groups(model, dict.fromkeys(first, 3))[1]
    assert {group for group in alone if len(group) > 1} == {frozenset(first)}
    assert groups(model, {first[0]: 3, first[1]: 4})[1] == groups(model, {})[1]


def test_levels_reach_both_graphs_of_a_training_step() -> None:
    """Forward and backward nodes have different names, so each graph can be fused without the other."""
    nodes, default = of_inductor(SCALED)
    names = [node.name for node in nodes]
    backward = [name for name in names if name.startswith("2:")]
    assert 0 < len(backward) < len(names) == len(set(names))
    assert groups(SCALED, dict.fromkeys(names, 1))[1] == default
    half = groups(SCALED, dict.fromkeys(backward, 1))[1]
    assert {group for group in half if len(group) > 1} == {
        group for group in default if len(group) > 1 and group <= set(backward)
    }


def test_a_difference_counts_on_the_scale_of_its_result() -> None:
    """Differences of 1e-6 in gradients that consist of rounding errors; NaN on one side; infinity on one side."""
    large, rounding = torch.full((3,), 10.0), torch.tensor([1e-7, -1e-7])
    assert difference([large, rounding], [large, -rounding]) < 1e-3
    assert difference([large * 1.1], [large]) == pytest.approx(0.1)
    assert np.isnan(difference(torch.tensor([np.nan]), torch.tensor([1.0])))
    assert difference(torch.tensor([np.nan, 1.0]), torch.tensor([np.nan, 1.0])) == 0
    assert difference(torch.tensor([np.inf]), torch.tensor([1.0])) > 1e300


def test_what_becomes_of_levels_is_foreseen() -> None:
    """The kernels that the cost is predicted for are Inductor's, even for random levels."""
    for model in ("gru", "transformer", "optimiser", "cartpole"):
        nodes, _ = of_inductor(model)
        compiler = Compiler([nodes])
        problem = compiler.problems[0]
        rng = np.random.default_rng(0)
        for draw in range(2):
            proposal = Proposal.of(compiler.judged(problem, rng.integers(0, 3, problem.n).astype(np.int8)))
            plan = compiler.judged(problem, proposal.levels).plan
            expected = {frozenset(nodes[i].name for i in group) for group in members(problem, plan).values()}
            assert expected == groups(model, proposal.by_name(nodes))[1]
            if not draw:
                by_kernel = levels_of_plan(problem, plan)
                assert expected == groups(model, {node.name: int(by_kernel[i]) for i, node in enumerate(nodes)})[1]


def test_proposals_differ_and_the_best_comes_first() -> None:
    nodes, _ = of_inductor("transformer")
    compiler = Compiler([nodes])
    network = Fusing(Settings(width=16, heads=2, graph_layers=1, attention_layers=1))
    proposals = learned(compiler, network, compiler.problems[0], 6, np.random.default_rng(0), fine_tuned=True)
    kernels = {compiler.judged(compiler.problems[0], proposal.levels).plan.kernel.tobytes() for proposal in proposals}
    seconds = [proposal.seconds for proposal in proposals]
    assert len(kernels) == len(proposals) == 6 and seconds == sorted(seconds)


def test_candidates_give_eager_results_and_other_numbers_of_kernels(tmp_path: Path) -> None:
    """In separate processes; a control pair is timed in turns."""
    with (
        Candidate(MODELS["shared_small"], None, tmp_path / "a") as default,
        Candidate(MODELS["shared_small"], {}, tmp_path / "b") as none,
    ):
        assert default.answer["status"] == none.answer["status"] == "ok"
        times = timed_in_turns([default, none], 3)
        assert times.shape == (2, 3) and (times > 0).all()
    ratios = over_default(dict(zip(("default", "none"), times, strict=True)), "default")
    assert ratios["default"] == 1.0 and ratios["none"] > 0
    assert len(of_inductor("shared_small")[1]) < len(groups("shared_small", {})[1])


def test_a_candidate_that_cannot_be_compiled_says_where_its_messages_are(tmp_path: Path) -> None:
    broken = Model(Optimiser, ((2, 2),))  # too few tensors
    with Candidate(broken, None, tmp_path) as candidate, pytest.raises(RuntimeError, match=r"log\.txt"):
        assert candidate.answer
    assert "Error" in (tmp_path / "log.txt").read_text()
