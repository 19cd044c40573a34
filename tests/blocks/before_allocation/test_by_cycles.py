"""Orders that are judged by running them: what is taken, what stays, and what cannot run.

Cycles of this machine are no ground for a test, so bytes of code stand for them where a search is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from learned_schedulers.blocks.before_allocation import by_cycles, llvm, users_code
from learned_schedulers.blocks.before_allocation.by_cycles import compared_states
from learned_schedulers.blocks.before_allocation.costs import Counts, Cycles, Limits, SearchResult
from learned_schedulers.blocks.before_allocation.drawn_inputs import BlockInFunction, reaches, working_inputs
from learned_schedulers.blocks.before_allocation.execution import Executions, NotMeasured
from learned_schedulers.blocks.before_allocation.functions import functions
from learned_schedulers.blocks.before_allocation.image import Image
from learned_schedulers.blocks.before_allocation.ordering import best_module, compiled, search
from learned_schedulers.blocks.run.native import Native
from tests.blocks.before_allocation.code import HEADER, LOOPS, crowded

pytestmark = pytest.mark.slow

ODD = """
declare i64 @getpid()
declare void @llvm.trap()
define i64 @calls(i64 %n) {
  %p = call i64 @getpid()
  %s = add i64 %p, %n
  ret i64 %s
}
define i64 @traps(i64 %n) {
  %a = mul i64 %n, 3
  call void @llvm.trap()
  ret i64 %a
}
define i64 @asks_the_system(i64 %n) {
  %p = call i64 asm sideeffect "syscall", "={ax},{ax},~{rcx},~{r11}"(i64 39)
  %b = xor i64 %p, %n
  ret i64 %b
}
define void @endless(ptr %p) {
  br label %l
l:
  %a = load volatile i64, ptr %p
  %b = add i64 %a, 1
  store volatile i64 %b, ptr %p
  br label %l
}
define i64 @wide(i64 %n) #7 {
  %a = mul i64 %n, 3
  %b = add i64 %a, 3
  ret i64 %b
}
define { i64, i64, i64 } @many(i64 %n) {
  %a = insertvalue { i64, i64, i64 } undef, i64 %n, 0
  %b = insertvalue { i64, i64, i64 } %a, i64 %n, 1
  ret { i64, i64, i64 } %b
}
attributes #7 = { "target-features"="+sse2,+amx-tile" }
"""


@pytest.fixture
def bytes_as_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short code is fast."""

    def sizes(native: Native, forms: Sequence[Image], *_: Any) -> np.ndarray:
        return np.array([[len(form.at(1 << 20, 0)[0])] for form in forms], float)

    monkeypatch.setattr(by_cycles, "cycles", sizes)


def searched(text: str, limits: Limits, seed: int = 0) -> dict[str, SearchResult]:
    """Functions by their names."""
    with llvm.Emitter() as emitter:
        before = compiled(emitter, text, "f.ll")
    return {function.name: function for function in search(text, before, "host", limits, seed)}


def code(text: str) -> str:
    return users_code.read(text.encode(), "f.ll")


def subject(name: str, text: str, block: int) -> BlockInFunction:
    function = next(each for each in functions(text) if each.name == name)
    n = len(function.blocks[block].items)
    return BlockInFunction(name, text, function, function.blocks[block], np.triu(np.ones((n, n), bool), 1))


CROWDED = code(HEADER + crowded(24))


@pytest.mark.usefixtures("native", "bytes_as_cycles")
def test_what_is_faster_is_taken_as_it_was_run() -> None:
    limits = Limits(100, measured=16, every=True)
    crowd = searched(CROWDED, limits)["crowded"]
    assert crowd.measurement and crowd.measurement.cycles and not crowd.reasons
    cycles = crowd.measurement.cycles
    assert cycles.is_faster and cycles.low == cycles.ratio == cycles.high == cycles.new / cycles.default < 0.995
    with llvm.Emitter() as emitter:
        before = compiled(emitter, CROWDED, "f.ll")
        choice = best_module(CROWDED, before, [crowd], emitter, "f.ll")
        assert choice.ordered == {"crowded"} and choice.compiled.counts["crowded"] == crowd.measurement.counts
        other = crowd._replace(measurement=crowd.measurement._replace(counts=Counts(1, 2, 3)))
        assert not best_module(CROWDED, before, [other], emitter, "f.ll").ordered, "its module compiles to other code"
    again = searched(CROWDED, limits)["crowded"]
    assert np.array_equal(again.orders[0][1], crowd.orders[0][1]), "the same seed and cycles give the same order"


@pytest.mark.usefixtures("native", "bytes_as_cycles")
def test_measured_orders_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    ratios = by_cycles.OrderTimer.ratios

    def counting(self: by_cycles.OrderTimer, orders: list[np.ndarray], *effort: Any) -> np.ndarray:
        if not effort:
            counted.append(len(orders))
        return ratios(self, orders, *effort)

    monkeypatch.setattr(by_cycles.OrderTimer, "ratios", counting)
    searched(CROWDED, Limits(100, measured=5, every=True))
    assert sum(counted) == 5
    function = searched(CROWDED, Limits(100, measured=5, every=True, ends=0))["crowded"]
    assert sum(counted) == 5 and not function.orders, "the time is over"


@pytest.mark.usefixtures("native", "bytes_as_cycles")
def test_what_equal_code_differs_by_is_no_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = by_cycles.mean_cycles

    def noisy(of: BlockInFunction, native: Native, forms: list[Image], *rest: Any) -> np.ndarray:
        means = plain(of, native, forms, *rest)
        default = max(forms, key=lambda form: sum(other is form for other in forms))
        means[next(i for i, form in enumerate(forms) if form is default)] *= 1.5
        return means

    monkeypatch.setattr(by_cycles, "mean_cycles", noisy)
    crowd = searched(CROWDED, Limits(100, measured=16, every=True))["crowded"]
    assert not crowd.orders and not crowd.dags and crowd.measurement and crowd.measurement.counts is None
    assert crowd.measurement.cycles and crowd.measurement.cycles.control > 0.3


def test_a_gain_is_more_than_the_control_in_every_process() -> None:
    assert Cycles(100, 90, 0.9, 0.89, 0.91, 0.05).is_faster
    assert not Cycles(100, 90, 0.9, 0.89, 0.96, 0.05).is_faster
    assert not Cycles(100, 99.7, 0.997, 0.997, 0.997, 0.0).is_faster


@pytest.mark.usefixtures("native", "bytes_as_cycles")
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Executions(10, 0, 1, 9, "rax differs"), "its faster order leaves another state: rax differs"),
        (Executions(2, 8, 0, 2, ""), "drawn arguments ask for what is undefined"),
    ],
)
def test_what_leaves_another_state_stays(answer: Executions, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_cycles, "compared_states", lambda *_: answer)
    crowd = searched(CROWDED, Limits(100, measured=16, every=True))["crowded"]
    assert not crowd.orders and reason in crowd.reasons[0]


def test_another_function_leaves_another_state(native: Native, emitter: llvm.Emitter) -> None:
    of = subject("crowded", CROWDED, 0)
    wrong = subject("crowded", CROWDED.replace("mul i64 %x3, 9", "mul i64 %x3, 8"), 0)
    assert wrong.text != of.text
    default = of.image(emitter)
    answer = compared_states(of, native, [default, default], [default, wrong.image(emitter)], 6, 4, 0)
    assert answer.ran == answer.different == answer.equal == 24


def test_what_cannot_run_is_judged_by_counts(native: Native, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_cycles, "SECONDS", 1.0)
    monkeypatch.setattr(by_cycles.llvm, "get_host_cpu_features", lambda: {"sse2": True, "amx-tile": False})
    reasons = {
        "calls": "it needs getpid, which this file does not define",
        "traps": "instruction that this processor does not know",
        "asks_the_system": "SIGSYS",
        "endless": "time limit",
        "wide": "it is compiled for amx-tile, which this processor lacks",
        "many": "result of type { i64, i64, i64 }",
    }
    answers = searched(code(HEADER + ODD), Limits(4, measured=3, every=True))
    assert {*answers} == {*reasons}
    for name, reason in reasons.items():
        assert reason in answers[name].not_measured and not answers[name].measurement, answers[name]


def test_without_a_run_the_order_is_that_of_counts(native: Native, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise NotMeasured("the worker died")

    monkeypatch.setattr(by_cycles, "cycles", refuse)
    by_counts = searched(CROWDED, Limits(12, every=True), seed=3)["crowded"]
    fallen_back = searched(CROWDED, Limits(12, every=True, measured=9), seed=3)["crowded"]
    assert fallen_back.not_measured == "the worker died"
    assert by_counts.orders and np.array_equal(fallen_back.orders[0][1], by_counts.orders[0][1])


def test_blocks_that_arguments_do_not_reach(native: Native, emitter: llvm.Emitter) -> None:
    text = code(LOOPS.replace("icmp eq i64 %n, 0", "icmp eq i64 %n, %n"))
    where = working_inputs(subject("loops", text, 2), native, emitter)
    assert not reaches(subject("loops", text, 1), where, native, emitter)
    assert reaches(subject("loops", text, 0), where, native, emitter)
    where = working_inputs(subject("loops", code(LOOPS), 1), native, emitter)
    assert reaches(subject("loops", code(LOOPS), 2), where, native, emitter)
