"""Options of clang are passed on as a list, and none that writes elsewhere."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from learned_schedulers.blocks.before_allocation import users_code
from learned_schedulers.blocks.before_allocation.users_code import is_bitcode, read
from learned_schedulers.blocks.read.unreadable import Unreadable

needs_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("-O3 -march=native", ["-O3", "-march=native"]),
        (
            "-D 'A=\"b c\"' -DX -I include -Iother -include config.h",
            ["-D", 'A="b c"', "-DX", "-I", "include", "-Iother"],
        ),
        ("-std=c++20 -fno-exceptions -ffast-math -g -Wall -w -pthread -target x86_64-linux-gnu", ["-std=c++20"]),
        ("-fprofile-use=f.profdata -fno-plt -fPIC", ["-fprofile-use=f.profdata"]),
        ("", []),
    ],
)
def test_options_of_optimisation_and_language(words: str, options: list[str]) -> None:
    assert users_code.options(words)[: len(options)] == options


@pytest.mark.parametrize(
    "word",
    [
        *(
            "-o x",
            "-ox",
            "-c",
            "-S",
            "-E",
            "-MD",
            "-MF x",
            "-save-temps",
            "-emit-llvm",
            "--output=x",
            "@file",
            "x.c",
            "-x c",
        ),
        *(
            "-fplugin=x.so",
            "-fpass-plugin=x.so",
            "-Xclang x",
            "-Wl,x",
            "-Wp,-MD,x",
            "-Wa,x",
            "-gsplit-dwarf",
            "-mllvm -x",
        ),
        *(
            "-ftime-trace",
            "-fsave-optimization-record",
            "-fmodules",
            "-B.",
            "--config=x",
            "-fprofile-generate=x",
            "-flto",
            "-",
        ),
        *("-fcrash-diagnostics-dir=x", "-fdiagnostics-add-output=x", "-foptimization-record-file=x", "-load x", "-"),
    ],
)
def test_options_that_write_or_run_elsewhere_are_refused(word: str) -> None:
    with pytest.raises(ValueError, match="is not passed on; give options of optimisation"):
        users_code.options(f"-O2 {word}")


@pytest.mark.parametrize(("words", "reason"), [("-O2 'a", "close what is open"), ("-O2 -D", "-D lacks its value")])
def test_options_that_are_not_whole(words: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        users_code.options(words)


@pytest.mark.parametrize("name", ["f.c", "f.cpp"])
def test_without_clang_the_remedy_is_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / name).write_text("int f;")
    monkeypatch.setattr(shutil, "which", lambda program: None)
    with pytest.raises(Unreadable, match=r"clang.* is not installed; install it, or let it write f\.ll"):
        users_code.bitcode(tmp_path / name, [])


def test_a_clang_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **_: object) -> None:
        raise subprocess.TimeoutExpired(command, 1)

    monkeypatch.setattr(shutil, "which", lambda program: program)
    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(Unreadable, match="clang took more than"):
        users_code.bitcode(tmp_path / "f.c", [])


@needs_clang
def test_c_and_cpp_become_bitcode(tmp_path: Path) -> None:
    for name, symbol in (("-f.c", "@f("), ("f.cpp", "@_Z1fi(")):
        (tmp_path / name).write_text("int f(int a) { return a * SCALE; }\n")
        content = users_code.bitcode(tmp_path / name, ["-O2", "-DSCALE=3"])
        assert is_bitcode(content) and symbol in read(content, name)
    assert len([*tmp_path.iterdir()]) == 2


@needs_clang
def test_the_first_error_of_clang_is_told(tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text("#include <stdio.h>\nint f(int a) { return b; }\n")
    with pytest.raises(Unreadable, match=r"f\.c:2:23: error: use of undeclared identifier 'b'; correct the file"):
        users_code.bitcode(tmp_path / "f.c", [])
