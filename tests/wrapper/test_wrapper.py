"""Builds through `learned-schedulers cc`: the compilers' own files, ordered, whatever goes wrong beside them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import osqp
import pytest
import scipy.sparse
from elftools.elf.elffile import ELFFile

from learned_schedulers.wrapper import settings
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


OPTIONS = [
    "-O0",
    "-O2 -pipe",
    "-O3 -pipe -march=haswell -fno-plt",
    "-Os -pipe -ffunction-sections -fdata-sections -fvisibility=hidden",
    "-O2 -pipe -fPIC -fstack-protector-strong -D_FORTIFY_SOURCE=2",
    "-O2 -pipe -fsanitize=undefined",
    "-O2 -pipe -fno-asynchronous-unwind-tables -fomit-frame-pointer",
    "-O2 -pipe -Wa,--noexecstack -frandom-seed=1",
    "-O2 -pipe -masm=intel",
    "-O2 -pipe --coverage -frandom-seed=1",
    "-O2 -pipe -g",
    "-O1 -g3 -gdwarf-5 -gz",
    "-O2 -pipe -g -gdwarf-4 -MMD -MF a.d -MT a -MT b",
]


@pytest.mark.parametrize("compiler", ["gcc", "g++", "clang", "clang++"])
@pytest.mark.parametrize("options", OPTIONS)
def test_objects_without_orders_are_the_plain_ones(
    compiler: str, options: str, folder: Path, environment: Mapping[str, str]
) -> None:
    """A method that does not exist orders nothing. Clang's own two steps give some sections another place."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    source = "a.cpp" if "++" in compiler else "a.c"
    words = [compiler, *options.split(), "-c", source, "-o", "a.o"]
    start = "import sys; from learned_schedulers.wrapper.compiler import main; sys.exit(main(sys.argv[1:]))"
    contents = []
    for command in (words, [sys.executable, "-c", start, "atom-none-tso-0-no", *words]):
        result = called(command, folder, environment)
        assert result.returncode == 0 and result.stderr == ""
        content = (folder / "a.o").read_bytes()
        contents.append(_parts(folder) if "clang" in compiler and re.search(" -(g|Wa)", options) else content)
        (folder / "a.o").unlink()
    assert contents[0] == contents[1]


def _parts(folder: Path) -> list[object]:
    """What is loaded of a.o, with its relocations, and what debuggers read of it."""
    with (folder / "a.o").open("rb") as file:
        sections = {part.name: part.data() for part in ELFFile(file).iter_sections() if part["sh_flags"] & 2}
    words = [["objdump", "-drC"], ["readelf", "--debug-dump=info"], ["readelf", "--debug-dump=decodedline"]]
    dumps = [called([*some, "a.o"], folder, os.environ).stdout.splitlines() for some in words]
    return [
        sections,
        *dumps[:2],
        [line for line in dumps[2] if not line.endswith(":")],
    ]  # a folder's name may stand there


def test_messages_of_the_assembler_are_its_own(folder: Path, environment: Mapping[str, str]) -> None:
    """Of its own text, though that text is ordered: lines and the exit code are those of the plain compiler."""
    (folder / "a.c").write_text(SOURCE + 'void h(void) { __asm__("nonsense"); }\n')
    for compiler in ("gcc", "gcc -pipe", "clang"):
        if shutil.which(compiler.split()[0]) is None:
            continue
        words = [*compiler.split(), "-O2", "-c", "a.c"]
        plain, ours = (called(command, folder, environment) for command in (words, wrapped(*words)))
        messages = [re.sub(r"/tmp/\w+\.s", "TEXT", result.stderr) for result in (plain, ours)]
        assert messages[0] == messages[1] and "nonsense" in messages[0]
        assert plain.returncode == ours.returncode == 1 and not (folder / "a.o").exists()


def test_a_text_of_people_is_not_taken_for_that_of_a_compiler_that_failed(
    folder: Path, environment: Mapping[str, str]
) -> None:
    (folder / "wrong.s").write_text(called(["gcc", "-O2", "-S", "a.c", "-o", "-"], folder, environment).stdout)
    before = (folder / "wrong.s").read_bytes()
    assert called(wrapped("gcc", "-fsyntax-only", "-S", "a.c", "-o", "wrong.s"), folder, environment).returncode == 0
    assert (folder / "wrong.s").read_bytes() == before
    (folder / "link.s").symlink_to("x.s")
    assert called(wrapped("gcc", "-O2", "-S", "a.c", "-o", "link.s"), folder, environment).returncode == 0
    assert (folder / "link.s").is_symlink() and (folder / "x.s").read_bytes() != before


@pytest.mark.skipif(shutil.which("ccache") is None, reason="ccache is not installed")
def test_ccache_keeps_what_is_ordered_apart(folder: Path, environment: Mapping[str, str]) -> None:
    changed = {**environment, "CCACHE_DIR": str(folder / "ccache"), "CCACHE_NOHASHDIR": "1"}
    for compiler in ("gcc", "clang"):
        if shutil.which(compiler) is None:
            continue
        objects = []
        for command in ([], wrapped(), wrapped(by="random_legal"), wrapped()):
            words = [*command, "ccache", compiler, "-O2", "-c", "a.c", "-o", "a.o"]
            assert called(words, folder, changed).returncode == 0
            objects.append((folder / "a.o").read_bytes())
        assert len(set(objects[:3])) == 3 and objects[1] == objects[3]


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
    first = called([*printing, "gcc -m64"], folder, environment)
    assert first.stdout.split()[:3] == ["gcc", "-m64", "-B"]
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


def test_what_orders_nothing_is_refused_when_the_compiler_is_printed(
    folder: Path, environment: Mapping[str, str]
) -> None:
    """Nothing is on standard output then, so that CC="$(...)" is empty; the remedy is on standard error."""
    for words, message in (
        (["--print", "gccc"], "no program gccc"),
        (["--print", "gcc -m32"], "not for x86-64"),
        (["--print", "true"], "neither GCC nor Clang"),
        (["--print", "gcc", "--", "g++"], "--print 'gcc g++'"),
        (["--print", "gcc", "--for", "skylake", "--by", "cp_sat"], "--by search"),
        (["--page", "x.html"], "--page needs --report"),
        (["--report", "--for", "atom"], "leave --for out"),
        (["--report", "gcc"], "leave gcc out"),
    ):
        result = called([COMMAND, "cc", *words], folder, environment)
        assert result.returncode == 1 and result.stdout == "" and message in result.stderr, result
        assert "ValueError" not in result.stderr
    result = called([COMMAND, "cc", "--for", "zen4", "--print", "gcc"], folder, environment)
    assert result.returncode == 2 and "Did you mean znver4?" in result.stderr and "Value error" not in result.stderr


def test_a_makefile_that_moves_its_objects(folder: Path, environment: Mapping[str, str]) -> None:
    """The report counts them, and ends quietly if its reader has read enough."""
    rule = "%.lo: %.c\n\tmkdir -p objs && $(CC) -O2 -fPIC -c $< -o objs/$*.o && mv objs/$*.o $@\n"
    (folder / "Makefile").write_text(f"all: a.lo b.lo\n{rule}")
    build = called(["make", f"CC={' '.join(wrapped('gcc'))}"], folder, environment)
    assert build.returncode == 0, build.stderr
    report = called([COMMAND, "cc", "--report"], folder, environment).stdout
    assert "           2  files" in report and "objs/a.o, objs/b.o" in report and "compiler" in report
    line = f"set -o pipefail; {COMMAND} cc --report --page p.html | head -1"
    piped = called(["bash", "-c", line], folder, environment)
    assert piped.returncode == 0 and piped.stderr == "" and piped.stdout.count("\n") == 1
    (folder / "empty").mkdir()
    missing = called([COMMAND, "cc", "--report"], folder / "empty", environment).stderr
    assert "build first" in missing and str(folder) in missing


def test_the_assembler_does_not_call_itself_while_gcc_links(folder: Path, environment: Mapping[str, str]) -> None:
    """GCC compiles at link time (-flto), and then hands the folder of -B on to all that it calls."""
    printing = [COMMAND, "cc", "--for", "atom", "--by", "list", "--no-confirm", "--print", "gcc"]
    line = called(printing, folder, environment).stdout.split()
    for _ in range(2):  # by Python, then by the script alone
        for options in (["-flto", "-O2"], ["-flto", "-O2", "-save-temps"]):
            result = called(["timeout", "60", *line, *options, "a.c", "-o", "linked"], folder, environment)
            assert result.returncode == 0, result.stderr
            assert called(["./linked"], folder, environment).stdout.endswith("a.c\n")


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
    assert ">g</td>" in (folder / "page.html").read_text()
    assert "wrote again" not in report.stdout
    for name in ("first.o", "second.o"):  # recorded by Python, and by the script
        os.utime(folder / name, (time.time() + 60,) * 2)
    report = called([COMMAND, "cc", "--report"], folder, environment)
    assert "           2  objects that something wrote again since" in report.stdout
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


def test_a_project_of_others_computes_the_same(tmp_path: Path, environment: Mapping[str, str]) -> None:
    """OSQP's solver of quadratic programs, 16 files of C that its package writes for a program, with its makefile."""
    rng = np.random.default_rng(0)
    size, bounds = 30, np.ones(20)
    root = scipy.sparse.random(size, size, 0.2, random_state=1)
    limits = scipy.sparse.random(len(bounds), size, 0.3, random_state=2)
    solver = osqp.OSQP()
    solver.setup(
        scipy.sparse.triu(root @ root.T + scipy.sparse.eye(size)).tocsc(), rng.normal(size=size), limits.tocsc(),
        -bounds, bounds, verbose=False,
    )  # fmt: skip
    project = tmp_path / "project"
    solver.codegen(str(project), parameters="vectors", extension_name="emosqp", force_rewrite=True)
    makefile, program = project / "Makefile", project / "emosqp.c"
    makefile.write_text(makefile.read_text().replace("gcc -", "$(CC) -O2 -"))
    answer = f'for (int i = 0; i < {size}; i++) printf("%a\\n", (double) solver.solution->x[i]);'
    program.write_text(program.read_text().replace('error.\\n" );', f'error.\\n" ); {answer}'))
    answers = {}
    for name in ("plain", "search", "random_legal"):
        folder = tmp_path / name
        shutil.copytree(project, folder)
        compiler = "gcc" if name == "plain" else " ".join(wrapped("gcc", by=name))
        build = called(["make", "-j2", f"CC={compiler}"], folder, environment)
        assert build.returncode == 0, build.stderr
        answers[name] = called(["./emosqp"], folder, environment).stdout
    assert answers["plain"].count("0x") == size and len(set(answers.values())) == 1
    objects = [(tmp_path / name / "src" / "auxil.o").read_bytes() for name in answers]
    assert len(set(objects)) == len(objects)  # each has orders of its own
