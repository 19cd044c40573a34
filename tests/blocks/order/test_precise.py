"""At a fault, a handler finds what it would have found in the code as it was: under `precise`, and not under `tso`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from learned_schedulers.blocks.dag.memory_order import MemoryOrder
from tests.blocks.read.assembled import document, needs_gcc
from tests.blocks.read.random_orders import random_orders

pytestmark = needs_gcc
HEAD = "\t.text\n\t.globl steps\n\t.type steps, @function\nsteps:\n"
FAULTS = {  # rdi: a page, followed by one that cannot be accessed; esi: zero
    "a load": "\tmovl $1, (%rdi)\n\tmovl $2, 64(%rdi)\n\tmovl 4096(%rdi), %eax\n\tmovl $3, 128(%rdi)\n\tret\n",
    "a division": "\tmovl $1, (%rdi)\n\txorl %edx, %edx\n\tmovl $9, %eax\n\tdivl %esi\n\tmovl $3, 128(%rdi)\n\tret\n",
}
MAIN = r"""
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
int steps(int *page, int zero);
static sigjmp_buf back;
static void handler(int number) { siglongjmp(back, number); }
int main(void) {
    int *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect((char *)page + 4096, 4096, PROT_NONE);
    signal(SIGSEGV, handler);
    signal(SIGFPE, handler);
    int number = sigsetjmp(back, 1);
    if (!number) steps(page, 0);
    printf("%d: %d %d %d\n", number, page[0], page[16], page[32]);
}
"""


def printed(folder: Path, content: bytes) -> str:
    """What the program prints after a fault in `steps`."""
    (folder / "steps.s").write_bytes(content)
    subprocess.run(["gcc", "main.o", "steps.s", "-o", "program"], cwd=folder, check=True, capture_output=True)
    return subprocess.run([folder / "program"], capture_output=True, text=True, timeout=10, check=True).stdout


def orders_printed(folder: Path, text: str, memory: MemoryOrder) -> set[str]:
    """The same for eight random legal orders."""
    file = document(text)
    orders = [random_orders(file, memory, np.random.default_rng(seed)) for seed in range(8)]
    return {printed(folder, file.rewritten(order)) for order in orders}


@pytest.mark.parametrize("name", FAULTS)
def test_a_handler_finds_the_accesses_before_the_fault(name: str, tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(MAIN)
    subprocess.run(["gcc", "-c", "main.c"], cwd=tmp_path, check=True, capture_output=True)
    text = f"{HEAD}{FAULTS[name]}\t.size steps, .-steps\n"
    as_it_was = printed(tmp_path, text.encode())
    assert as_it_was.split(":")[0] in ("8", "11")
    assert orders_printed(tmp_path, text, "precise") == {as_it_was}
    assert len(orders_printed(tmp_path, text, "tso")) > 1  # the test sees what `tso` lets differ
