"""Sets of blocks and of fusion are compared as graphs are: kinds fit, results are handed in, faults are results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from learned_schedulers import methods as registry
from learned_schedulers.bench.budgets import Limit
from learned_schedulers.bench.instances import SETS, instances
from learned_schedulers.bench.peers import entrant
from learned_schedulers.bench.results import bounds_of, hand_in, of_entrant, read, write
from learned_schedulers.bench.running import of_method, run
from learned_schedulers.blocks.methods import Solution
from learned_schedulers.graphs.compilers.plan import separate
from learned_schedulers.graphs.methods.fusing import Fusion
from learned_schedulers.methods import Unsupported

BOARDS = [("blocks_development", "atom", "critical_path"), ("fused_development", "v100", "priority_fusion")]
LIMIT = Limit("evaluations", 20)


@pytest.mark.parametrize(("of_set", "target", "method"), [BOARDS[0], pytest.param(*BOARDS[1], marks=pytest.mark.slow)])
def test_a_result_is_handed_in_and_one_below_the_bound_is_refused(
    of_set: str, target: str, method: str, tmp_path: Path
) -> None:
    entered = of_entrant(entrant(method, of_set), of_set, target, LIMIT, [0], None)
    result = hand_in(of_set, target, entered, entered.run())
    assert result.stands.graphs == len(instances(of_set)) and result.stands.low <= result.stands.high
    path = tmp_path / "mine.json"
    write(result, path)
    assert read(path) == result
    content = json.loads(path.read_text())
    content["run"]["costs"][0][3] = float(bounds_of(of_set, target)[3]) * 0.9
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=f"no schedule takes less than .* {SETS[of_set].unit} on {target}"):
        read(path)


@pytest.mark.parametrize(
    ("name", "of_set", "message"),
    [
        (
            "heft",
            "blocks_unseen",
            "heft is a method of kind graph, and blocks_unseen has basic .* development_real",
        ),
        ("critical_path", "fused_unseen", "kind block, .*; its sets are blocks_development, blocks_unseen"),
        ("xla_2023", "unseen_real", "kind fusion, .*; its sets are fused_development, fused_unseen"),
        ("haifa", "unseen_real", "kind block"),
        ("tests.bench.test_kinds:Orders", "unseen_real", "kind block, .*; its sets are blocks_development"),
        ("tests.bench.test_kinds:Fuses", "blocks_unseen", "kind fusion, .*; its sets are fused_development"),
        ("heftier", "blocks_unseen", "no method 'heftier'"),
        ("heftier", "fused_unseen", "'heftier' of fusion"),
        ("soft_permutation", "blocks_unseen", "needs tokens, weights, which `compare` does not have"),
    ],
)
def test_a_method_enters_sets_of_its_kind_alone(name: str, of_set: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        entrant(name, of_set)


class Faulty:
    """A method that is wrong in one way, on every instance."""

    fault: ClassVar[str] = ""

    def __init__(self, settings: Any) -> None:
        pass


class Orders(Faulty):
    def solve(self, problems: Any, rng: np.random.Generator, budget: Any) -> Any:
        size, n = problems.latencies.shape
        order = np.tile(np.arange(n, dtype=np.int16), (size, 1))
        match self.fault:
            case "raises":
                raise RuntimeError("out of ideas")
            case "writes":
                problems.latencies[:] = 0
            case "refuses":
                return Solution.unsupported(problems, ["too long"] * size)
            case "illegal":
                return Solution.of({"none": order[:, ::-1].copy()})
            case "wrong":
                return Solution.of({"none": np.zeros_like(order)})
        return "an order"


class Fuses(Faulty):
    def fuse(self, problem: Any, rng: np.random.Generator, machine: Any = None) -> Any:
        match self.fault:
            case "raises":
                raise RuntimeError("out of ideas")
            case "writes":
                problem.written[:] = 0
            case "refuses":
                raise Unsupported("too long")
            case "illegal":
                return Fusion(type(separate(1))(np.full(problem.n, -1)))
            case "wrong":
                return Fusion(type(separate(1))(np.arange(problem.n) + 1))
        return "a plan"


MESSAGES = {
    "raises": ("failed", "RuntimeError: out of ideas"),
    "writes": ("failed", r"read-only \(test_kinds\.py:\d+\)"),
    "refuses": ("unsupported", "too long"),
    "illegal": ("failed", "breaks a dependency|fused into its readers"),
    "wrong": ("failed", "does not have each of .* once|must have numbers of operations"),
    "text": ("failed", "(solve|fuse) returned a str; return learned_schedulers"),
}


@pytest.mark.parametrize("fault", MESSAGES)
@pytest.mark.parametrize(("name", "of_set", "target"), [("Orders", *BOARDS[0][:2]), ("Fuses", *BOARDS[1][:2])])
def test_what_is_wrong_on_an_instance_is_its_result(
    name: str, of_set: str, target: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Faulty, "fault", fault)
    few = sorted(instances(of_set), key=len)[-2:]
    result = run(of_method(entrant(f"tests.bench.test_kinds:{name}", of_set), LIMIT), few, target, [0])
    status, message = MESSAGES[fault]
    assert result.costs == [[None, None]] and {each.status for each in result.failures} == {status}
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(result.failures[0].message)


def test_the_registry_has_the_kinds_of_the_sets() -> None:
    assert {frozen.kind for frozen in SETS.values()} <= set(registry.PACKAGES)
