"""The search for graphs that are worst for a method: its moves, its optimum, and the frozen set that came of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.saga_peers import frozen_set
from benchmarks.saga_peers.adversarial import DEVICES, LEAST, LINK, MOST, OPERATIONS, changed, start, worst
from benchmarks.saga_peers.optimum import optimum
from learned_schedulers.conformance.exhaustive import shortest
from learned_schedulers.graphs.devices.settings import LINKS
from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.devices.targets import Target, linked
from learned_schedulers.graphs.devices.worth import refusal_of
from learned_schedulers.graphs.methods.rules.listing import by_critical_path
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.graphs.read.workloads import read_workload
from tests.graphs.problems import drawn

pytestmark = pytest.mark.slow


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 3), st.floats(0, 1))
@settings(max_examples=25)
def test_the_optimum_is_that_of_all_schedules(seed: int, n: int, m: int, density: float) -> None:
    problem = drawn.problem(np.random.default_rng(seed), n, m, density)
    least = shortest(problem)
    assert optimum(problem) == pytest.approx(least, rel=1e-9)
    assert optimum(problem, least) == pytest.approx(least, rel=1e-9)  # a search that begins at the optimum stays there


def test_shared_weights_are_refused() -> None:
    problem = drawn.with_sharing(drawn.problem(np.random.default_rng(0), 6), np.random.default_rng(3))
    with pytest.raises(ValueError, match="share weights"):
        optimum(problem)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_moves_stay_within_their_ranges(seed: int) -> None:
    rng = np.random.default_rng(seed)
    instance = start(rng)
    for _ in range(30):
        instance = changed(instance, rng)
        assert not np.tril(instance.edges).any()
        for numbers in (instance.times, instance.transfers):
            assert len(numbers) == OPERATIONS and numbers.min() >= LEAST and numbers.max() <= MOST


def test_a_walk_raises_the_ratio_and_is_the_same_again() -> None:
    def listed(target: Target) -> float:
        order, placement = by_critical_path(target.mean)
        return float(makespans(target.mean, order[None], placement[None])[0])

    walks = [worst(listed, np.random.default_rng(1)) for _ in range(2)]
    assert walks[0][0] == walks[1][0] > 1.2 and not refusal_of(walks[0][1].problem)


def test_a_file_gives_the_searched_problem_back(tmp_path: Path) -> None:
    for seed in range(20):
        instance = start(np.random.default_rng(seed))
        path = tmp_path / "heft_0.json"
        path.write_text(instance.workload({"method": "heft"}))
        read = linked(problem_of(read_workload(path).graph, DEVICES), LINKS[LINK]).mean
        searched = instance.problem
        assert (read.seconds == searched.seconds).all() and (read.delays == searched.delays).all()
        assert (read.children.offsets == searched.children.offsets).all()
        assert (read.children.targets == searched.children.targets).all()


def test_the_frozen_graphs_are_those_of_the_files_and_count() -> None:
    members = pd.read_csv(frozen_set.MEMBERS)
    frozen = members.loc[members["set"] == frozen_set.SET, "graph_id"].tolist()
    graphs = frozen_set.graphs()
    assert frozen == [graph.graph_id for graph in graphs] and len(set(frozen)) == len(frozen)
    assert not any(refusal_of(problem_of(graph, DEVICES)) for graph in graphs)
    for path in frozen_set.FOLDER.glob("*.json"):
        searched = json.loads(path.read_text())["searched"]
        assert path.stem == f"{searched['method']}_{searched['seed'][2]}" and searched["ratio"] >= 1
