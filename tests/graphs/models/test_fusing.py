"""GO's head for fusion: its inputs, rounds, training, and the three tasks together."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from learned_schedulers.conformance.failures import failures_of
from learned_schedulers.graphs.compilers.cost import seconds
from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem, MachineCosts
from learned_schedulers.graphs.compilers.kernel_graph import kernel_graph
from learned_schedulers.graphs.compilers.levels import LEVELS, plan_of
from learned_schedulers.graphs.compilers.plan import NOT_WRITTEN, Plan, members
from learned_schedulers.graphs.compilers.producers import savings
from learned_schedulers.graphs.devices.evaluation import evaluated
from learned_schedulers.graphs.methods.fusing import fusion_of, make
from learned_schedulers.graphs.models.fusing.fusing_search import best_default
from learned_schedulers.graphs.models.fusing.fusing_training import train
from learned_schedulers.graphs.models.fusing.numbers import GRAPH_NUMBERS, PLAN_NUMBERS, Fusible, plan_numbers
from learned_schedulers.graphs.models.fusing.settings import Annealing, FusionNetwork, GoFusion, GoJoint, Rule
from learned_schedulers.graphs.models.whole_graph.settings import WholeGraph as Settings
from learned_schedulers.graphs.problems.problem import Transfers
from learned_schedulers.method_settings import MethodSettings
from learned_schedulers.methods import Unsupported, names
from tests.graphs.compilers.fusion_checks import CHECKS, Candidate
from tests.graphs.compilers.made import BALANCED as RATES
from tests.graphs.compilers.made import SEVERAL as MACHINE
from tests.graphs.compilers.made import drawn

pytestmark = pytest.mark.slow

SMALL = Settings(width=16, heads=2, segment=16, graph_layers=1, attention_layers=1, samples=5)
METHODS: dict[str, MethodSettings] = {
    "separate": Rule(method="separate"),
    "loop_fusion": Rule(method="loop_fusion"),
    "xla_2023": Rule(method="xla_2023"),
    "priority_fusion": Rule(method="priority_fusion"),
    "optimum": Rule(method="optimum"),
    "climbing": Annealing(method="annealing", hot=0, cold=0, evaluations=60),
    "annealing": Annealing(method="annealing", evaluations=60),
    "go": GoFusion(method="go", evaluations=60, settings=SMALL),
    "go_untaught": GoFusion(method="go", evaluations=60, learns=False, settings=SMALL),
    "go_joint": GoJoint(method="go_joint", evaluations=60, settings=SMALL),
    "go_joint_separate": GoJoint(method="go_joint", evaluations=60, tasks="separate", settings=SMALL),
    "go_joint_placement": GoJoint(method="go_joint", evaluations=60, tasks="placement", settings=SMALL),
    "go_joint_untaught": GoJoint(method="go_joint", evaluations=60, learns=False, settings=SMALL),
}


def problems(count: int, n: int, seed: int = 3) -> list[FusionProblem]:
    rng = np.random.default_rng(seed)
    return [drawn(n, rng, RATES) for _ in range(count)]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("name", METHODS)
def test_every_method_passes_every_check(name: str, check: str) -> None:
    assert not list(failures_of(CHECKS[check], Candidate(lambda: make(METHODS[name]))))


@pytest.mark.parametrize("name", METHODS)
def test_every_evaluation_is_recorded(name: str) -> None:
    problem, machine = problems(1, 8)[0], MACHINE if name.startswith("go_joint") else None
    costs = make(METHODS[name]).fuse(problem, np.random.default_rng(1), machine).costs
    assert len(costs) == getattr(METHODS[name], "evaluations", 1)


def test_searches_are_no_worse_than_what_they_start_from() -> None:
    better = 0
    for problem in problems(6, 30):
        start = best_default(problem).seconds
        for name in ("climbing", "go", "go_untaught"):
            plan = make(METHODS[name]).fuse(problem, np.random.default_rng(0)).plan
            assert seconds(problem, plan) <= start
            better += seconds(problem, plan) < start * (1 - 1e-9)
    assert better > 0


def test_what_the_network_reads_has_no_units() -> None:
    """Another unit of time and of bytes: the same numbers."""
    problem = problems(1, 20)[0]
    rescaled = problem._replace(
        computing=problem.computing * 1e-6,
        written=problem.written * 8,
        own_read=problem.own_read * 8,
        parent_bytes=problem.parent_bytes * 8,
        machine=MachineCosts(*np.multiply(problem.machine, [1e-6, 8, 1e-6 / 8, 1e-6 / 8]).tolist()),
    )
    levels = np.random.default_rng(0).integers(0, LEVELS, problem.n).astype(np.int8)
    numbers = [plan_numbers(Fusible.of(unit_of), levels, plan_of(unit_of, levels)) for unit_of in (problem, rescaled)]
    assert Fusible.of(problem).operations.shape == (20, GRAPH_NUMBERS) and numbers[0].shape == (20, PLAN_NUMBERS)
    torch.testing.assert_close(Fusible.of(problem).operations, Fusible.of(rescaled).operations)
    torch.testing.assert_close(numbers[0], numbers[1])


def test_savings_are_those_of_turning_one_decision() -> None:
    rng = np.random.default_rng(4)
    for problem in problems(20, 12):
        levels = np.where(rng.random(problem.n) < 0.5, LEVELS - 1, 0).astype(np.int8)
        plan = plan_of(problem, levels)
        saved = savings(problem, plan.kernel, Fusible.of(problem).may)
        for i in np.flatnonzero(Fusible.of(problem).may):
            kernel = plan.kernel.copy()
            kernel[i] = i if kernel[i] == NOT_WRITTEN else NOT_WRITTEN
            assert saved[i] == pytest.approx(seconds(problem, plan) - seconds(problem, Plan(kernel)))


def test_kernels_are_a_graph_that_takes_as_long_on_one_device() -> None:
    rng = np.random.default_rng(5)
    for problem in problems(20, 25):
        plan = plan_of(problem, rng.integers(0, LEVELS, problem.n).astype(np.int8))
        kernels = kernel_graph(problem, plan, 1, Transfers(1.0, 1.0))
        count = len(kernels.problem)
        order = np.arange(count, dtype=np.int32)[None]
        alone = evaluated(kernels.problem, order, np.zeros((1, count), np.int32))
        assert alone.seconds[0] == pytest.approx(seconds(problem, plan))
        inside = members(problem, plan)
        edges = zip(kernels.problem.children.sources, kernels.problem.children.targets, strict=True)
        for giver, taker in edges:  # the taker computes something that reads a result of the giver
            results = set(np.flatnonzero(kernels.of_operation == giver).tolist())
            read = {
                int(parent)
                for i in inside[int(kernels.numbers[taker])]
                for parent in problem.parents[problem.parent_offsets[i] : problem.parent_offsets[i + 1]]
            }
            assert results & read


def test_a_search_of_places_is_no_worse_than_its_start() -> None:
    for problem in problems(3, 20):
        result = make(METHODS["go_joint_placement"]).fuse(problem, np.random.default_rng(2), MACHINE).scheduled
        start = fusion_of(problem, best_default(problem).plan, np.zeros(0), MACHINE).scheduled
        assert result is not None and start is not None and result.seconds <= start.seconds * (1 + 1e-12)


def test_every_method_is_here_and_one_that_places_needs_several_devices() -> None:
    assert names("fusion") == sorted({settings.file or settings.method for settings in METHODS.values()})
    with pytest.raises(Unsupported, match="name a link as the target"):
        make(GoJoint(method="go_joint")).fuse(problems(1, 8)[0], np.random.default_rng(0))
    with pytest.raises(ValueError, match="'go' is not given what it needs: weights"):
        make(GoFusion(method="go", model="trained"))


def test_learning_finds_what_saves() -> None:
    """From nothing fused, its evaluations lead further than random ones do, on the graphs that it learned from."""
    graphs = problems(12, 40, seed=8)
    learned = SMALL.model_copy(update={"learning_rate": 3e-3})
    settings = FusionNetwork(
        training=["a"], development="a", updates=100, problems=4, restart=10, measurements=1, settings=learned
    )
    _, history = train(graphs, graphs, settings, 0)
    _, before = train(graphs, graphs, settings.model_copy(update={"updates": 1}), 0)
    assert history[-1]["value"] < before[-1]["value"] - 0.005
