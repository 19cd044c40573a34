"""Orders that are found in the running program are legal, and the program computes the same by them."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import numpy as np

from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.before_allocation.costs import Limits, counts
from learned_schedulers.blocks.before_allocation.functions import functions, prove, reordered
from learned_schedulers.blocks.before_allocation.llvm import Emitter
from learned_schedulers.blocks.before_allocation.single_function import Module, single_function
from learned_schedulers.tuning.candidates import alone, externals
from learned_schedulers.tuning.dispatcher import with_dispatcher
from learned_schedulers.tuning.judging import SOURCE, bursts
from learned_schedulers.tuning.search import Site, search
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

    text = llvm.read((HEADER + crowded(24)).encode(), "code", aliases=False).text
    [function] = functions(text)
    with Emitter() as emitter:
        module = Module.of(text)
        of_module = single_function(module, function, emitter, counts(emitter.assembly(text, "code"))["crowded"])
        before = linked(emitter.object_file(text, "code"))
        single = alone(module.parts, "@crowded")
        assert externals(single, "@crowded") == []
        linked(emitter.object_file(with_dispatcher(text, "@crowded", [], "crowded"), "code"))
        improved = search(
            of_module, single, Site("crowded", 0, ()), lambda images: bursts(program, images, tmp_path),
            emitter, Limits(60, time.monotonic() + 60), np.random.default_rng(0),
        )  # fmt: skip
        assert improved.candidates > 20 and 0 < improved.ratio <= 1 and 0 <= improved.control < 1
        after = reordered(text, [(function.blocks[index], order) for index, order in improved.orders.items()])
        dags = {("crowded", function.blocks[index].label): of_module.precedes(index) for index in improved.orders}
        prove(text, after, dags)
        assert linked(emitter.object_file(after, "code")) == before
