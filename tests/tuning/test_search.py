"""Orders that are outcome in the running program are legal, and the program computes the same by them."""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from learned_schedulers.blocks.before_allocation import learned_search
from learned_schedulers.blocks.before_allocation.emitters import Emitters
from learned_schedulers.blocks.before_allocation.functions import NotProven
from learned_schedulers.tuning.benchmark import Benchmark
from learned_schedulers.tuning.hot_file import Call, Choice, HotFile
from learned_schedulers.tuning.judging import SOURCE, Judge, Site
from learned_schedulers.tuning.search import Search, versions
from tests.blocks.before_allocation.code import HEADER, crowded

MAIN = """
#include <stdint.h>
#include <stdio.h>
uint64_t crowded(uint64_t *p, uint64_t n);
int main(void) {
    uint64_t words[64], sum = 0;
    for (int i = 0; i < 64; i++) words[i] = 0x9e3779b97f4a7c15u * (i + 1);
    for (int i = 0; i < 300000; i++) sum = 3 * sum + crowded(words, i);
    printf("%lx\\n", sum);
}
"""


def test_orders_are_legal_and_the_program_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(MAIN)
    program = [str(tmp_path / "program")]

    def linked(content: bytes) -> str:
        (tmp_path / "f.o").write_bytes(content)
        subprocess.run(["gcc", "-O1", "main.c", "f.o", str(SOURCE), "-o", "program"], cwd=tmp_path, check=True)
        return subprocess.run(program, check=True, capture_output=True, text=True).stdout

    with Emitters(1) as emitters:
        file = HotFile((HEADER + crowded(24)).encode(), "code.c", Call("gcc", ".", ("gcc",), {}))
        before = linked(emitters.object_file("default", file.text, "code"))
        ready, reasons = versions(file, "crowded", emitters, [])
        assert {choice.how for choice in ready} >= {"llvm default", "llvm unscheduled"} and len(reasons) == 2
        names = file.externals("crowded", list(ready.values()))
        linked(file.with_versions({"crowded": file.dispatched("crowded", names, "crowded", emitters)}, emitters))
        judge = Judge(Benchmark(str(tmp_path / "program"), tmp_path), tmp_path / "judge")
        site = Site("crowded", 0, "crowded", tuple(names))
        learned = partial(learned_search.search, weights=learned_search.read())
        outcome = Search(file, site, judge, emitters, np.random.default_rng(0)).run(ready, learned, 10)
        assert outcome.judged > 40 and 0 < outcome.best[0].ratio <= 1.1 and 0 <= outcome.control < 1
        of_orders = [each.choice for each in outcome.best if each.choice.orders]
        assert of_orders
        for choice in of_orders:
            file.prove("crowded", choice)
            assert (
                linked(file.with_versions({"crowded": file.version("crowded", choice, emitters)}, emitters)) == before
            )
        (block, order), *_ = of_orders[0].orders
        with pytest.raises(NotProven):
            file.prove("crowded", Choice("llvm default", ((block, order[::-1]),)))
