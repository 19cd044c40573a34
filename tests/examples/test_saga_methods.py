"""SAGA's schedulers as methods of ours: the adapter changes no schedule, and the package builds.

SAGA is no dependency: without it (examples/saga_methods/README.md) only the package itself is tested.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.devices.targets import Target, proxy
from learned_schedulers.graphs.methods import OK, UNSUPPORTED, Budget
from learned_schedulers.graphs.problems.problem import Edges, Problem
from tests.graphs.problems import drawn

FOLDER = Path(__file__).parents[2] / "examples/saga_methods"
PROJECT = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]
OFFERED = PROJECT["entry-points"]["learned_schedulers.methods"]
NAMES = [reference.removeprefix("saga_methods:") for reference in OFFERED.values()]
LATER = {"Gdl"}  # its schedules may start operations later than they could
ROUNDING = 1e-9  # times are whole steps in SAGA


@pytest.fixture(scope="module")
def adapter() -> ModuleType:
    pytest.importorskip("saga.schedulers", reason="pip install --no-deps anrg-saga==2.0.2 pysmt")
    sys.path.insert(0, str(FOLDER))
    try:
        import saga_methods
    finally:
        sys.path.remove(str(FOLDER))
    return saga_methods


def test_every_class_is_offered() -> None:
    tree = ast.parse((FOLDER / "saga_methods.py").read_text())
    classes = {
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef) and [ast.unparse(base) for base in node.bases] == ["SagaMethod"]
    }
    assert sorted(NAMES) == sorted(classes)


@pytest.mark.slow
def test_the_package_builds(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(FOLDER, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--wheel-dir", tmp_path, source], check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "saga_methods.py" in names and any(name.endswith("entry_points.txt") for name in names)


@pytest.mark.parametrize("name", NAMES)
def test_claimed_makespans_are_those_of_our_simulator(adapter: ModuleType, name: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(12):
        n, m, density = int(rng.integers(1, 25)), int(rng.integers(1, 5)), float(rng.random() * 0.5)
        problem = drawn.problem(rng, n, m, density)
        schedule = adapter.scheduled(getattr(adapter, name).scheduler(), problem)
        order, placement = adapter.order_and_placement(problem, schedule)
        claimed = schedule.makespan / adapter.steps_in_a_second(problem)
        simulated = makespans(problem, order[None], placement[None])[0]
        assert simulated <= claimed * (1 + ROUNDING)
        assert name in LATER or simulated == pytest.approx(claimed, rel=ROUNDING)


def test_methods_propose_on_the_target_and_say_what_they_cannot(adapter: ModuleType) -> None:
    rng = np.random.default_rng(1)
    problem = drawn.problem(rng, 10, 3)
    method = adapter.Heft(adapter.Heft.Settings(method="saga_heft"), target=Target((problem,)))
    proposals = method.propose(proxy(problem).mean, rng, Budget())
    assert proposals.status == OK and proposals.orders.shape == (1, 10)
    shared = drawn.with_sharing(problem, np.random.default_rng(3))
    assert len(shared.shared.readers)
    refused = adapter.Heft(adapter.Heft.Settings(method="saga_heft"), target=Target((shared,)))
    answer = refused.propose(shared, rng, Budget())
    assert answer.status == UNSUPPORTED and "share weights" in answer.message
    tight = replace(problem, memory=1e-9)
    without_room = adapter.Heft(adapter.Heft.Settings(method="saga_heft"), target=Target((tight,)))
    assert "does not know memory" in without_room.propose(tight, rng, Budget()).message
    nothing = Problem(np.zeros(0), np.zeros(0), Edges(np.zeros(1, np.int32), np.zeros(0, np.int32)), 2)
    empty = adapter.Heft(adapter.Heft.Settings(method="saga_heft"), target=Target((nothing,)))
    assert empty.propose(nothing, rng, Budget()).orders.shape == (1, 0)
