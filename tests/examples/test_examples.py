"""The examples at tiny size: operators satisfy their constraints, references are right, pictures exist."""

from __future__ import annotations

import importlib
import itertools
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "examples"
NAMES = ["capacities", "packet_switching", "ranking", "tours"]
TOLERANCE = 2e-5  # the operators stop at 1e-5, measured in float32
LARGEST_PICTURE = 120_000  # bytes


@pytest.fixture(autouse=True)
def _as_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in `python examples/ranking.py`, the folder of the script comes first in the search path of modules."""
    monkeypatch.syspath_prepend(FOLDER)


def load(name: str) -> ModuleType:
    return importlib.import_module(name)


def soft_answers(name: str, count: int = 20) -> tuple[ModuleType, Any, dict[str, torch.Tensor]]:
    """The example's module, random problems, and the soft answers of its operators for large random logits."""
    example = load(name)
    problems = example.draw(count, np.random.default_rng(0))
    columns = example.MACHINES if name == "capacities" else 8 if name == "packet_switching" else 10
    rows = example.JOBS if name == "capacities" else columns
    logits = 3 * torch.randn(count, rows, columns, generator=torch.Generator().manual_seed(0))
    operators = {key: make for method in example.METHODS for key, make in method.operators.items()}
    return example, problems, {key: make(logits, problems) for key, make in operators.items()}


def worst_violations(name: str) -> dict[str, float]:
    example, problems, answers = soft_answers(name)
    further = {
        "capacities": lambda: {"best": example.best_worth(problems)},
        "packet_switching": lambda: {"best": example.best_packets(problems)},
        "tours": lambda: {"best": example.shortest(problems)},
        "ranking": dict,
    }[name]()
    return {key: next(iter(example.measure(soft, problems, **further).values())) for key, soft in answers.items()}


@pytest.mark.parametrize("name", NAMES)
def test_the_operators_satisfy_the_constraints_and_sinkhorn_does_not(name: str) -> None:
    violations = worst_violations(name)
    projected = {key: worst for key, worst in violations.items() if "POCS" in key}
    assert projected and max(projected.values()) < TOLERANCE, projected
    assert violations["Sinkhorn"] > 0.1


@pytest.mark.parametrize("name", NAMES)
def test_an_example_writes_its_table_and_a_small_picture(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new_folder" / "picture.png"
    load(name).main(path, seed=3, steps=2, runs=2, tests=20)
    printed = capsys.readouterr().out
    assert all(key in printed for method in load(name).METHODS for key in method.operators)
    with Image.open(path) as picture:
        assert picture.format == "PNG" and picture.width > 1000
    assert path.stat().st_size < LARGEST_PICTURE


def test_no_feasible_shares_carry_more_than_the_best() -> None:
    example, frames, answers = soft_answers("packet_switching")
    best = example.best_packets(frames)
    assert (example.carried(answers["EPOCS"], frames) <= best + 1e-3).all()
    assert (best <= (frames.demand * frames.allowed).sum((1, 2)) + 1e-3).all()
    assert (frames.allowed == 0).any(2).any()


def test_no_plan_within_the_capacities_earns_more_than_the_best() -> None:
    example, instances, answers = soft_answers("capacities")
    best = example.best_worth(instances)
    assert (example.earned(answers["EPOCS"], instances) <= best + 1e-3).all()
    torch.testing.assert_close(  # without overload there is no slow-down
        example.earned(answers["EPOCS"], instances), (answers["EPOCS"] * instances.worth).sum((1, 2)), rtol=1e-4, atol=0
    )
    assert (best <= instances.worth.amax(2).sum(1) + 1e-3).all()


def test_the_shortest_path_is_that_of_an_enumeration() -> None:
    tours = load("tours")
    instances = tours.draw(3, np.random.default_rng(2))
    distances, allowed = tours.distances(instances.places).numpy(), instances.allowed.numpy().astype(bool)
    for item, length in enumerate(tours.shortest(instances)):
        start, end = allowed[item, :, 0].argmax(), allowed[item, :, -1].argmax()
        inner = [city for city in range(tours.CITIES) if city not in (start, end)]
        paths = np.array([(start, *middle, end) for middle in itertools.permutations(inner)])
        legal = allowed[item][paths, np.arange(tours.CITIES)].all(1)
        lengths = distances[item][paths[:, :-1], paths[:, 1:]].sum(1)
        assert 0 < legal.sum() < len(paths)
        assert length == pytest.approx(lengths[legal].min(), rel=1e-5)


def test_a_path_decoded_within_the_conditions_satisfies_them() -> None:
    tours, instances, answers = soft_answers("tours")
    for soft in answers.values():
        path = tours.hard(tours.decode(soft - tours.FORBIDDEN * (1 - instances.allowed)))
        assert not (path * (1 - instances.allowed)).any()
        torch.testing.assert_close(path.sum(1), torch.ones(20, 10))
