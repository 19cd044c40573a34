"""Conclusions from measured times and from failures, without a compiler."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from learned_schedulers.graphs.compilers.inductor.nodes import Node
from learned_schedulers.graphs.compilers.kinds import Loop
from learned_schedulers.graphs.plans import compiled_module
from learned_schedulers.graphs.plans.compiled_module import (
    DIFFERENT,
    FASTER,
    SAME,
    SLOWER,
    Comparison,
    Compiled,
    Failed,
    compared,
    reason_in,
)
from learned_schedulers.graphs.plans.compiled_summary import comparison_text, verdict
from learned_schedulers.graphs.plans.named_module import NamedModule

MODEL = NamedModule("no_module:Class", ("2,2",))


def timed(name: str, ratio: float, spread: float = 0.0) -> Compiled:
    """A candidate that takes about `ratio` of the default's time, with some noise over the rounds."""
    ratios = ratio * np.exp(np.linspace(-spread, spread, 25))
    return Compiled(name, "ok", 3, 1e-7, seconds=ratio * 1e-3, ratios=ratios)


def comparison(control: Compiled, *proposals: Compiled) -> Comparison:
    return Comparison(5, (timed("default", 1.0), control, *proposals))


def test_the_interval_is_of_the_median() -> None:
    """25 rounds: the 8th and the 18th in order, 95.7% by the binomial distribution; three rounds: first and last."""
    ratios = np.random.default_rng(0).permutation(np.arange(1.0, 26.0))
    assert Compiled("a", "ok", ratios=ratios).interval == (8.0, 18.0)
    assert Compiled("a", "ok", ratios=ratios[:3]).interval == (ratios[:3].min(), ratios[:3].max())
    assert Compiled("a", "failed: why").interval == (0.0, np.inf)


def test_a_proposal_is_faster_only_beyond_the_controls_spread() -> None:
    steady = timed("control", 1.0, 0.06)
    assert comparison(steady).spread == pytest.approx((0.975, 1.025), abs=1e-3)
    for ratio, message in ((0.95, FASTER), (0.98, SAME), (1.02, SAME), (1.05, SLOWER)):
        assert comparison(steady).verdict_of(timed("proposal_1", ratio)) == message
    assert comparison(steady).verdict_of(timed("proposal_1", 0.95, 0.2)) == SAME  # its own times are too noisy
    assert "proposal_1 takes 0.950 of the default's time" in verdict(comparison(steady, timed("proposal_1", 0.95)))
    assert "keep Inductor's default" in verdict(comparison(steady, timed("proposal_1", 0.98)))
    slow = timed("control", 1.06)  # which of two equal processes is slower is chance
    assert "keep Inductor's default" in verdict(comparison(slow, timed("proposal_1", 0.95)))


def test_what_is_said_of_each_candidate() -> None:
    failed = Compiled("proposal_3", DIFFERENT, 2, 0.5)
    shown = comparison(timed("control", 1.0, 0.02), timed("proposal_1", 0.9), timed("proposal_2", 1.2), failed)
    head, table, _ = comparison_text(shown, False).split("\n\n")
    lines = {line.split()[0]: line for line in table.splitlines()}
    assert lines["proposal_1"].endswith("faster") and lines["proposal_2"].endswith("slower")
    assert lines["proposal_3"].endswith(DIFFERENT) and lines["proposal_3"].split()[3:5] == ["-", "-"]
    assert "0.900" in lines["proposal_1"] and "5 scheduler nodes" in head
    assert "a training step" in comparison_text(shown, True)


def test_nothing_is_concluded_without_times() -> None:
    broken = Compiled("control", "failed: out of memory")
    assert "a difference cannot be distinguished" in verdict(comparison(broken, timed("proposal_1", 0.5)))
    assert "a difference cannot be distinguished" in verdict(comparison(broken))
    none = comparison(timed("control", 1.0), Compiled("proposal_1", "failed: why"))
    assert "No proposal was timed" in verdict(none)
    assert "It may fuse none" in comparison_text(Comparison(1, ()), False)


def nodes(fusable: bool) -> list[Node]:
    """Three loops one after the other."""
    listed = []
    for i in range(3):
        parents = {f"op{i - 1}": 4000} if i else {}
        later = {f"op{i + 1}": 4000} if fusable and i < 2 else {}
        listed.append(Node(f"op{i}", Loop.ELEMENTWISE, 0, 1, 1000, 0.0, 4000, 4000, False, parents, later))
    return listed


def test_the_default_has_to_be_right(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(compiled_module, "nodes_of", lambda model, folder: nodes(fusable=True))
    answers = {DIFFERENT: "dropout, for example, draws", "failed: why": "cannot compile the module: why"}
    for status, message in answers.items():
        alone = {"default": Compiled("default", status, difference=0.3)}
        monkeypatch.setattr(compiled_module, "_candidates", lambda *words, alone=alone: alone)
        with pytest.raises(Failed, match=message):
            compared(MODEL, tmp_path, 0)
    monkeypatch.setattr(compiled_module, "nodes_of", lambda model, folder: nodes(fusable=False))
    assert compared(MODEL, tmp_path, 0) == Comparison(3, ())


def test_a_module_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="cannot compile the module: ImportError: there is no module no_module"):
        compared(MODEL, tmp_path, 0)


def test_the_reason_is_the_last_exception(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    message = "torch._inductor.exc.InductorError: CppCompileError: error"
    log.write_text(f'Traceback:\n  File "a.py"\n{message}\n\nOutput:\ng++\n')
    assert reason_in(log) == message
    log.write_text("Killed\n")
    assert reason_in(log) == "Killed"
    log.write_text("")
    assert reason_in(log) == "it ended without a message"
