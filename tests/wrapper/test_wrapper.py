"""Builds through `learned-schedulers cc`: the compilers' own files, ordered, whatever goes wrong beside them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from learned_schedulers.wrapper import client, settings
from learned_schedulers.wrapper.settings import Settings
from tests.blocks.read.assembled import needs_gcc

pytestmark = [needs_gcc, pytest.mark.slow]
COMMAND = str(Path(sys.executable).with_name("learned-schedulers"))
SOURCE = """
#include <stdio.h>
double f(double *a, int n) { double s = 0, t = 0; while (n--) s += a[n], t += a[n] * a[n]; return s * t; }
long g(long *a, long b) { long c = a[0] * b, d = a[1] + b, e = a[2] * d; return c * 3 + d * e - (a[3] ^ c); }
#ifndef PART
int main(void) { double a[9]; for (int i = 0; i < 9; i++) a[i] = i * i; long b[4] = {7, 5, 3, 2};
  printf("%.1f %ld %s\\n", f(a, 9), g(b, 11), __FILE__); return 0; }
#endif
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """A cache and a socket of this test's own."""
    short = Path("/tmp") / f"ls_test_{os.getpid()}"  # addresses of sockets are short
    short.mkdir(mode=0o700)
    variables = {settings.CACHE: str(tmp_path_factory.mktemp("cache") / "c"), "XDG_RUNTIME_DIR": str(short)}
    yield {**os.environ, **variables}
    for process in _residents(short):
        os.kill(process, signal.SIGKILL)
    shutil.rmtree(short)


def _residents(folder: Path) -> list[int]:
    lines = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [int(line.split()[0]) for line in lines if "wrapper.resident" in line and str(folder) in line]


def wrapped(*words: str, by: str = "list") -> list[str]:
    return [COMMAND, "cc", "--for", "atom", "--by", by, "--no-confirm", "--", *words]


def called(
    words: list[str], folder: Path, environment: Mapping[str, str], **more: object
) -> subprocess.CompletedProcess:
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, **more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.c").write_text(SOURCE)
    (tmp_path / "b.c").write_text("#define PART\n" + SOURCE.replace(" f(", " f2(").replace(" g(", " g2("))
    (tmp_path / "a.cpp").write_text(SOURCE + "struct S { S(); ~S(); }; S::S() { } S::~S() { }\n")
    (tmp_path / "wrong.c").write_text("int f( { return 1; }\n")
    (tmp_path / "a.txt").write_text(SOURCE)
    (tmp_path / "words").write_text("-O2 -c a.c -o by_words.o\n")
    (tmp_path / "hand.s").write_text("f:\n\tmovq (%rdi), %rax\n\tmovq 8(%rsi), %rdx\n\timulq %rax, %rax\n\tret\n")
    return tmp_path


CALLS = [
    "gcc -O2 -c a.c",
    "gcc -O2 -c a.c -o x.o -MMD -MF x.d -MT target",
    "gcc -O2 -g3 -gdwarf-5 -c a.c",
    "gcc -O3 -pipe -c a.c -ffunction-sections -fdata-sections",
    "gcc -Os -fPIC -shared a.c -o a.so",
    "gcc -O2 a.c b.c -o a -Wl,-Map=a.map",
    "gcc -O2 -c a.c b.c",
    "gcc @words",
    "gcc -O2 -x c -c a.txt -o c.o",
    "gcc -O2 -S a.c -o x.s",
    "gcc -O2 -S a.c",
    "gcc -O2 -E a.c -o x.i",
    "gcc -O2 -c hand.s -o hand.o",
    "gcc -O2 -save-temps -c a.c",
    "gcc -O2 --coverage -frandom-seed=7 -c a.c",
    "gcc -O2 -gsplit-dwarf -c a.c",
    "gcc -O2 -flto -frandom-seed=7 -c a.c",
    "g++ -O2 -std=c++17 -c a.cpp -frandom-seed=7",
    "clang -O2 -c a.c",
    "clang -O2 -MMD -c a.c -g",
]


@pytest.mark.parametrize("call", CALLS)
def test_the_compilers_files_and_no_others(call: str, folder: Path, environment: Mapping[str, str]) -> None:
    """The same names, messages and dependencies, and the same bytes where nothing is ordered or loaded."""
    words = call.split()
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    plain, ours = folder / "plain", folder / "x"  # of one length: paths stand in objects
    inputs = sorted(path for path in folder.iterdir() if path.is_file())
    answers, files = [], []
    for part, command in ((plain, words), (ours, wrapped(*words))):
        work = folder / "work"
        work.mkdir()
        for path in inputs:
            shutil.copy(path, work)
        answers.append(called(command, work, environment))
        files.append({path.name: path.read_bytes() for path in sorted(work.iterdir())})
        work.rename(part)
    assert (answers[0].returncode, answers[0].stdout, answers[0].stderr) == (
        answers[1].returncode, answers[1].stdout, answers[1].stderr,
    )  # fmt: skip
    assert answers[0].returncode == 0, answers[0].stderr
    assert files[0].keys() == files[1].keys()
    differing = {name for name, content in files[0].items() if content != files[1][name]}
    assert not {name for name in differing if name.endswith((".d", ".i", ".gcno", ".c"))}
    if any(word in call for word in ("-E", "hand.s", "-flto")):
        assert not differing
    else:
        assert differing  # an order has changed


def test_objects_are_those_of_the_verb_order(folder: Path, environment: Mapping[str, str]) -> None:
    assert called(wrapped("gcc", "-O2", "-c", "a.c", "-o", "a.o"), folder, environment).returncode == 0
    assert called(["gcc", "-O2", "-S", "a.c", "-o", "a.s"], folder, environment).returncode == 0
    order = [COMMAND, "order", "a.s", "-o", "b.s", "--for", "atom", "--by", "list", "--no-confirm"]
    assert called(order, folder, environment).returncode == 0
    assert called(["gcc", "-c", "b.s", "-o", "b.o"], folder, environment).returncode == 0
    assert (folder / "a.o").read_bytes() == (folder / "b.o").read_bytes()


def test_gcc_needs_nothing_but_an_option(folder: Path, environment: Mapping[str, str]) -> None:
    """The first call orders, the second one takes the text from the cache without Python; both are recorded."""
    printing = [COMMAND, "cc", "--for", "atom", "--by", "list", "--no-confirm", "--print"]
    line = called([*printing, "gcc"], folder, environment).stdout.split()
    assert line[:2] == ["gcc", "-B"] and len(line) == 3
    (folder / "a.c").write_text(SOURCE.replace("* 3", "* 9"))
    for name in ("first.o", "second.o"):
        assert called([*line, "-O2", "-c", "a.c", "-o", name], folder, environment).returncode == 0
    assert called(wrapped("gcc", "-O2", "-c", "a.c", "-o", "third.o"), folder, environment).returncode == 0
    contents = {(folder / name).read_bytes() for name in ("first.o", "second.o", "third.o")}
    assert len(contents) == 1
    assert called(["gcc", "-O2", "-c", "a.c", "-o", "plain.o"], folder, environment).returncode == 0
    assert (folder / "plain.o").read_bytes() not in contents
    report = called([COMMAND, "cc", "--report"], folder, environment).stdout
    assert "           3  files" in report and "           2  texts that the cache had" in report
    assert called([*line, "-c", "wrong.c"], folder, environment).returncode == 1
    clang = called([*printing, "clang"], folder, environment).stdout.split()
    assert clang[:2] == ["learned-schedulers", "cc"] and clang[-2:] == ["--", "clang"]


def test_a_program_from_standard_input_runs(folder: Path, environment: Mapping[str, str]) -> None:
    result = called(wrapped("gcc", "-O2", "-x", "c", "-", "-o", "a"), folder, environment, input=SOURCE)
    assert result.returncode == 0
    assert called(["./a"], folder, environment).stdout == called(
        ["bash", "-c", "gcc -O2 -x c - -o b <a.c && ./b"], folder, environment
    ).stdout  # fmt: skip


def test_errors_are_the_compilers(folder: Path, environment: Mapping[str, str]) -> None:
    plain, ours = (
        called(words, folder, environment) for words in (["gcc", "-c", "wrong.c"], wrapped("gcc", "-c", "wrong.c"))
    )
    assert plain.returncode == ours.returncode == 1 and plain.stderr == ours.stderr
    assert called(wrapped("no_such_compiler"), folder, environment).returncode == 127


def test_the_cache_has_what_was_ordered_and_a_report_says_it(folder: Path, environment: Mapping[str, str]) -> None:
    (folder / "a.c").write_text(SOURCE.replace("* 3", "* 5"))
    for name in ("first.o", "second.o"):
        assert called(wrapped("gcc", "-O2", "-c", "a.c", "-o", name), folder, environment).returncode == 0
    assert (folder / "first.o").read_bytes() == (folder / "second.o").read_bytes()
    report = called([COMMAND, "cc", "--report", "--page", "page.html"], folder, environment)
    assert report.returncode == 0 and "           2  files" in report.stdout, report.stderr
    assert "           1  texts that the cache had" in report.stdout and " g  a.c" in report.stdout
    assert "<td>g</td>" in (folder / "page.html").read_text()
    empty = folder / "empty"
    empty.mkdir()
    assert "build first" in called([COMMAND, "cc", "--report"], empty, environment).stderr


def test_a_parallel_build_goes_on_when_the_resident_process_is_killed(
    folder: Path, environment: Mapping[str, str]
) -> None:
    names = [f"p{k}" for k in range(20)]
    for k, name in enumerate(names):
        (folder / f"{name}.c").write_text(
            SOURCE.replace(" f(", f" f{k}(").replace(" g(", f" g{k}(").replace("* 3", f"* {k}")
        )
    rules = "\n".join(f"{name}: {name}.c\n\t$(CC) -O2 $< -o $@" for name in names)
    (folder / "Makefile").write_text(f"all: {' '.join(names)}\n{rules}\n")
    build = subprocess.Popen(
        ["make", "-j4", f"CC={' '.join(wrapped('gcc', by='policy'))}"], cwd=folder, env=environment,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    runtime, killed = Path(environment["XDG_RUNTIME_DIR"]), 0
    while build.poll() is None and killed < 2:
        time.sleep(0.3)
        for process in _residents(runtime):
            os.kill(process, signal.SIGKILL)
        killed += 1
    assert build.wait(120) == 0
    for name in names:
        expected = called(["bash", "-c", f"gcc -O2 {name}.c -o plain && ./plain"], folder, environment).stdout
        assert called([f"./{name}"], folder, environment).stdout == expected


def test_a_folder_that_others_may_open_is_refused_and_the_build_goes_on(
    folder: Path, environment: Mapping[str, str]
) -> None:
    open_folder = folder / "open"
    open_folder.mkdir(mode=0o777)
    open_folder.chmod(0o777)
    changed = {**environment, settings.CACHE: str(open_folder), settings.VERBOSE: "1"}
    result = called(wrapped("gcc", "-O2", "-c", "a.c"), folder, changed)
    assert result.returncode == 0 and "others may open it" in result.stderr
    called(["gcc", "-O2", "-c", "a.c", "-o", "plain.o"], folder, environment)
    assert (folder / "a.o").read_bytes() == (folder / "plain.o").read_bytes()


def test_an_answer_that_is_none_leaves_the_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(settings.CACHE, str(tmp_path / "cache"))
    for answer in (b"", b"[]\n", b'{"error": "it broke"}\n', b"no json\n"):
        monkeypatch.setattr(client, "_answered", lambda *_, answer=answer: client.unpacked(answer))
        assert client.ordered(b"text", Settings(), "a.o") == b"text"


def test_a_message_that_breaks_off_is_an_error() -> None:
    import socket

    near, far = socket.socketpair()
    with near, far:
        client.send(near, b"abc")
        assert client.receive(far) == b"abc"
        near.sendall((1 << 40).to_bytes(8, "little"))
        with pytest.raises(OSError, match="bytes"):
            client.receive(far)
        near.sendall((10).to_bytes(8, "little") + b"abc")
        near.close()
        with pytest.raises(ConnectionError):
            client.receive(far)
