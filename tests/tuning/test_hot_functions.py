"""Samples of a benchmark name its hot functions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from learned_schedulers.tuning.hot_functions import NotSampled, groups, shares

CODE = """
#include <stdlib.h>
static volatile unsigned sum;
__attribute__((noinline)) void hot(unsigned n) { for (unsigned i = 0; i < 9 * n; i++) sum += i; }
__attribute__((noinline)) void mild(unsigned n) { for (unsigned i = 0; i < n; i++) sum ^= i; }
int main(int count, char **words) {
    for (int i = 0; i < 200 * (count > 1); i++) { hot(100000); mild(100000); }
    return count > 1 ? 0 : atoi("3");
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "a.c").write_text(CODE)
    subprocess.run(["gcc", "-O1", "a.c", "-o", "a"], cwd=tmp_path, check=True)
    return tmp_path


def test_the_hottest_is_first(program: Path) -> None:
    try:
        by_symbol = shares("./a long", program, program)
    except NotSampled as error:
        if "exit code 3" in str(error):
            raise
        pytest.skip(f"perf does not sample: {error}")
    assert [*by_symbol][:2] == ["hot", "mild"] and by_symbol["hot"] > 2 * by_symbol["mild"]
    assert sum(by_symbol.values()) < 1.01


def test_a_benchmark_that_fails_is_told(program: Path) -> None:
    with pytest.raises(NotSampled, match=r"exit code|perf is missing"):
        shares("./a", program, program)


def test_functions_that_call_each_other_are_searched_apart() -> None:
    share = {"compress": 0.2, "sort": 0.3, "compare": 0.4, "huffman": 0.1, "crc": 0.01}
    mentioned = {"compress": {"between", "huffman"}, "between": {"sort"}, "sort": {"compare", "sort"}}
    assert groups(share, mentioned) == [["compare", "huffman"], ["sort"], ["compress"], ["crc"]]
