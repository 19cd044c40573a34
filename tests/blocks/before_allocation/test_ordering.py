"""A search takes what LLVM compiles to less, keeps every dependency, and ends when it has to."""

from __future__ import annotations

import time

import numpy as np
import pytest

from learned_schedulers.blocks.before_allocation import chosen, llvm, ordering, users_code
from learned_schedulers.blocks.before_allocation.alone import Parts
from learned_schedulers.blocks.before_allocation.cost import cost
from learned_schedulers.blocks.before_allocation.counts import Counts
from learned_schedulers.blocks.before_allocation.ordering import Compiler, Limits, Searched, search
from learned_schedulers.blocks.before_allocation.proof import prove
from tests.blocks.before_allocation.code import HEADER, LOOPS, OBSERVED, crowded, rounds

CODE = users_code.read((LOOPS + OBSERVED.partition("\n")[2] + crowded(24) + rounds(6)).encode(), "four.ll")


@pytest.fixture(scope="module")
def compiled() -> tuple[ordering.Compiled, ordering.Compiled]:
    """By LLVM's default, and as it stands."""
    with Compiler("x86-64") as compiler:
        return compiler.by_default(CODE, "four.ll"), compiler.as_it_stands(CODE, "four.ll")


def searched(
    compiled: tuple[ordering.Compiled, ordering.Compiled], limits: Limits, seed: int = 0
) -> dict[str, Searched]:
    """Functions by their names."""
    return {function.name: function for function in search(CODE, *compiled, "x86-64", limits, seed)}


def test_cost_counts_a_folded_reload_more_than_nothing() -> None:
    assert cost(Counts(10, 0, 0)) < cost(Counts(10, 0, 1)) < cost(Counts(11, 1, 1))


def test_orders_are_legal_better_and_of_the_seed_alone(
    compiled: tuple[ordering.Compiled, ordering.Compiled], monkeypatch: pytest.MonkeyPatch
) -> None:
    functions = searched(compiled, Limits(30))
    assert {*functions} == {"crowded", "rounds"}  # the others have no spills
    assert functions["crowded"].orders and not functions["crowded"].reasons
    text = chosen.text_of(CODE, [*functions.values()])
    prove(CODE, text, {key: dag for function in functions.values() for key, dag in function.dags.items()})
    with Compiler("x86-64") as compiler:
        new = compiler.as_it_stands(text, "new.ll")
    assert cost(new.counts["crowded"]) < cost(compiled[1].counts["crowded"])
    assert cost(new.counts["rounds"]) <= cost(compiled[1].counts["rounds"])
    monkeypatch.setattr(ordering.os, "sched_getaffinity", lambda process: {0})
    again = searched(compiled, Limits(30))
    assert chosen.text_of(CODE, [*again.values()]) == text
    assert chosen.text_of(CODE, [*searched(compiled, Limits(30), seed=1).values()]) != text


def test_all_functions_are_searched_if_that_is_said(compiled: tuple[ordering.Compiled, ordering.Compiled]) -> None:
    functions = searched(compiled, Limits(2, every=True))
    assert {*functions} == {"crowded", "rounds", "loops", "observed"}


def test_a_search_without_time_changes_nothing(compiled: tuple[ordering.Compiled, ordering.Compiled]) -> None:
    functions = searched(compiled, Limits(1000, ends=time.monotonic()))
    assert len(functions) == 2 and not any(function.orders for function in functions.values())


def test_a_module_that_cannot_be_taken_apart_is_compiled_whole(
    compiled: tuple[ordering.Compiled, ordering.Compiled], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = searched(compiled, Limits(12))
    for text in (
        "define",
        f"{HEADER}declare void @f()\n",
        HEADER + crowded(24).replace("mul i64 %x3, 9", "mul i64 %x3, 8"),
    ):
        monkeypatch.setattr(Parts, "alone", lambda parts, name, text=text: text)
        functions = searched(compiled, Limits(12))
        assert np.array_equal(functions["crowded"].orders[0][1], expected["crowded"].orders[0][1])
    monkeypatch.setattr(llvm.Emitter, "assembly", lambda emitter, text, name: "")
    assert "twice to the same counts" in searched(compiled, Limits(12))["crowded"].reasons[0]


def test_a_block_that_is_too_long_is_left_alone(
    compiled: tuple[ordering.Compiled, ordering.Compiled], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ordering, "LONGEST", 150)
    functions = searched(compiled, Limits(12))
    assert not functions["rounds"].orders and functions["crowded"].orders
    assert functions["rounds"].reasons == ["block entry: it has more than 150 instructions"]


def test_each_function_is_written_by_the_better_scheduler() -> None:
    with Compiler("x86-64") as compiler:
        code = users_code.read((HEADER + crowded(24) + rounds(24)).encode(), "two.ll")
        default, standing = compiler.by_default(code, "two.ll"), compiler.as_it_stands(code, "two.ll")
        assert cost(standing.counts["rounds"]) < cost(default.counts["rounds"])
        assert cost(standing.counts["crowded"]) > cost(default.counts["crowded"])
        choice = chosen.for_assembly(code, default, standing, code)
        assert choice.ordered == {"rounds"} and not choice.whole
        assert choice.counts == {**default.counts, "rounds": standing.counts["rounds"]}
        assert chosen.object_of(choice, compiler, "two").startswith(b"\x7fELF")
        whole = chosen.whole(code, default, standing, code, "a reason")
        assert whole.is_default == (standing.cost() >= default.cost()) and whole.whole == "a reason"
        broken = default._replace(assembly=default.assembly.replace("\t.file", "\t.ident"))
        assert "outside" in chosen.for_assembly(code, broken, standing, code).whole
