"""Versions of functions by compilers with other options: the program computes the same, or one is left alone."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from learned_schedulers.blocks.before_allocation.emitters import Emitters
from learned_schedulers.blocks.before_allocation.functions import NotProven
from learned_schedulers.blocks.before_allocation.single_function import movable
from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.tuning import candidates
from learned_schedulers.tuning.apply import tuned_object
from learned_schedulers.tuning.hot_file import OPTIONS, Call, Choice, HotFile, neighbours
from learned_schedulers.tuning.objects import NotSeparable, symbols
from learned_schedulers.tuning.tuned_orders import Tuned

CLANG = shutil.which("clang-19") or shutil.which("clang") or ""
pytestmark = pytest.mark.skipif(not CLANG, reason="clang is not installed")

CODE = """
#include <stdio.h>
static const long nil = 5, primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
static long calls;
static __attribute__((noinline)) long halved(long unused, const long *p, long n) {
    long sum = 0;
    for (long i = 0; i < n; i++) sum = sum * 31 + (p[i] ^ primes[i & 7]);
    return sum;
}
__attribute__((noinline)) const long *looked(const long *p, long n) {
    for (long i = 0; i < n; i++) if (p[i] == 77) return p + i;
    return &nil;
}
__attribute__((noinline)) long counted(const long *p, long n) {
    long sum = ++calls;
    for (long i = 0; i < n; i++) sum += p[i] * primes[i & 7];
    return sum;
}
__attribute__((noinline)) long added(const long *p, long n, int up) {
    long sum = up;
    if (n > 99) fputs("many", stderr);
    for (long i = 0; i < n; i++) sum += p[i] * primes[i & 7];
    return sum;
}
static __attribute__((noinline)) long peeked(const long *p, long n) { return *p * n + (*p ^ 77); }
__attribute__((noinline)) long peeking(const long *p, long n) {
    long sum = 0;
    for (long i = 0; i < n; i++) sum += peeked(p + i, i + sum);
    return sum;
}
#ifdef __clang__
__attribute__((noinline))
#endif
static long once(const long *p, long n) {
    long sum = 0;
    for (long i = 0; i < n; i++) for (long j = 0; j < i; j++) sum = sum * 3 + p[i] / (p[j] | 1);
    return sum;
}
int main(int count, char **words) {
    long a[100], sum = 0;
    for (int i = 0; i < 100; i++) a[i] = i * 7919 + count;
    for (int i = 0; i < 50; i++) {
        sum += halved(sum, a, 90 + (i & 7)) + counted(a, i) + added(a, i, i & 1) + (looked(a, i) == &nil) + once(a, i);
        a[i] = sum + peeking(a, i);
    }
    printf("%ld\\n", sum);
}
"""
WAYS = [
    *("gcc", "gcc -O3 -funroll-loops", "gcc -O1 -mtune=haswell -fno-gcse", "clang", "llvm list-ilp"),
    *("llvm default -O3 -funroll-loops", "llvm top-down -O1 -mtune=znver3", "llvm default -O2 -fno-vectorize"),
]


class _Program:
    def __init__(self, folder: Path, emitters: Emitters) -> None:
        self.folder, self.emitters = folder, emitters
        (folder / "code.c").write_text(CODE)
        words = ("gcc", "-O2", "-c", "code.c")
        subprocess.run([CLANG, *words[1:], "-emit-llvm", "-o", "code.bc"], cwd=folder, check=True)
        call = Call("gcc", str(folder), words, {"gcc": "gcc", "clang": CLANG})
        self.file = HotFile((folder / "code.bc").read_bytes(), "code.c", call)

    def says(self, versions: Mapping[str, str | Choice]) -> str:
        """What the program prints with versions of some functions; its stack holds no code."""
        choices = {name: Choice(how) if isinstance(how, str) else how for name, how in versions.items()}
        (self.folder / "code.o").write_bytes(self.file.built(choices, self.emitters))
        subprocess.run(["gcc", "code.o", "-o", "program"], cwd=self.folder, check=True)
        segments = subprocess.run(["readelf", "-lW", "program"], cwd=self.folder, capture_output=True, text=True)
        assert "GNU_STACK" in segments.stdout and "RWE" not in segments.stdout
        return subprocess.run(["./program"], cwd=self.folder, capture_output=True, text=True, check=True).stdout


def symbols_of(content: bytes) -> set[str]:
    """The symbols that an object defines."""
    with tempfile.NamedTemporaryFile(suffix=".o") as file:
        Path(file.name).write_bytes(content)
        return symbols(Path(file.name))["defined"]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Program]:
    with Emitters(2) as emitters:
        yield _Program(tmp_path_factory.mktemp("program"), emitters)


@pytest.mark.parametrize("how", WAYS)
def test_a_version_computes_the_same(program: _Program, how: str) -> None:
    usual = program.says({})
    for name in ("added", *(("halved", "looked", "counted") if how.startswith("llvm") else ())):
        assert program.says({name: how}) == usual


def test_variables_of_libraries_may_be_far_away(program: _Program) -> None:
    """The judge's images lie near the program, whose compiler may leave them where the library has them."""
    (program.folder / "version.o").write_bytes(program.file.version("added", Choice("gcc"), program.emitters))
    rows = subprocess.run(["readelf", "-rW", "version.o"], cwd=program.folder, capture_output=True, text=True).stdout
    kinds = [line.split()[2] for line in rows.splitlines() if "stderr" in line]
    assert kinds and all("GOTPCREL" in kind for kind in kinds)


def test_a_function_that_gcc_inlines_has_a_version_of_its_own(program: _Program) -> None:
    assert "once" not in symbols_of(program.file.whole("gcc")) and "once" in program.file.functions
    assert program.says({"once": "gcc"}) == program.says({})


@pytest.mark.parametrize(
    ("name", "how", "reason"),
    [
        ("halved", "gcc", "LLVM has changed its arguments"),  # GCC would expect one that nobody hands on
        ("looked", "gcc", "the address of @nil may matter"),  # GCC's version would have another nil
        ("counted", "gcc -O3", "the address of @calls may matter"),
        ("peeking", "llvm default -O3", "it reaches @peeked"),  # which takes a value there, and a pointer here
        ("added", "gcc -fplugin=evil.so", "tune never chooses the option -fplugin=evil.so"),
        ("added", "llvm default -fpass-plugin=evil.so", "tune never chooses the option -fpass-plugin=evil.so"),
    ],
)
def test_what_may_not_be_exchanged_is_left_alone(program: _Program, name: str, how: str, reason: str) -> None:
    with pytest.raises(NotSeparable, match=reason):
        program.says({name: how})


@pytest.mark.parametrize("rest", ["gcc", "gcc -O3"])
def test_gcc_compiles_the_rest(program: _Program, rest: str) -> None:
    usual = program.says({})
    assert program.says({"": rest}) == usual
    for how in ("llvm list-ilp -O3", "gcc -O1 -funroll-loops", "clang"):
        assert program.says({"": rest, "added": how}) == usual
        called = subprocess.run(["objdump", "-d", "program"], cwd=program.folder, capture_output=True, text=True).stdout
        assert called.count("<added>:") == 1 and "<added>\n" in called
    with pytest.raises(NotSeparable, match="counted reaches calls, which is GCC's own"):
        program.says({"": rest, "counted": "llvm list-ilp"})


def test_later_builds_have_the_same_bytes(program: _Program) -> None:
    choices = {"": Choice("gcc"), "added": Choice("llvm list-ilp -O3")}
    of_function = Tuned("code.c", "added", program.file.fingerprint("added"), choices["added"], 0.9)
    content, changed = tuned_object(program.file, [Tuned("code.c", "", "", choices[""], 1.0), of_function])
    assert content == program.file.built(choices, program.emitters) and not changed
    rest_alone = [Tuned("code.c", "", "", choices[""], 1.0), of_function._replace(fingerprint="another")]
    content, changed = tuned_object(program.file, rest_alone)
    assert content == program.file.whole("gcc") and changed == ["added"]


def test_an_order_upon_other_options_is_proven_and_computes_the_same(program: _Program) -> None:
    how = "llvm top-down -O3 -funroll-loops"
    function = program.file.code(how).functions["added"]
    index = max(range(len(function.blocks)), key=lambda number: len(function.blocks[number].items))
    can_move = movable(program.file.code(how).module, function).precedes(index)
    order = random_ready(can_move[None], np.random.default_rng(0))[0]
    assert order.tolist() != sorted(order)
    program.file.prove("added", Choice(how, ((index, tuple(order.tolist())),)))
    with pytest.raises(NotProven):
        program.file.prove("added", Choice(how, ((index, tuple(order[::-1].tolist())),)))
    assert program.says({"added": Choice(how, ((index, tuple(order.tolist())),))}) == program.says({})


def test_neighbours_differ_in_one_word() -> None:
    ways = neighbours("llvm default -O3")
    assert "llvm default" in ways and "llvm default -O1" in ways and "llvm top-down -O3" in ways
    assert "llvm default -O3 -mtune=haswell" in ways and "llvm default -O3" not in ways
    assert len(neighbours("gcc")) == sum(map(len, OPTIONS["gcc"])) and neighbours("clang") == []


def test_a_table_of_bytes_names_nothing() -> None:
    table = '@bytes = internal unnamed_addr constant [6 x i8] c"@ABCD\\00"\n@seen = external global i32\n'
    text = f"{table}define i32 @f() {{\n  %1 = load i32, ptr @seen\n  %2 = call i32 @g(ptr @bytes)\n  ret i32 %1\n}}\n"
    assert candidates.externals(text, "@f") == ["@bytes", "@g", "@seen"]
    assert candidates.addresses(text) == {"@bytes", "@seen"}
