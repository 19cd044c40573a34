"""GCC's function stands in for LLVM's where it is shown to compute the same; elsewhere the reason is reported."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.before_allocation import gcc
from benchmarks.before_allocation.bench import Bench
from benchmarks.before_allocation.gcc import FORMS, OfGcc
from benchmarks.before_allocation.subject import subject
from benchmarks.before_allocation.table import Entry, of_file, write
from learned_schedulers.blocks.before_allocation.drawn_inputs import conditions
from learned_schedulers.blocks.before_allocation.image import NotDefined

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="GCC is not installed")

SOURCE = """
#include "steps.h"
static const long table[4] = {3, 5, 7, 11};
static long counter;
long outside(long);

long same(const long *p, long n) { return STEPS(p, n) + table[n & 3]; }
__attribute__((noinline)) long steps(const long *p, long n) { return STEPS(p, n); }
long through(const long *p, long n) { return steps(p, n) + table[n & 3]; }
long other(const long *p, long n) { return STEPS(p, n) + table[n & 1]; }
long swapped(long n, const long *p) { return same(p, n); }
long calls(const long *p, long n) { return STEPS(p, n) + outside(n); }
long counts(const long *p, long n) { return counter += STEPS(p, n); }
static long local(const long *p, long n) { return same(p, n); }
long of_local(const long *p) { return local(p, 2); }
double chain(const double *p, double a) { double ab = a * p[0]; ab = ab + p[1]; return ab; }
double unlike(const double *p, double a) { double ab = a * p[0]; ab = ab - p[1]; return ab; }
"""
TARGET = 'target triple = "x86_64-pc-linux-gnu"\n'
FEATURES = 'attributes #0 = { "target-cpu"="haswell" "target-features"="+avx2,+bmi2,+fma" }\n'
SAME = f"""{TARGET}
@table = private constant [4 x i64] [i64 3, i64 5, i64 7, i64 11]
define i64 @NAME(ptr %p, i64 %n) #0 {{
  %v = load i64, ptr %p
  %twice = mul i64 %v, %n
  %at = getelementptr i64, ptr %p, i64 1
  %w = load i64, ptr %at
  %sum = add i64 %twice, %w
  %index = and i64 %n, 3
  %place = getelementptr [4 x i64], ptr @table, i64 0, i64 %index
  %constant = load i64, ptr %place
  %r = add i64 %sum, %constant
  ret i64 %r
}}
{FEATURES}"""
CHAIN = f"""{TARGET}
define double @NAME(ptr %p, double %a) #0 {{
  %b = load double, ptr %p
  %at = getelementptr double, ptr %p, i64 1
  %c = load double, ptr %at
  %ab = fmul double %a, %b
  %r = fadd double %ab, %c
  ret double %r
}}
{FEATURES}"""
PROJECT = {"include": ["include"], "flags": "-DSTEPS(p,n)=((p)[0]*(n)+(p)[1])"}


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with Bench() as processes:
        yield processes


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of sources with the project `tiny`."""
    folder = tmp_path / "sources" / "tiny"
    (folder / "include").mkdir(parents=True)
    (folder / "include" / "steps.h").write_text("")
    (folder / "part.c").write_text(SOURCE)
    monkeypatch.setattr(gcc, "PROJECTS", {"tiny": PROJECT})
    return tmp_path


def answer(cache: Path, bench: Bench, name: str, text: str = SAME, project: str = "tiny") -> OfGcc:
    """GCC's function of this name beside LLVM's of this text."""
    path = cache / f"tiny.part.{name}.ll"
    path.write_text(text.replace("NAME", name))
    entry = Entry(path.stem, "training", "kind", project, "1", "part.c", name, "", 9, 9, "0")
    write([entry], cache / "functions.csv")
    of = subject(path)
    return gcc.images(of_file(path), cache, of, conditions(of, bench.native, bench.emitter), bench)


@pytest.mark.parametrize("name", ["same", "local", "through"])
def test_the_same_function_is_measured(name: str, cache: Path, bench: Bench) -> None:
    """Also where GCC inlined it everywhere, or did not inline what it calls."""
    of_gcc = answer(cache, bench, name)
    assert of_gcc.note == "the same" and list(of_gcc.images) == list(FORMS)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("other", "it computes something else"),
        ("swapped", "it does"),  # run, as a number is no address
        ("calls", "it needs outside"),
        ("counts", "it needs memory that it may write"),
        ("absent", "the file does not define absent"),
    ],
)
def test_what_is_not_the_same_is_left_out(name: str, reason: str, cache: Path, bench: Bench) -> None:
    of_gcc = answer(cache, bench, name)
    assert not of_gcc.images and of_gcc.note.startswith(reason)


def test_one_rounding_less_is_no_other_function(cache: Path, bench: Bench) -> None:
    """GCC multiplies and adds in one rounding where LLVM's code has two; another sum is noticed all the same."""
    assert answer(cache, bench, "chain", CHAIN).note == "the same, if products are rounded"
    assert answer(cache, bench, "unlike", CHAIN).note.startswith("it computes something else")


def test_a_file_that_does_not_compile_is_reported(cache: Path, bench: Bench) -> None:
    (cache / "sources" / "tiny" / "part.c").write_text("#error of its author\n")
    assert "of its author" in answer(cache, bench, "same").note
    assert answer(cache, bench, "same", project="generated").note == "it has no C"


@pytest.mark.slow
def test_only_what_a_function_reaches_is_placed(cache: Path) -> None:
    """Other functions of the file could not be placed."""
    row = Entry("", "", "", "tiny", "", "part.c", "through", "", 0, 0, "")
    for form in gcc.compiled(row, cache / "sources" / "tiny").values():
        names = {form.layout.sections[index].name for index in form.reached}
        assert names == {".text.steps", ".text.through", ".rodata.table"}
    with pytest.raises(NotDefined, match="absent"):
        gcc.compiled(row._replace(function="absent"), cache / "sources" / "tiny")
