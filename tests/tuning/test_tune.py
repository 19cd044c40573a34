"""A project from its build to `tuned.orders`, and its later builds by `cc`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from learned_schedulers.command.main import app
from learned_schedulers.command.tuning_page import page
from learned_schedulers.tuning import campaign, tuned_orders
from learned_schedulers.tuning.benchmark import Benchmark
from learned_schedulers.tuning.hot_file import Call, Choice, HotFile
from learned_schedulers.tuning.outcome import Hot, Outcome, Settings
from learned_schedulers.tuning.search import Found, Judged
from learned_schedulers.tuning.tuned_orders import Tuned
from tests.tuning.project import HOT_LL, OTHER_LL, output, project

TUNE = ["tune", "--build", "make -j2", "--bench", "./program", "--minutes", "0.05", "--pairs", "10"]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(campaign, "SHORTEST", 0.01)  # on fast machines the small program ends in .045 s
    return project(tmp_path, monkeypatch)


def called(*words: str) -> Result:
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, (result.output, result.exception)
    return result


def make(*words: str) -> str:
    return subprocess.run(["make", *words], check=True, text=True, capture_output=True).stderr


def test_a_project_is_tuned_and_built_again_to_the_same_bytes(work: Path) -> None:
    make()
    before = output(work)
    make("clean")
    bench = "./program > sums && echo 96 kb/s"  # as a codec prints its bit rate, which is no measure
    sources = {path.name: path.read_bytes() for path in work.iterdir()}
    words_of_it = called(
        *TUNE[:3], "--bench", bench, *TUNE[5:], "--test", 'grep -q "8000000$" sums', "--report", "page.html"
    ).output
    assert (
        "memcpy" in words_of_it
        and "its source is not part of this build" in words_of_it
        and "tests pass" in words_of_it
    )
    assert output(work) == before
    assert sources == {name: (work / name).read_bytes() for name in sources}
    tuned = tuned_orders.read(work / tuned_orders.NAME)
    assert [(each.source, each.function) for each in tuned] == [("hot.c", "mix"), ("other.c", "other")]
    text = (work / "page.html").read_text()
    assert "pairs of runs" in text and "hot.c" in text
    assert len([*(work.parent / "cache").rglob("found/*.json")]) == 2  # with which a second call begins
    built = [(work / name).read_bytes() for name in ("hot.o", "other.o")]
    make("clean")
    compiler = called("cc", "--print", "gcc").stdout.strip()
    assert "tuned.orders says: 2" in make(f"CC={compiler}").splitlines()[-1]
    assert [(work / name).read_bytes() for name in ("hot.o", "other.o")] == built and output(work) == before
    make("clean")
    (work / "other.ll").write_text(OTHER_LL.replace("%x, 5", "%x, 7"))
    assert "says: 1; as usual, since they have changed (run tune again): other" in make(f"CC={compiler}")


def test_the_page_draws_how_a_search_went() -> None:
    search = Found([Judged(Choice("gcc"), 0.9)], 0.9, 0.001, 40, [(1.0, 0.95), (2.0, 0.9)], ())
    outcome = Outcome([Hot("f<int>", 0.7, "a.cc", "")], {("a.cc", "f<int>"): search}, measure="its time")
    text = page(outcome, Settings("make", Benchmark("./b", Path("/p")), None, 1, 10, 2, 0))
    assert "f&lt;int&gt; (a.cc)" in text and "2 s of search" in text and text.count("<polyline") == 1
    assert "Nothing is faster" in text and "70.0%" in text


def test_what_makes_the_tests_fail_is_named_and_left_out(work: Path) -> None:
    (work / "other.ll").write_text(OTHER_LL.replace("%x, 5", "%x, 7"))  # a clang that compiles `other` wrong
    make()
    before = output(work)
    make("clean")
    names = ("--function", "mix", "--function", "other")  # where perf may not run
    words_of_it = called(*TUNE, *names, "--test", f"./program | grep -q '{before.split()[0]}'").output
    assert "tests pass without other, which made them fail and is left out" in words_of_it, words_of_it
    assert [each.function for each in tuned_orders.read(work / tuned_orders.NAME)] == ["mix"]
    assert output(work) == before


def test_a_project_that_does_not_get_faster_is_left_as_its_compiler_builds_it(work: Path) -> None:
    slow = HOT_LL.replace("  ret i64 %g\n", "".join("  fence seq_cst\n" for _ in range(40)) + "  ret i64 %g\n")
    (work / "hot.ll").write_text(slow)
    forbidden = work.parent / "tools" / "unshare"  # as in containers: runs take turns
    forbidden.write_text("#!/bin/sh\nexit 1\n")
    forbidden.chmod(0o700)
    make()
    before = (work / "hot.o").read_bytes()
    make("clean")
    words_of_it = called(*TUNE, "--function", "mix").output
    assert "nothing is kept" in words_of_it and "at the same time" not in words_of_it
    assert (work / "hot.o").read_bytes() == before and not (work / tuned_orders.NAME).exists()


def test_a_failure_leaves_the_usual_build(work: Path) -> None:
    make()
    before = (work / "hot.o").read_bytes()
    (work.parent / "usual.o").write_bytes(before)
    make("clean")
    bench = "./program; cmp -s hot.o ../usual.o"  # it fails in any other build
    result = CliRunner().invoke(app, [*TUNE[:3], "--bench", bench, *TUNE[5:]])
    assert result.exit_code == 1 and "ended with exit code 1" in result.stderr
    assert (work / "hot.o").read_bytes() == before


def test_an_order_that_is_not_legal_is_not_applied(work: Path) -> None:
    file = HotFile(HOT_LL.encode(), "hot.c", Call("gcc", ".", ("gcc",), {}))
    fingerprint, size = file.fingerprint("mix"), len(file.functions["mix"].blocks[0].items)
    for order, words in ((range(size), "says: 1"), (reversed(range(size)), "hot.c is compiled as usual: ")):
        choice = Choice("llvm default", ((0, tuple(order)),))
        tuned_orders.write(work / tuned_orders.NAME, [Tuned("hot.c", "mix", fingerprint, choice, 0.9)], {})
        assert words in make(f"CC={called('cc', '--print', 'gcc').stdout.strip()}")
        make("clean")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--build", "false"], "ended with exit code 1"),
        (["--build", "true"], "clean the project first"),
        (["--bench", "./program; exit 3"], "ended with exit code 3"),
        (["--bench", "true"], "let it work for a second or more"),
        (["--rate", "[0-9]+"], "needs one group"),
        (["--rate", "no such (number)"], "the benchmark prints no such number"),
        (["--clang", "clang-98"], "clang-98 is not installed"),
        (["--report", "."], "is a folder"),
    ],
)
def test_bad_input_is_said_before_the_search(work: Path, words: list[str], reason: str) -> None:
    options = dict(zip(TUNE[1::2], TUNE[2::2], strict=True)) | dict(zip(words[::2], words[1::2], strict=True))
    result = CliRunner().invoke(app, ["tune", *(word for pair in options.items() for word in pair)])
    assert result.exit_code == 1 and reason in result.stderr
    assert not (work / tuned_orders.NAME).exists()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "call it as"),
        (["--print"], "tune makes it"),
        (["--print", "--orders", "damaged"], "damaged, line 2: it is damaged"),
        (["--print", "--orders", "orders", "javac"], "is no GCC or Clang of the PATH"),
    ],
)
def test_cc_says_what_is_missing(work: Path, words: list[str], reason: str) -> None:
    tuned_orders.write(work / "orders", [], {})
    (work / "damaged").write_text((work / "orders").read_text() + '{"source": 3}\n')
    result = CliRunner().invoke(app, ["cc", *words])
    assert result.exit_code == 1 and reason in result.stderr
