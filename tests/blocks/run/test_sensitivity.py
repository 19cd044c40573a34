"""Outcomes of swaps of neighbours, for pairs with a known outcome."""

import pytest

from learned_schedulers.blocks.run.native import Native
from learned_schedulers.blocks.run.sensitivity import Swap, swaps
from learned_schedulers.blocks.run.verification_settings import Verification
from tests.blocks.run.conftest import SETTINGS, block


def outcome(
    native: Native, text: str, position: int = 0, mode: str = "full", settings: Verification = SETTINGS
) -> Swap:
    block_swaps = swaps(native, block(text), [mode], settings)
    return next(swap for swap in block_swaps if swap.position == position)


@pytest.mark.parametrize(
    "text",
    [
        "mov %rax, %rcx\n add %rcx, %rdx",
        "mov %rcx, %rdx\n mov %rax, %rcx",
        "mov $1, %eax\n mov $2, %eax",
        "mov %rax, (%rsi)\n mov 8(%rdi), %rcx",  # the addresses must be made equal
        "mov %rax, 16(%rsi)\n mov %ecx, 8(%rdi, %rdx, 4)",
        "mov %rax, (%rsp)\n mov %rcx, 0x1000(%rip)",
        "mov 8(%rsi, %rcx), %rax\n mov %rdx, (%rsi)",  # the same base: only the index can make the operands overlap
        "cmp %rax, %rcx\n sete %dl",
        "movss (%rax), %xmm0\n vaddps %ymm0, %ymm1, %ymm2",
        "fld %st(1)\n fmul %st, %st(2)",
        "add $8, %rsp\n push %rax",
        "and $7, %ecx\n cld\n rep stosb",  # from states in which the direction flag is set
    ],
)
def test_a_real_dependency_is_detected(native: Native, text: str) -> None:
    assert outcome(native, text, position=text.count("\n") - 1).outcome == "changed"


def test_a_value_that_the_rest_hides_is_dead(native: Native) -> None:
    swap = outcome(native, "mov %rax, %rcx\n mov %rcx, %rdx\n xor %edx, %edx")
    assert swap.outcome == "dead value"


def test_values_that_hide_a_dependency_are_a_coincidence(native: Native) -> None:
    # Both are 0 when the pair begins.
    swap = outcome(native, "xor %eax, %eax\n mov %rax, %rcx\n mov %rax, %rdx\n or %rcx, %rdx\n mov %rdx, %rcx", 3)
    assert swap.outcome == "value coincidence"


@pytest.mark.parametrize("text", ["mulsd %xmm0, %xmm1\n ucomisd %xmm1, %xmm1", "pand %mm4, %mm2\n psrlq %mm2, %mm0"])
def test_infinities_and_small_counts_are_tried(native: Native, text: str) -> None:
    thorough = SETTINGS.model_copy(update={"search_states": 64})
    assert outcome(native, text, settings=thorough).outcome in ("changed", "value coincidence")


@pytest.mark.parametrize(
    ("text", "explanation"),
    [
        ("push $0\n push $0", "identical"),
        ("xor %eax, %eax\n xor %ecx, %ecx", "same constants"),
        ("mov %eax, %ecx\n cltq", "in place"),
        ("cmove %eax, %ebx\n imul %edx, %ecx", "undefined"),
        ("setb %sil\n sbb %ecx, %ecx", "keeps the carry"),
        ("fld %st(0)\n fldcw (%rax)", "control word"),
        ("paddd %xmm1, %xmm0\n paddd %xmm2, %xmm0", "commute"),
        ("movb $0, (%rax)\n movb $0, (%rcx)", "same value"),
        ("sar $2, %eax\n cltd", "keeps the sign"),
        ("pshufw $255, %mm0, %mm1\n pshufw $255, %mm0, %mm0", "its own result"),
        ("cmovl %edx, %edx\n mov %edx, %edi", "in place"),
        ("lea 32(%rbx, %rcx), %rcx\n prefetcht0 (%rcx)", "prefetch"),
        ("mfence\n mov %rax, %rcx", "barrier"),
        ("lock incl (%rax)\n mov (%rcx), %edx", "locked"),
    ],
)
def test_unnecessary_edges_have_a_reason(native: Native, text: str, explanation: str) -> None:
    swap = outcome(native, text)
    if swap.outcome == "changed":
        # The operands did overlap; or this processor gives a flag that the manual leaves undefined another value.
        assert explanation in ("locked", "undefined")
    else:
        assert swap.outcome == "over-conservative edge" and explanation in swap.explanation


def test_edges_of_disjoint_addresses_are_in_the_conservative_mode_only(native: Native) -> None:
    text = "mov %rax, 8(%rsp)\n mov 16(%rsp), %rcx"
    swap = outcome(native, text, mode="conservative")
    assert (swap.outcome, swap.explanation) == ("over-conservative edge", "addresses never meet")
    assert not swaps(native, block(text), ["full"], SETTINGS)


def test_swaps_are_the_same_every_time(native: Native) -> None:
    example = block("mov %rax, (%rsi)\n mov (%rdi), %rcx\n add %rcx, %rdx\n and $1, %rdx")
    assert swaps(native, example, ["full"], SETTINGS) == swaps(native, example, ["full"], SETTINGS)
