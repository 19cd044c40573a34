"""Functions with dispatchers in programs: whatever calls them, the program computes what it did, by every candidate."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.before_allocation.llvm import Emitter
from learned_schedulers.blocks.before_allocation.single_function import Parts
from learned_schedulers.tuning.benchmark import Benchmark, BenchmarkError
from learned_schedulers.tuning.candidates import alone
from learned_schedulers.tuning.dispatcher import NotDispatchable, with_dispatcher
from learned_schedulers.tuning.images import NotPlaceable, Settings, image
from learned_schedulers.tuning.judging import BURST, FOLDER, SOURCE, Judge, Site, ticks

# Each adds to a variable of the program, calls or reads something of it, and has constants of its own.
CODE = """
@total = global i64 0
@calls = internal global i64 0
@table = internal unnamed_addr constant [4 x i64] [i64 3, i64 5, i64 7, i64 11]
@external = external global i64
declare i64 @strlen(ptr)
declare i32 @callback(i32)

define i64 @plain(i64 %x) nounwind uwtable {
  %a = load i64, ptr @total
  %b = add i64 %a, %x
  store i64 %b, ptr @total
  %c = load i64, ptr @calls
  %d = add i64 %c, 1
  store i64 %d, ptr @calls
  %e = and i64 %x, 3
  %at = getelementptr [4 x i64], ptr @table, i64 0, i64 %e
  %f = load i64, ptr %at
  %g = load i64, ptr @external
  %h = add i64 %f, %g
  ret i64 %h
}
define i64 @calls_of_plain() { %a = load i64, ptr @calls ret i64 %a }
define i64 @library(ptr %text) uwtable { %a = call i64 @strlen(ptr %text) %b = mul i64 %a, 3 ret i64 %b }
define { i64, double } @pair(i64 %x, double %y) uwtable {
  %a = insertvalue { i64, double } poison, i64 %x, 0
  %b = fmul double %y, 2.5
  %c = insertvalue { i64, double } %a, double %b, 1
  ret { i64, double } %c
}
define void @large(ptr sret([5 x i64]) %out, ptr byval([3 x i64]) %in) uwtable {
  %a = load i64, ptr %in
  %at = getelementptr i64, ptr %in, i64 2
  %b = load i64, ptr %at
  %c = sub i64 %b, %a
  %last = getelementptr i64, ptr %out, i64 4
  store i64 %c, ptr %last
  ret void
}
define double @many(i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f, i64 %g, i64 %h, double %i, float %j) uwtable {
  %k = sub i64 %g, %h
  %l = sitofp i64 %k to double
  %m = fpext float %j to double
  %n = fmul double %l, %m
  %o = fadd double %n, %i
  ret double %o
}
define i64 @recursive(i64 %n) uwtable {
  %small = icmp ult i64 %n, 2
  br i1 %small, label %end, label %more
more:
  %a = sub i64 %n, 1
  %b = call i64 @recursive(i64 %a)
  %c = sub i64 %n, 2
  %d = call i64 @recursive(i64 %c)
  %e = add i64 %b, %d
  ret i64 %e
end:
  ret i64 %n
}
define i32 @thrown_through(i32 %x) uwtable { %a = call i32 @callback(i32 %x) %b = add i32 %a, 1 ret i32 %b }
define internal i64 @local(i64 %x) nounwind uwtable { %a = mul i64 %x, %x ret i64 %a }
$inline = comdat any
define linkonce_odr dso_local i64 @inline(i64 %x) #0 comdat { %a = add i64 %x, 9 ret i64 %a }
define i64 @calls_local(i64 %x) uwtable { %a = call i64 @local(i64 %x) %b = call i64 @inline(i64 %a) ret i64 %b }
attributes #0 = { nounwind uwtable "frame-pointer"="all" "tune-cpu"="generic" }
"""
MAIN = """
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
struct pair { int64_t x; double y; };
struct five { int64_t of[5]; };
struct three { int64_t of[3]; };
extern "C" {
int64_t external = 100;
extern int64_t total;
int64_t plain(int64_t), calls_of_plain(), library(const char *), recursive(int64_t), calls_local(int64_t);
pair pair_(int64_t, double) __asm__("pair");
five large(three);
double many(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, double, float);
int thrown_through(int);
static jmp_buf back;
int callback(int x) {
    if (x % 3 == 1) throw std::runtime_error("thrown");
    if (x % 3 == 2) longjmp(back, x);
    return x;
}
}
static double work(int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        char text[] = "some letters";
        text[i % 12] = 0;
        pair p = pair_(i, i / 3.);
        sum += plain(i) + library(text) + p.x * p.y + large({{i, 0, 3 * i}}).of[4] + calls_local(i);
        sum += many(1, 2, 3, 4, 5, 6, i, 8, .5, 1.5f) + recursive(i % 8);
    }
    return sum;
}
static int jumps(int i) { return setjmp(back) ? 1000 : thrown_through(i); }
int main() {
    long unusual = 0;
    for (int i = 0; i < 3000; i++)
        try { unusual += jumps(i); } catch (std::runtime_error &) { unusual += 7; }
    double sums[3];
    std::thread one([&] { sums[0] = work(20000); }), two([&] { sums[1] = work(20000); });
    one.join(); two.join();
    std::fflush(stdout);
    if (pid_t child = fork()) {
        int status = 1;
        waitpid(child, &status, 0);
        if (status) return 1;
    } else
        _exit(work(5000) > 0 && plain(1) == 105 ? 0 : 1);
    sums[2] = work(20000);
    std::printf("%ld %a %a %a\\n", unusual, sums[0], sums[1], sums[2]);
}
"""
FUNCTIONS = ["plain", "library", "pair", "large", "many", "recursive", "thrown_through", "local", "inline"]
CANDIDATES = 3


class Program:
    """A program whose functions have dispatchers, and images of their code, three times."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder, self.results = folder, folder / "judge"
        self.results.mkdir()
        text = llvm.read(CODE.encode(), "code", aliases=False).text
        externals = {name: externals_of(name) for name in FUNCTIONS}
        with Emitter() as emitter:
            parts = Parts(text)
            self.objects = {
                name: [emitter.object_file(alone(parts, f"@{name}"), name)] * CANDIDATES for name in FUNCTIONS
            }
            for name in FUNCTIONS:
                text = with_dispatcher(text, f"@{name}", [f"@{each}" for each in externals[name]], name)
            (folder / "code.o").write_bytes(emitter.object_file(text, "code"))
        (folder / "main.cc").write_text(MAIN)
        subprocess.run(["gcc", "-O2", "-c", str(SOURCE), "-o", "judge.o"], cwd=folder, check=True)
        command = ["g++", "-O1", *options, "main.cc", "code.o", "judge.o", "-o", "program", "-lpthread"]
        subprocess.run(command, cwd=folder, check=True)
        self.images = {
            name: image(self.objects[name], name, externals[name], Settings(site, 2000, 1))
            for site, name in enumerate(FUNCTIONS)
        }

    def bursts(self) -> np.ndarray:
        """Of runs with all images."""
        judge = Judge(Benchmark(str(self.folder / "program"), self.folder), self.results)
        return judge.bursts(self.images, dict.fromkeys(range(len(self.images)), (CANDIDATES, 1 << 30)), seconds=2)

    def output(self, **environment: str) -> str:
        run = subprocess.run(
            [str(self.folder / "program")], env=environment, check=True, capture_output=True, text=True
        )
        return run.stdout


def externals_of(name: str) -> list[str]:
    return {
        "plain": ["total", "calls", "external"],
        "library": ["strlen"],
        "recursive": ["recursive"],
        "thrown_through": ["callback"],
    }.get(name, [])


@pytest.fixture(scope="module", params=["-pie", "-no-pie", "-static"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program(tmp_path_factory.mktemp("program"), *([request.param] if request.param else []))


def test_every_candidate_computes_the_same(program: Program) -> None:
    alone = program.output()
    of_run = program.bursts()
    assert program.output(**{FOLDER: str(program.results)}) == alone == program.output(**{FOLDER: "/nowhere"})
    assert of_run.dtype == BURST and len(of_run)
    for site, name in enumerate(FUNCTIONS):
        chosen = of_run[of_run["site"] == site]
        assert len(chosen) > 10, name
        for thread in np.unique(chosen["thread"]):  # rounds of all candidates, the last one not ended
            counts = np.bincount(chosen["candidate"][chosen["thread"] == thread], minlength=CANDIDATES)
            assert counts.max() - counts.min() <= 1 + (name == "plain"), name  # a child begins within a round
    assert (ticks(of_run, FUNCTIONS.index("plain"), CANDIDATES) > 0).all()
    assert len(np.unique(of_run["thread"][of_run["site"] == 0])) >= 3  # two threads and the first one


def test_calls_that_are_few_tell_by_their_places() -> None:
    """A process makes five long calls, each with other work, the same in every process."""
    rng, expected, work = np.random.default_rng(1), np.linspace(1, 1.7, 8), np.array([1.0, 5, 2, 9, 3])
    parts = []
    for number, speed in enumerate(rng.uniform(0.5, 2, 60)):
        part = np.zeros(5, BURST)
        part["position"], part["candidate"], part["calls"] = np.arange(5), rng.permutation(8)[:5], 1
        part["thread"], part["ticks"] = number, 1e6 * speed * work * expected[part["candidate"]]
        parts.append(part)
    values = ticks(np.concatenate(parts), 0, 8)
    assert np.allclose(values / values[0], expected, rtol=1e-3)
    assert np.isnan(ticks(np.concatenate(parts[:4]), 0, 8)).all()  # too few
    values = ticks(np.concatenate([*parts[:4], *(part for part in parts[4:] if 7 not in part["candidate"])]), 0, 8)
    assert np.isnan(values[7]) and np.allclose(values[:7] / values[0], expected[:7], rtol=1e-3)


def test_searches_share_a_run(program: Program) -> None:
    judge = Judge(Benchmark(str(program.folder / "program"), program.folder), program.results, searches=3)
    runs: list[int] = []
    bursts = judge.bursts

    def counted(images: Mapping[str, bytes], required: Mapping[int, tuple[int, int]]) -> np.ndarray:
        runs.append(len(images))
        return bursts(images, required)

    judge.bursts = counted

    def searched(name: str) -> list[float]:
        site = Site(name, FUNCTIONS.index(name), name, tuple(f"@{each}" for each in externals_of(name)))
        try:
            values = [judge.ticks(site, program.objects[name], 1, seed) for seed in range(1 + (name == "plain"))]
            return np.concatenate(values).tolist()
        finally:
            judge.leave()

    with ThreadPoolExecutor(3) as threads:
        of_plain, of_many, of_recursive = threads.map(searched, ("plain", "many", "recursive"))
    assert runs == [3, 1] and len(of_plain) == 2 * CANDIDATES  # the others have left
    assert min(*of_plain, *of_many, *of_recursive) > 0
    judge.stop()
    with pytest.raises(BenchmarkError, match="was ended"):
        judge.ticks(Site("many", 4, "many", ()), program.objects["many"], 1, 0)


def test_what_is_called_is_judged(program: Program) -> None:
    judge = Judge(Benchmark(str(program.folder / "program"), program.folder), program.results)
    plain = Site("plain", FUNCTIONS.index("plain"), "plain", tuple(f"@{each}" for each in externals_of("plain")))
    never = plain._replace(name="never", number=len(FUNCTIONS))
    assert judge.called(dict.fromkeys((plain, never), program.objects["plain"][0])) == {plain}


def test_a_damaged_image_is_left_alone(program: Program) -> None:
    alone = program.output()
    for damage in (b"", b"x" * 100, program.images["plain"][:4096], b"y" + program.images["plain"][1:]):
        (program.results / "plain").write_bytes(damage)
        assert program.output(**{FOLDER: str(program.results)}) == alone


def candidate(code: str) -> bytes:
    parts = Parts(llvm.read(code.encode(), "code", aliases=False).text)
    with Emitter() as emitter:
        return emitter.object_file(alone(parts, "@f"), "code")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("@x = global i32 0 define i32 @f() { %a = load i32, ptr @x ret i32 %a }", "needs x"),
        ("declare void @g() define void @f() { call void @g() ret void }", "needs g"),
        ("@x = thread_local global i32 0 define i32 @f() { %a = load i32, ptr @x ret i32 %a }", "not understood"),
        (
            "declare i32 @__gxx_personality_v0(...) declare void @g() define void @f() uwtable personality ptr "
            "@__gxx_personality_v0 { invoke void @g() to label %a unwind label %b a: ret void b: %c = landingpad "
            "{ ptr, i32 } cleanup ret void }",
            "it catches exceptions",
        ),
    ],
)
def test_what_no_image_can_have_is_refused(code: str, reason: str) -> None:
    with pytest.raises(NotPlaceable, match=reason):
        image([candidate(code)], "f", ["g"] if "personality" in code else [], Settings(0, 1000, 0))


def test_another_function_is_not_found() -> None:
    with pytest.raises(NotPlaceable, match="does not define g"):
        image([candidate("define void @f() { ret void }")], "g", [], Settings(0, 1000, 0))


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("define void @f(i32 %x, ...) { ret void }", "any number of arguments"),
        ('define void @f() naked { call void asm "ret", ""() unreachable }', "it is naked"),
        ("define void @f() presplitcoroutine { ret void }", "or a coroutine"),
        ("declare void @g() define void @f() { musttail call void @g() ret void }", "must be the last"),
    ],
)
def test_what_cannot_be_called_through_a_dispatcher_is_refused(code: str, reason: str) -> None:
    text = llvm.read(code.encode(), "code", aliases=False).text
    with pytest.raises(NotDispatchable, match=reason):
        with_dispatcher(text, "@f", [], "f")
