import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.blocks.run.machine_code import assemble
from learned_schedulers.blocks.run.strata import choose, equal_shares, instruction_class, length_class


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mov %rax, %rcx\n add %rcx, %rdx", "integer"),
        ("add %rax, %rcx\n adc %rdx, %rbx", "flags"),
        ("cmp %rax, %rcx\n cmovb %rdx, %rbx", "flags"),
        ("addps %xmm0, %xmm1\n adc %rdx, %rbx", "SSE"),
        ("vaddps %ymm0, %ymm1, %ymm2\n addps %xmm0, %xmm1", "AVX"),
        ("andn %rax, %rbx, %rcx", "integer"),  # VEX without a vector register
        ("fld1\n addps %xmm0, %xmm1", "x87/MMX"),
        ("paddd %mm0, %mm1", "x87/MMX"),
        ("rep stosq\n fld1", "string"),
        ("std\n cld", "integer"),
    ],
)
def test_a_block_has_the_class_of_its_rarest_instruction(text: str, expected: str) -> None:
    assert instruction_class(assemble(text).code) == expected


@pytest.mark.parametrize(
    ("n", "expected"), [(2, "2-4"), (4, "2-4"), (5, "5-8"), (16, "9-16"), (17, "17-32"), (64, "33-64")]
)
def test_lengths_fall_into_bins(n: int, expected: str) -> None:
    assert length_class(n) == expected


@given(st.lists(st.integers(0, 30), max_size=12), st.integers(0, 200))
def test_shares_are_as_equal_as_the_strata_allow(sizes: list[int], total: int) -> None:
    shares = equal_shares(sizes, total)
    assert sum(shares) == min(total, sum(sizes))
    assert all(0 <= share <= size for share, size in zip(shares, sizes, strict=True))
    limited = [share for share, size in zip(shares, sizes, strict=True) if share < size]
    assert not limited or max(shares) <= min(limited) + 1


def blocks() -> pd.DataFrame:
    codes = {"integer": assemble("nop\n nop").code, "SSE": assemble("nop\n addps %xmm0, %xmm1").code}
    rows = [
        (f"{source}-{kind}-{i:03}", source, 2, codes[kind])
        for source, kind, count in (("a", "integer", 50), ("a", "SSE", 5), ("b", "integer", 20))
        for i in range(count)
    ]
    return pd.DataFrame(rows, columns=["block_id", "source", "n_instructions", "code"])


def test_the_choice_is_even_and_fixed_by_the_seed() -> None:
    choice = choose(blocks(), 25, seed=1)
    assert choice.groupby(["source", "instruction_class"]).size().to_dict() == {
        ("a", "SSE"): 5,
        ("a", "integer"): 10,
        ("b", "integer"): 10,
    }
    shuffled = blocks().sample(frac=1, random_state=3)
    pd.testing.assert_frame_equal(choice, choose(shuffled, 25, seed=1))
    assert list(choice["block_id"]) != list(choose(blocks(), 25, seed=2)["block_id"])
    # The first rows are a smaller choice, with equal shares as well.
    assert choice.head(6).groupby(["source", "instruction_class"]).size().tolist() == [2, 2, 2]
