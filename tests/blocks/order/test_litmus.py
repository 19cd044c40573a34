"""No legal order under `tso` shows another thread, or a signal handler on the stack, what the program never showed.

The oracle is an abstract machine (`machine_model`), which knows neither DAGs nor this project's effects. Each litmus
test is tried with every combination of legal orders of its threads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import combinations, product
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from learned_schedulers.blocks.dag.memory_order import Mark, MemoryDags, MemoryOrder
from tests.blocks.order.machine_model import (
    APART,
    EQUAL,
    Addresses,
    Outcome,
    Thread,
    interrupted,
    legal_orders,
    machine_code,
    orders_of,
    outcomes,
)

pytestmark = pytest.mark.slow

DAGS = {"tso": MemoryDags("tso"), "single_thread": MemoryDags("single_thread")}
MODELS: tuple[MemoryOrder, ...] = ("tso", "single_thread")


def threads(*texts: str) -> tuple[Thread, ...]:
    """Threads from text; x, y and z are words at different distances from rdi: provably different addresses."""
    words = {"[x]": "(%rdi)", "[y]": "64(%rdi)", "[z]": "128(%rdi)"}
    for word, operand in words.items():
        texts = tuple(text.replace(word, operand) for text in texts)
    return tuple(tuple(line.strip() for line in text.split(";")) for text in texts)


def added(program: tuple[Thread, ...], memory: MemoryOrder, addresses: Addresses = APART) -> set[Outcome]:
    """Outcomes of some combination of legal orders that the program itself does not have."""
    orders = [legal_orders(thread, DAGS[memory]) for thread in program]
    before = outcomes(program, addresses)
    return {outcome for chosen in product(*orders) for outcome in outcomes(chosen, addresses) - before}


LITMUS = {  # name -> threads, and whether a one-thread DAG breaks it
    "message passing": (("movq $1, [x]; movq $1, [y]", "mov [y], %r8; mov [x], %r9"), True),
    "message passing, writer": (("movq $1, [x]; movq $1, [y]", "mov [y], %r8; mfence; mov [x], %r9"), True),
    "message passing, reader": (("movq $1, [x]; mfence; movq $1, [y]", "mov [y], %r8; mov [x], %r9"), True),
    "load buffering": (("mov [x], %r8; movq $1, [y]", "mov [y], %r8; movq $1, [x]"), True),
    "store buffering": (("movq $1, [x]; mov [y], %r8", "movq $1, [y]; mov [x], %r8"), False),
    "store buffering, fenced": (("movq $1, [x]; mfence; mov [y], %r8", "movq $1, [y]; mfence; mov [x], %r8"), False),
    "store buffering, locked": (
        ("movq $1, [x]; lock addq $1, [z]; mov [y], %r8", "movq $1, [y]; xchg %rax, 192(%rdi); mov [x], %r8"),
        False,
    ),
    "store buffering, exchanges": (("xchg %rax, [x]; mov [y], %r8", "xchg %rax, [y]; mov [x], %r8"), False),
    "forwarding": (
        ("movq $1, [x]; mov [x], %r8; mov [y], %r9", "movq $1, [y]; mov [y], %r8; mov [x], %r9"),
        False,
    ),
    "R": (("movq $1, [x]; movq $1, [y]", "movq $2, [y]; mov [x], %r8"), False),  # allowed already
    "R, fenced": (("movq $1, [x]; movq $1, [y]", "movq $2, [y]; mfence; mov [x], %r8"), True),
    "S": (("movq $2, [x]; movq $1, [y]", "mov [y], %r8; movq $1, [x]"), True),
    "2+2W": (("movq $1, [x]; movq $2, [y]", "movq $1, [y]; movq $2, [x]"), True),
    "coherence": (("movq $1, [x]", "mov [x], %r8; mov [x], %r9"), True),
    "write to read causality": (("movq $1, [x]", "mov [x], %r8; movq $1, [y]", "mov [y], %r8; mov [x], %r9"), True),
    "independent reads of independent writes": (
        ("movq $1, [x]", "movq $1, [y]", "mov [x], %r8; mov [y], %r9", "mov [y], %r8; mov [x], %r9"),
        True,
    ),
    "a sum between": (
        ("movq $1, [x]; addq $1, [z]; mov [y], %r8", "movq $1, [y]; addq $1, 192(%rdi); mov [x], %r8"),
        False,
    ),
    "a sum as a flag": (("movq $1, [x]; addq $1, [y]", "mov [y], %r8; mov [x], %r9"), True),
    "a load after several stores": (
        ("movq $1, [x]; movq $1, [z]; mov [y], %r8", "mov [z], %r8; mov [x], %r9; movq $1, [y]"),
        True,
    ),
    "a spilled word": (
        ("mov [y], %r8; mov %r8, 8(%rsp); mov [x], %r9; mov 8(%rsp), %r10", "movq $1, [x]; movq $1, [y]"),
        True,
    ),
}


@pytest.mark.parametrize("name", LITMUS)
def test_no_order_under_tso_adds_an_outcome(name: str) -> None:
    assert not added(threads(*LITMUS[name][0]), "tso")


@pytest.mark.parametrize("name", LITMUS)
def test_the_tests_tell_the_models_apart(name: str) -> None:
    """The dependencies of one thread allow the outcomes that `tso` forbids, and keep fences and locked instructions."""
    texts, breaks = LITMUS[name]
    assert bool(added(threads(*texts), "single_thread")) == breaks


def test_the_machine_has_the_outcomes_of_the_literature() -> None:
    """Store buffering is allowed, the others are not (Intel's manual, volume 3, section 8.2.3)."""

    def registers(name: str) -> set[object]:
        return {
            tuple(tuple(v for _, v in values) for values in visible)  # type: ignore[attr-defined]
            for visible, _ in outcomes(threads(*LITMUS[name][0]))
        }

    assert ((0,), (0,)) in registers("store buffering")
    assert ((0,), (0,)) not in registers("store buffering, fenced") | registers("store buffering, locked")
    assert ((7,), (7,)) not in registers("store buffering, exchanges")
    assert ((), (1, 0)) not in registers("message passing")
    assert ((1,), (1,)) not in registers("load buffering")
    assert ((), (1,), (1, 0)) not in registers("write to read causality")
    assert ((), (), (1, 0), (1, 0)) not in registers("independent reads of independent writes")
    assert ((1, 0), (1, 0)) in registers("forwarding")
    assert ((), (0, 1)) in registers("message passing") and ((), (1, 1)) in registers("message passing")


def test_a_load_may_pass_a_store_to_another_address_alone() -> None:
    for text, count in (
        ("movq $1, [x]; mov [y], %r8", 2),
        ("movq $1, [x]; mov [x], %r8", 1),
        ("movq $1, [x]; mov 4(%rdi), %r8", 1),
        ("movq $1, [x]; mov (%rsi), %r8", 1),
        ("mov [y], %r8; movq $1, [x]", 1),
        ("movq $1, [x]; mfence; mov [y], %r8", 1),
        ("addq $1, [x]; mov [y], %r8", 1),
        ("movq $1, [x]; movq $1, [z]; mov [y], %r8", 3),
    ):
        assert len(legal_orders(threads(text)[0], DAGS["tso"])) == count, text


_SHARED = ("(%rdi)", "64(%rdi)", "128(%rdi)", "64(%rsi)")
_WORDS = (*_SHARED, "8(%rsp)", "16(%rsp)")


@st.composite
def programs(draw: st.DrawFn) -> tuple[Thread, ...]:
    """Two threads of up to five instructions on up to four words, spills and fences included."""
    result = []
    for _ in range(2):
        lines = []
        for k in range(draw(st.integers(2, 5))):
            word, shared = draw(st.sampled_from(_WORDS)), draw(st.sampled_from(_SHARED))
            value = draw(st.integers(1, 2))
            loaded = [line.split("%")[-1] for line in lines if line.startswith("mov ") and line[-4:-2] == "%r"]
            source = draw(st.sampled_from(loaded)) if loaded else "rax"
            lines.append(
                draw(
                    st.sampled_from(
                        (
                            f"mov {word}, %r{k + 10}",
                            f"mov {shared}, %r{k + 10}",
                            f"mov {shared}, %r{k + 10}",
                            f"movq ${value}, {word}",
                            *[f"movq ${value}, {shared}"] * 4,
                            f"mov %{source}, {word}",
                            f"addq ${value}, {shared}",
                            f"lock addq ${value}, {shared}",
                            f"xchg %rcx, {shared}",
                            "mfence",
                        )
                    )
                )
            )
        result.append(tuple(lines))
    return tuple(result)


@settings(max_examples=400, deadline=None)
@given(programs(), st.sampled_from([APART, EQUAL]), st.randoms(use_true_random=False))
@example(threads("movq $1, [x]; mov [y], %r10; mov [x], %r11", "movq $1, [y]; mov [x], %r10"), APART, None)
def test_orders_under_tso_add_no_outcome_to_random_programs(
    program: tuple[Thread, ...], addresses: Addresses, random: object
) -> None:
    orders = [legal_orders(thread, DAGS["tso"]) for thread in program]
    pairs: Iterable[tuple[Thread, ...]] = list(product(*orders))
    if len(pairs) > 12 and random is not None:
        pairs = random.sample(pairs, 12)  # type: ignore[attr-defined]
    before = outcomes(program, addresses)
    for chosen in pairs:
        assert outcomes(chosen, addresses) <= before, chosen


class Frame(NamedTuple):
    """A block that moves the stack pointer: its instructions, and rbp - rsp at its start."""

    lines: tuple[str, str]
    step: int  # bytes that rsp moves, in which instruction
    moves_at: int
    distance: int


RED_ZONE = 128  # bytes below rsp that a handler does not overwrite (System V ABI, 3.2.2); kernels have none
FRAMES = {
    "the frame goes": Frame(("mov -16(%rbp), %rax", "add $24, %rsp"), 24, 1, 24),
    "the frame comes": Frame(("sub $24, %rsp", "mov %rax, -16(%rbp)"), -24, 0, 0),
}


def with_a_handler_on_the_stack(frame: Frame, order: tuple[str, ...], red_zone: int) -> set[tuple[int, int]]:
    """rax and the slot [rbp - 16] at the end, for a handler that runs nowhere or between two instructions.

    Addresses are relative to rsp at the start. The handler overwrites everything below the red zone with -1.
    """
    ends = set()
    slot_address = frame.distance - 16
    for interruption in (None, *range(len(order) + 1)):
        rsp, rax, slot = 0, 7, 5
        for k, line in enumerate((*order, "end")):
            if k == interruption and slot_address < rsp - red_zone:
                slot = -1
            if line == frame.lines[frame.moves_at]:
                rsp += frame.step
            elif line == "mov -16(%rbp), %rax":
                rax = slot
            elif line == "mov %rax, -16(%rbp)":
                slot = rax
        ends.add((rax, slot if slot_address >= rsp - red_zone else 0))
    return ends


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("marks", [0, Mark.CLOSED, Mark.CLOSED | Mark.PRIVATE], ids=["open", "closed", "private"])
@pytest.mark.parametrize("red_zone", [0, RED_ZONE])
def test_a_signal_handler_on_the_stack_below_rsp(name: str, marks: int, red_zone: int) -> None:
    frame = FRAMES[name]
    frame = frame._replace(distance=frame.distance - red_zone)  # the slot is in the red zone, at its end
    block_marks = bytes(marks if "rbp" in line else marks & Mark.CLOSED for line in frame.lines)
    before = with_a_handler_on_the_stack(frame, frame.lines, red_zone)
    assert len(before) == 1, "the block itself is safe"
    results = {}
    for memory in MODELS:
        orders = legal_orders(frame.lines, DAGS[memory], block_marks)
        ends = {end for order in orders for end in with_a_handler_on_the_stack(frame, order, red_zone)}
        results[memory] = ends - before
    assert not results["tso"]
    assert results["single_thread"]


@pytest.mark.parametrize("name", FRAMES)
def test_within_the_red_zone_nothing_is_overwritten(name: str) -> None:
    """The oracle knows the red zone: where the slot is near to rsp, both orders are safe, but not in a kernel."""
    orders = legal_orders(FRAMES[name].lines, DAGS["single_thread"], bytes(2))
    assert len(orders) == 2
    for red_zone, count in ((RED_ZONE, 1), (0, 2)):
        ends = {end for order in orders for end in with_a_handler_on_the_stack(FRAMES[name], order, red_zone)}
        assert len(ends) == count


HANDLERS = {  # what the interrupted thread and its handler do, and whether `tso` keeps its outcomes
    "message passing": (("movq $1, [x]; movq $1, [y]", "mov [y], %r8; mov [x], %r9"), True),
    "message passing to the thread": (("mov [y], %r8; mov [x], %r9", "movq $1, [x]; movq $1, [y]"), True),
    "load buffering": (("mov [x], %r8; movq $1, [y]", "mov [y], %r8; movq $1, [x]"), True),
    "store buffering": (("movq $1, [x]; mov [y], %r8", "movq $1, [y]; mov [x], %r8"), False),
}


@pytest.mark.parametrize("name", HANDLERS)
def test_a_handler_that_reads_and_writes_the_thread_s_data(name: str) -> None:
    """Order as the processor keeps it for other threads is kept for a handler, but for a load that passes a store.

    A handler runs in the interrupted thread, so it sees its stores before they leave the buffer. This is the limit of
    `tso`: code that relies on it (`atomic_signal_fence(seq_cst)`, `membarrier`, device registers) needs a fence that
    machine code shows.
    """
    (main, handler), is_safe = HANDLERS[name]
    thread, handling = threads(main, handler)
    before = interrupted(thread, handling)
    after = {
        memory: {o for order in legal_orders(thread, DAGS[memory]) for o in interrupted(order, handling)} - before
        for memory in MODELS
    }
    assert after["single_thread"]
    assert bool(after["tso"]) != is_safe


@settings(max_examples=200, deadline=None)
@given(programs(), st.sampled_from([APART, EQUAL]))
def test_nothing_else_is_visible_to_a_handler(program: tuple[Thread, ...], addresses: Addresses) -> None:
    """Orders in which no load of shared data passes a store to it add no outcome of a thread and its handler."""
    thread, handler = program[0], tuple(line for line in program[1] if "(%rsp)" not in line)
    number = tuple(f"{k} {line}" for k, line in enumerate(thread))  # equal instructions are told apart
    before = interrupted(thread, handler, addresses)
    for order in orders_of(thread, DAGS["tso"]):
        lines = [number[i] for i in order]
        passes = any(
            re.search(r" movq? [$%]\w+, -?\d*\(%r[ds]i", number[i])
            and re.search(r" mov \d*\(%r[ds]i\)", number[j])
            and lines.index(number[i]) > lines.index(number[j])
            for i, j in combinations(range(len(thread)), 2)
        )
        if not passes:
            assert interrupted(tuple(thread[i] for i in order), handler, addresses) <= before, lines


def test_the_model_assembles_what_it_interprets() -> None:
    """Each pattern of the machine is one instruction."""
    lines = {line for texts, _ in LITMUS.values() for thread in threads(*texts) for line in thread}
    assert len(lines) > 15
    assert all(len(list(DAGS["tso"].conflicts([machine_code(line)]).forms)) == 1 for line in lines)
