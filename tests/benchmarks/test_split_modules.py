"""Modules of many kinds do by a split what they do alone, or are refused with a reason; the comparison can fail."""

from __future__ import annotations

import re

import pytest
import torch

from benchmarks.split_modules.__main__ import CASES
from benchmarks.split_modules.case import Case
from benchmarks.split_modules.comparing import DIFFERENT, EQUAL, REFUSED, compared, detected

pytestmark = pytest.mark.slow

BY_NAME = {case.name: case for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_module_by_a_split(case: Case) -> None:
    """On two devices and on three by turns; the benchmark tries every module on both."""
    seed = 1 if case.refusal else 1 + CASES.index(case) % 2
    verdict = compared(case, seed, devices=1 + seed)
    if case.refusal:
        assert verdict.name == REFUSED and re.search(case.refusal, verdict.detail), verdict
    else:
        assert verdict.name == EQUAL and verdict.tensors > 30, verdict


def test_the_set_is_large_and_its_names_are_distinct() -> None:
    assert len(BY_NAME) == len(CASES) and sum(not case.refusal for case in CASES) >= 50


@pytest.mark.parametrize("name", ["Counter", "Layers", "CausalAttention", "CustomGradient", "GruWithState"])
def test_a_changed_operation_is_noticed(name: str) -> None:
    assert detected(BY_NAME[name], 3)


def test_nothing_to_change() -> None:
    assert detected(BY_NAME["ViewsOfInput"], 0) is None


def test_a_state_that_stands_still_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "copy_", lambda tensor, *_, **__: tensor)
    verdict = compared(BY_NAME["Counter"], 0)
    assert verdict.name == DIFFERENT and "['calls']" in verdict.detail
