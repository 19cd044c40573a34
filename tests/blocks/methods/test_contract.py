"""A method is a file with its settings: it receives the resources that it needs, and its sources are complete."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from learned_schedulers.blocks import methods as schedulers
from learned_schedulers.blocks.method_settings import CLASSES, RESOURCES, BlockMethodSettings
from learned_schedulers.blocks.methods import Budget, Solution, make, methods
from learned_schedulers.method_settings import entry, modules
from pipeline.lab import chapters
from pipeline.lab.wiring import ROOT, closure
from tests.blocks.models import made

NETWORKS = "learned_schedulers/blocks/models/"
GENERIC = [
    "learned_schedulers.blocks.methods",
    "learned_schedulers.blocks.method_settings",
    "pipeline.lab.stages.schedule",
]


def test_the_label_is_given_to_one_method_alone() -> None:
    assert [name for name in methods() if "label" in entry("block", name).needs | entry("block", name).uses] == ["gcc"]


def test_a_method_is_given_what_it_asks_for_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    received: dict[str, object] = {}
    monkeypatch.setattr(
        "learned_schedulers.blocks.methods.list_scheduling.make", lambda settings, **more: received.update(more)
    )
    make(entry("block", "list_scheduling"), dict.fromkeys(RESOURCES, 1))
    assert received == {"machine": 1}


LEARNED = ("ordering", "shipped_imitator", "soft_permutation")


@pytest.mark.parametrize("method", [name for name in methods() if entry("block", name).needs])
def test_what_is_missing_is_named(method: str) -> None:
    needs = sorted(entry("block", method).needs)
    with pytest.raises(ValueError, match=rf"'{method}' is not given what it needs: {needs[0]}"):
        make(entry("block", method), {})


def test_gccs_order_is_of_the_batch_that_it_was_told() -> None:
    blocks = made.blocks(6)
    shown = blocks.shown(blocks.input_order)
    method = make(entry("block", "gcc"), {"label": np.argsort(blocks.input_order, 1)})
    order = method.solve(shown, np.random.default_rng(0), Budget()).orders["none"].astype(np.int64)
    np.testing.assert_array_equal(np.take_along_axis(blocks.input_order, order, 1), np.tile(np.arange(5), (6, 1)))
    with pytest.raises(ValueError, match="make the method anew for each batch"):
        method.solve(shown[:3], np.random.default_rng(0), Budget())


def test_a_part_that_is_solved_is_put_back_in_its_place() -> None:
    part = Solution.of({"none": np.array([[1, 0]], np.int16)}, cycles=np.array([3]))
    whole = part.scattered_to(np.array([False, True]), ["not known"])
    assert whole.orders["none"].tolist() == [[-1, -1], [1, 0]]
    assert whole.status.tolist() == ["unsupported", "ok"] and whole.message.tolist() == ["not known", ""]
    assert whole.stats["cycles"].tolist() == [0, 3]


# The stages that re-run when a file is edited.


def sources(stage: str, *more: str) -> set[str]:
    return set(closure(chapters.stages()[stage], *more))


def of(method: str) -> list[str]:
    return modules("block", entry("block", method))


@pytest.mark.parametrize("module", GENERIC)
def test_what_all_methods_share_knows_none_of_them(module: str) -> None:
    """An added method, or an added setting, re-runs nothing else."""
    paths = set(closure(module))
    for name in methods():
        assert f"learned_schedulers/blocks/methods/{name}.py" not in paths


@pytest.mark.parametrize("method", [name for name in methods() if name not in LEARNED])
def test_who_has_no_network_depends_on_none(method: str) -> None:
    paths = sources("schedule", *of(method))
    assert f"learned_schedulers/blocks/methods/{method}.py" in paths
    assert not [path for path in paths if path.startswith(NETWORKS)]


def test_every_module_that_is_imported_by_name_is_declared() -> None:
    """Modules that call import_module; the closures above receive the names that they import."""
    callers = [
        str(path.relative_to(ROOT / "learned_schedulers"))
        for path in [*(ROOT / "learned_schedulers/blocks").rglob("*.py"), ROOT / "learned_schedulers/methods.py"]
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_module"
    ]
    assert set(callers) == {"methods.py"}


class AnyLegal(BlockMethodSettings):
    first: bool = False


METHOD = '''
"""A random legal order, by another name."""
from learned_schedulers.blocks.dag.sampling import uniform
from learned_schedulers.blocks.methods import Solution

class AnyLegal:
    def __init__(self, settings):
        self.first = settings.first

    def solve(self, problems, rng, budget):
        return Solution.of({"none": uniform(problems.precedes, rng)})

make = AnyLegal
'''


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], object]:
    (tmp_path / "any_legal.py").write_text(METHOD)
    monkeypatch.setattr(schedulers, "__path__", [*schedulers.__path__, str(tmp_path)])
    monkeypatch.setitem(CLASSES, "any_legal", AnyLegal)
    return lambda: sys.modules.pop("learned_schedulers.blocks.methods.any_legal", None)


def test_adding_a_method_is_adding_its_file_and_its_settings(added: Callable[[], object]) -> None:
    blocks = made.blocks(20, n=7)
    try:
        chosen = entry("block", "any_legal", first=True)
        assert chosen.model_dump()["first"] is True
        order = make(chosen, {}).solve(blocks.problems, np.random.default_rng(0), Budget()).orders["none"]
    finally:
        added()
    assert (np.sort(order, 1) == np.arange(7)).all() and (order != np.arange(7)).any()
