"""A small project with a Makefile, and stand-ins for clang and perf: intermediate code is written by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# GCC's versions wait for their loads, so that LLVM's are faster on any processor (-O0 alone is not: newer ones rename
# memory).
HOT_C = """
#include <stdint.h>
static uint64_t calls;
uint64_t calls_of_mix(void) { return calls; }
__attribute__((noinline, optimize("O0"))) uint64_t mix(const uint64_t *p, uint64_t n) {
    uint64_t a = p[0] * 3 + n, b = p[1] ^ a, c = p[2] + (b << 7);
    __asm__ volatile("lfence");
    calls++;
    return a * b + c;
}
"""
OTHER_C = """
#include <stdint.h>
__attribute__((optimize("O0"))) uint64_t other(uint64_t n) {
    for (int i = 0; i < 40; i++) { n = n * 5 + 1; __asm__ volatile("lfence"); }
    return n;
}
"""
HOT_LL = """
@calls = internal global i64 0
define i64 @calls_of_mix() { %a = load i64, ptr @calls ret i64 %a }
define i64 @mix(ptr %p, i64 %n) noinline uwtable {
  %p0 = load i64, ptr %p
  %a0 = mul i64 %p0, 3
  %a = add i64 %a0, %n
  %at1 = getelementptr i64, ptr %p, i64 1
  %p1 = load i64, ptr %at1
  %b = xor i64 %p1, %a
  %at2 = getelementptr i64, ptr %p, i64 2
  %p2 = load i64, ptr %at2
  %c0 = shl i64 %b, 7
  %c = add i64 %p2, %c0
  %d = load i64, ptr @calls
  %e = add i64 %d, 1
  store i64 %e, ptr @calls
  %f = mul i64 %a, %b
  %g = add i64 %f, %c
  ret i64 %g
}
"""
OTHER_LL = """
define i64 @other(i64 %n) noinline uwtable {
start:
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %j, %loop ]
  %x = phi i64 [ %n, %start ], [ %z, %loop ]
  %y = mul i64 %x, 5
  %z = add i64 %y, 1
  %j = add i64 %i, 1
  %over = icmp eq i64 %j, 40
  br i1 %over, label %end, label %loop
end:
  ret i64 %z
}
"""
MAIN_C = """
#include <stdint.h>
#include <stdio.h>
uint64_t mix(const uint64_t *, uint64_t), other(uint64_t), calls_of_mix(void);
int main(void) {
    uint64_t words[3] = {1, 2, 3}, sum = 0;
    for (int i = 0; i < 8000000; i++) { sum += mix(words, sum); if (i % 32 == 0) sum ^= other(sum); }
    printf("%lx %lu\\n", sum, calls_of_mix());
}
"""
MAKEFILE = """
CC = gcc
program: main.o hot.o other.o
\t$(CC) main.o hot.o other.o -o program
%.o: %.c
\t$(CC) -O3 -c $< -o $@
clean:
\trm -f *.o program
"""
CLANG = f"""#!{sys.executable}
import pathlib, sys
words = sys.argv[1:]
if "-emit-llvm" not in words:
    sys.exit("this clang writes intermediate code alone")
source = next(word for word in words if word.endswith(".c"))
code = pathlib.Path(source).with_suffix(".ll")
if not code.exists():
    sys.exit(f"{{source}}: error: unknown")
import llvmlite.binding as llvm
pathlib.Path(words[words.index("-o") + 1]).write_bytes(llvm.parse_assembly(code.read_text()).as_bitcode())
"""
PERF = """#!/bin/sh
if [ "$1" = report ]; then echo "  60.00%  [.] mix"; echo "  35.00%  [.] other"; echo "   5.00%  [.] memcpy"; exit; fi
while [ "$1" != -- ]; do shift; done
shift; "$@" > /dev/null
"""


def project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project's folder; clang-99 and perf are the first of the PATH, and the cache is below `folder`."""
    work, tools = folder / "project", folder / "tools"
    work.mkdir()
    tools.mkdir()
    sources = {"hot.c": HOT_C, "hot.ll": HOT_LL, "other.c": OTHER_C, "other.ll": OTHER_LL, "main.c": MAIN_C}
    for name, text in {**sources, "Makefile": MAKEFILE}.items():
        (work / name).write_text(text)
    for name, text in {"clang-99": CLANG, "clang++-99": CLANG, "perf": PERF}.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o700)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    monkeypatch.setenv("LEARNED_SCHEDULERS_CACHE", str(folder / "cache"))
    monkeypatch.chdir(work)
    return work


def output(work: Path) -> str:
    return subprocess.run([str(work / "program")], capture_output=True, text=True, check=True).stdout
