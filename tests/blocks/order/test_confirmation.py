"""Orders that llvm-mca does not confirm are not taken; comparisons stay at the jumps with which they fuse."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from learned_schedulers.blocks.dag.memory_order import Mark
from learned_schedulers.blocks.order import orderer as orders
from learned_schedulers.blocks.order.confirmation import Confirmer, Cycles, NewOrder
from learned_schedulers.blocks.order.methods import METHODS, By, serves
from learned_schedulers.blocks.order.orderer import Orderer, Status
from learned_schedulers.blocks.order.targets import FUSING
from learned_schedulers.blocks.processors import llvm_mca
from learned_schedulers.blocks.processors.settings import Judge
from learned_schedulers.blocks.read.assembly import gas
from learned_schedulers.blocks.read.terminators import Terminator, fuses
from tests.blocks import real
from tests.blocks.read.assembled import code, document, needs_as

CODES = real.table()["code"].to_pylist()[::15]
JNE = bytes.fromhex("7500")
# A loop, a block before a conditional jump that leads elsewhere, one before a call, and one before an indirect jump.
TEXT = """
    .text
    .type f, @function
f:
    .cfi_startproc
    movq $0, %rax
    movq $1, %rcx
.L1:
    addq (%rdi), %rax
    addq $8, %rdi
    cmpq %rsi, %rdi
    jne .L1
    movq %rax, %rdx
    imulq %rcx, %rdx
    testq %rdx, %rdx
    js .L2
    movq %rdx, %rdi
    addq $1, %rcx
    call g
.L2:
    leaq 1(%rax), %rcx
    movq (%rax,%rcx,8), %rax
    jmp *%rax
    .cfi_endproc
    .size f, .-f
"""


@needs_as
@pytest.mark.parametrize(
    ("instruction", "jump", "expected"),
    [
        ("cmpq %rax, %rbx", "jne", True),
        ("cmpl $5, %ecx", "jbe", True),
        ("cmpq (%rax), %rbx", "jl", True),
        ("cmpq %rbx, 8(%rax)", "jg", True),
        ("testb %al, %al", "js", True),
        ("testb %al, %al", "jo", True),
        ("andl $7, %eax", "jp", True),
        ("addq %rax, %rbx", "jc", True),
        ("subl (%rax), %ebx", "je", True),
        ("decq %rcx", "jne", True),
        ("incl %ecx", "jge", True),
        ("cmpl $5, (%rcx)", "je", False),  # an immediate and memory
        ("testb $1, 3(%rax)", "jne", False),
        ("addq %rax, (%rbx)", "je", False),  # it stores
        ("subq %rax, %rbx", "js", False),
        ("addq %rax, %rbx", "jo", False),
        ("decq %rcx", "jb", False),  # it leaves the carry alone
        ("adcq %rax, %rbx", "je", False),
        ("shlq $1, %rax", "je", False),
        ("movq %rax, %rbx", "je", False),
        ("leaq 1(%rax), %rax", "jne", False),
    ],
)
def test_which_pairs_fuse(instruction: str, jump: str, expected: bool) -> None:
    pair = code(f"{instruction}\n{jump} .+2\n")
    assert fuses(pair[:-2], pair[-2:]) is expected


@needs_as
def test_only_conditional_jumps_of_flags_fuse() -> None:
    compare = code("cmpq %rax, %rbx")
    for text in ("jmp .+2", "jmp *%rax", "ret", "jrcxz .+2", "loop .+2"):
        assert not fuses(compare, code(text)), text


@needs_as
def test_assembly_tells_what_ends_a_block() -> None:
    every = document(TEXT).blocks
    blocks = {gas(block.code)[0].partition(" ")[0]: block for block in every}
    ends = {first: (block.end.repeats, bool(block.marks[-1] & Mark.FUSED)) for first, block in blocks.items()}
    loop, test, call, indirect = (blocks[name] for name in ("add", "mov", "mov", "lea"))
    assert ends["add"] == (True, True) and gas(loop.end.code)[0].startswith("jne")
    assert ends["lea"] == (False, False) and gas(indirect.end.code) == ["jmp *%rax"]
    of_mov = [block for block in every if gas(block.code)[0].startswith("mov")]
    kinds = [(block.end.code != b"", bool(block.marks[-1] & Mark.FUSED)) for block in of_mov]
    assert kinds == [(False, False), (True, True), (False, False)]  # before the loop, before js, before the call
    assert test.end.repeats is False and call.end.repeats is False


@pytest.mark.slow
@pytest.mark.parametrize("target", FUSING)
@pytest.mark.parametrize("by", [by for by in METHODS if by != "random_legal"])
def test_a_comparison_stays_at_its_jump(by: By, target: str) -> None:
    try:
        serves(by, target)
    except ValueError as error:
        pytest.skip(str(error))
    codes, marks = _with_compare()
    answer = Orderer(by, target, "tso").order(codes, marks)
    lasts = [answer.of(k)[-1] == len(answer.of(k)) - 1 for k in range(len(codes))]
    assert all(lasts)


@pytest.mark.slow
def test_elsewhere_it_moves_as_any_other() -> None:
    codes, marks = _with_compare()
    for orderer in (Orderer("search", "atom", "tso"), Orderer("random_legal", "skylake", "tso")):
        answer = orderer.order(codes, marks)
        assert any(answer.of(k)[-1] != len(answer.of(k)) - 1 for k in range(len(codes)))


def _with_compare() -> tuple[list[bytes], list[bytes]]:
    """Real blocks with a comparison behind them, which depends on little, and marks."""
    compare = bytes.fromhex("4839c3")  # cmp rbx, rax
    codes = [block + compare for block in CODES[:60]]
    counts = [len(gas(block)) for block in codes]
    return codes, [bytes([0] * (count - 1) + [Mark.FUSED]) for count in counts]


@pytest.mark.slow
@pytest.mark.parametrize("target", ["atom", "skylake", "znver4"])
def test_every_order_that_is_taken_is_faster_and_never_slower(binary: str, target: str) -> None:
    """Against simulations of this test, of the text in the new order, by other options of llvm-mca's front."""
    ends = [Terminator(JNE, repeats=k % 2 == 0) for k in range(len(CODES))]
    answer = Orderer("search", target, "tso", confirm=True).order(CODES, ends=ends)
    changed = np.flatnonzero(answer.status == Status.CHANGED).tolist()
    assert len(changed) > 2
    texts = []
    for k in changed:
        lines, jump = gas(CODES[k]), gas(JNE)
        texts += [[*lines, *jump], [*(lines[i] for i in answer.of(k)), *jump]]
    once, often = (
        np.array([s.cycles * n for s in llvm_mca.simulate(texts, Judge(cpu=target, iterations=n), binary)])
        for n in (1, 100)
    )
    for row, k in enumerate(changed):
        before, after = slice(2 * row, 2 * row + 1), slice(2 * row + 1, 2 * row + 2)
        assert once[after] <= once[before] and often[after] <= often[before]
        judged = often if ends[k].repeats else once
        assert judged[after] < judged[before]
        assert (answer.before[k], answer.after[k]) == (once[before], once[after])
        assert answer.loop_before[k] == pytest.approx(often[before] / 100)


def test_what_is_not_confirmed_stays_as_it_was(binary: str, monkeypatch: pytest.MonkeyPatch) -> None:
    proposed = Orderer("list", "atom", "tso").order(CODES)
    assert (proposed.status == Status.CHANGED).sum() > 5

    def slower(_: Confirmer, asked_for: Sequence[NewOrder]) -> list[Cycles]:
        return [Cycles(10, 9, 5, 5.01)] * len(asked_for)

    monkeypatch.setattr(orders.Confirmer, "cycles", slower)
    answer = Orderer("list", "atom", "tso", confirm=True).order(CODES)
    assert not (answer.status == Status.CHANGED).any()
    assert (answer.status == Status.UNCONFIRMED).tolist() == (proposed.status == Status.CHANGED).tolist()
    for begin, end in pairwise(answer.first.tolist()):
        assert answer.order[begin:end].tolist() == list(range(end - begin))
    assert (answer.before == answer.after).all()


def test_cycles_that_confirm() -> None:
    nan = float("nan")
    assert Cycles(10, 9, 5, 5).confirms(repeats=False) and not Cycles(10, 9, 5, 5).confirms(repeats=True)
    assert Cycles(10, 10, 5, 4).confirms(repeats=True) and not Cycles(10, 10, 5, 4).confirms(repeats=False)
    assert not Cycles(10, 11, 5, 4).confirms(repeats=True) and not Cycles(10, 9, 5, 6).confirms(repeats=False)
    assert not Cycles(nan, nan, nan, nan).confirms(repeats=False)


def test_without_llvm_mca_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ValueError, match="apt-get install llvm-19, or say --no-confirm"):
        Confirmer("atom")


@needs_as
def test_what_an_older_processor_executes_is_asked_about(binary: str) -> None:
    """`rep bsf` runs as `bsf` on atom, which llvm-mca does not say."""
    texts = ["movq (%rdi), %rax", "rep bsfq %rax, %rcx", "imulq %rcx, %rdx", "leaq 3(%rsi), %r8", "imulq %r8, %rdx"]
    order = (0, 3, 1, 2, 4)
    newer, older = (code("\n".join(texts).replace("rep bsfq", name)) for name in ("rep bsfq", "bsfq"))
    assert newer != older
    first, second = Confirmer("atom").cycles([NewOrder(each, order, Terminator()) for each in (newer, older)])
    assert first == second and first.confirms(False)
    [unknown] = Confirmer("atom").cycles([NewOrder(bytes.fromhex("f30fb8c890"), (1, 0), Terminator())])
    assert not unknown.confirms(False)


@pytest.mark.parametrize(
    ("instruction", "has_llvm_mca", "remedy"),
    [
        ("f30fb8c8", True, "take --by imitator, or --for silvermont"),  # popcnt, which other models know
        ("f30fb8c8", False, "take --by imitator, or --for silvermont"),
        ("e410", False, "install llvm-mca 19, which measures them (apt-get install llvm-19, as root), or take --by i"),
        ("0f0b", True, "take --by imitator"),
    ],
)
def test_the_remedy_for_an_unknown_instruction_is_true(
    instruction: str, has_llvm_mca: bool, remedy: str, binary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llvm_mca, "find", lambda: binary if has_llvm_mca else None)
    fault = Orderer("list", "atom", "tso").unknown("lines 1-2", bytes.fromhex(instruction))
    assert fault.place == "lines 1-2" and fault.remedy.startswith(remedy), fault
    assert has_llvm_mca <= ("install" not in fault.remedy)
    assert fault.reason.startswith("the model of atom does not know ")
