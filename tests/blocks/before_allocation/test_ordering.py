"""A search takes what LLVM compiles to less, keeps every dependency, and ends when it has to."""

from __future__ import annotations

import time

import numpy as np
import pytest

from learned_schedulers.blocks.before_allocation import llvm, ordering, single_function, users_code
from learned_schedulers.blocks.before_allocation.costs import Counts, Limits, SearchResult, cost
from learned_schedulers.blocks.before_allocation.functions import prove
from learned_schedulers.blocks.before_allocation.ordering import Choice, Compiled, best_module, compiled, search
from learned_schedulers.blocks.before_allocation.single_function import Parts
from tests.blocks.before_allocation.code import HEADER, LOOPS, OBSERVED, crowded, rounds

CODE = users_code.read((LOOPS + OBSERVED.partition("\n")[2] + crowded(24) + rounds(6)).encode(), "four.ll")


@pytest.fixture(scope="module")
def standing(emitter: llvm.Emitter) -> Compiled:
    """The code as it stands."""
    return compiled(emitter, CODE, "four.ll")


def searched(standing: Compiled, limits: Limits, seed: int = 0) -> dict[str, SearchResult]:
    """Functions by their names."""
    return {function.name: function for function in search(CODE, standing, "x86-64", limits, seed)}


def written(standing: Compiled, functions: dict[str, SearchResult], emitter: llvm.Emitter) -> Choice:
    """What is taken of a search."""
    return best_module(CODE, standing, [*functions.values()], emitter, "four.ll")


def test_cost_counts_a_folded_reload_more_than_nothing() -> None:
    assert cost(Counts(10, 0, 0)) < cost(Counts(10, 0, 1)) < cost(Counts(11, 1, 1))


@pytest.mark.slow
def test_orders_are_legal_better_and_the_same_on_any_number_of_cores(
    standing: Compiled, emitter: llvm.Emitter, monkeypatch: pytest.MonkeyPatch
) -> None:
    functions = searched(standing, Limits(30))
    assert {*functions} == {"crowded", "rounds"}  # the others have no spills
    assert functions["crowded"].orders and not functions["crowded"].reasons
    choice = written(standing, functions, emitter)
    prove(CODE, choice.text, {key: dag for function in functions.values() for key, dag in function.dags.items()})
    assert "crowded" in choice.ordered <= {"crowded", "rounds"}
    assert choice.compiled == compiled(emitter, choice.text, "four.ll")
    for name in choice.ordered:
        assert cost(choice.compiled.counts[name]) < cost(standing.counts[name])
    monkeypatch.setattr(ordering.os, "sched_getaffinity", lambda process: {0})
    again = searched(standing, Limits(30))
    assert written(standing, again, emitter) == choice


def test_all_functions_are_searched_if_that_is_said(standing: Compiled) -> None:
    functions = searched(standing, Limits(2, every=True))
    assert {*functions} == {"crowded", "rounds", "loops", "observed"}


def test_a_search_without_time_changes_nothing(standing: Compiled) -> None:
    functions = searched(standing, Limits(1000, ends=time.monotonic()))
    assert len(functions) == 2 and not any(function.orders for function in functions.values())


@pytest.mark.slow
def test_a_module_that_cannot_be_taken_apart_is_compiled_whole(
    standing: Compiled, emitter: llvm.Emitter, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = searched(standing, Limits(12))
    for text in (
        "define",
        f"{HEADER}declare void @f()\n",
        HEADER + crowded(24).replace("mul i64 %x3, 9", "mul i64 %x3, 8"),
    ):
        monkeypatch.setattr(Parts, "alone", lambda parts, name, text=text: text)
        functions = searched(standing, Limits(12))
        assert np.array_equal(functions["crowded"].orders[0][1], expected["crowded"].orders[0][1])
    monkeypatch.setattr(llvm.Emitter, "assembly", lambda emitter, text, name: "")
    assert "twice to the same counts" in searched(standing, Limits(12))["crowded"].reasons[0]


def test_a_block_that_is_too_long_is_left_alone(
    standing: Compiled, emitter: llvm.Emitter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(single_function, "LONGEST", 150)
    functions = searched(standing, Limits(12))
    assert not functions["rounds"].orders and functions["crowded"].orders
    assert functions["rounds"].reasons == ["block entry: it has more than 150 instructions"]


def test_a_function_that_costs_no_less_in_its_module_stays(standing: Compiled, emitter: llvm.Emitter) -> None:
    functions = searched(standing, Limits(30))
    better = written(standing, functions, emitter)
    block, order = functions["crowded"].orders[0]
    worse = functions | {"crowded": functions["crowded"]._replace(orders=[(block, np.arange(len(order)))])}
    choice = written(standing, worse, emitter)
    assert choice.ordered == better.ordered - {"crowded"}
    assert choice.compiled.counts["crowded"] == standing.counts["crowded"]
    assert written(standing, {}, emitter) == (CODE, standing, frozenset())
