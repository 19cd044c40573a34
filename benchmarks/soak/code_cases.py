"""Cases of machine code and of LLVM's code: generated programs are ordered, checked, built and run; damaged files."""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.own_generated import building, csmith, generating
from benchmarks.own_generated.building import Program, Ran, Unbuilt
from benchmarks.own_generated.compiling import options, position
from benchmarks.own_generated.straight import Draw
from benchmarks.own_generated.trial import FORMATS, Trial
from benchmarks.soak.calling import Difference, Discarded, Tools, refusal
from pipeline.lab.trial import damaged_code

_BY = ("random_legal", "random_legal", "random_legal", "list", "policy", "search", "learned", "imitator")
_FOR = ("atom", "silvermont", "btver2", "haswell", "skylake", "znver4", "host")
_SUFFIXES = damaged_code.SUFFIXES | {"llvm": ".ll"}
_AS_LINES = ("data", "sql")  # they become CSV, so that `check` does not compare both files
_CSMITH = "-I/usr/include/csmith"


def order_programs(rng: np.random.Generator, folder: Path, tools: Tools) -> None:
    """A generated program is ordered in one format: `check` agrees, the program prints the same, and again the same."""
    try:
        program = generating.program(int(rng.integers(1 << 31)), int(rng.integers(1 << 31)), folder)
        trial = Trial(program, folder)
    except Unbuilt as error:
        raise Discarded(str(error)) from error
    form = str(rng.choice(FORMATS))
    source = trial.inputs[form]
    words = ["order", source, "--by", rng.choice(_BY), "--for", rng.choice(_FOR), "--memory", program.memory]
    words += ["--seed", int(rng.integers(1000)), *(["--verify", "sample"] if rng.random() < 0.2 else [])]
    words += ["--no-confirm"] * int(rng.random() < 0.7)
    output, again = (folder / f"{name}{source.suffix}" for name in ("new", "again"))
    tools.answered(source, *words, "-o", output, output=output)
    agree(tools, source, output, program.memory)
    if wrong := trial.wrong(form, output.read_bytes()):
        raise Difference(f"{form}: {wrong}")
    if rng.random() < 0.3:
        tools.answered(source, *words, "-o", again, output=again, real=True)
        same(output, again)


def agree(tools: Tools, before: Path, after: Path, memory: str = "tso") -> None:
    """`check` finds legal orders alone. Raises Difference."""
    ended = tools.call("check", before, after, "--memory", memory)
    if ended.code:
        raise Difference(f"`check` says: {ended.out[-500:]}{ended.err[-500:]}")


def same(first: Path, second: Path) -> None:
    """Raises Difference if two files have other bytes."""
    if first.read_bytes() != second.read_bytes():
        raise Difference(f"{first.name} and {second.name} have other bytes, but the same input, options and seed")


def before_allocation(rng: np.random.Generator, folder: Path, tools: Tools) -> None:
    """A program by Csmith is ordered as C or as LLVM's code: the object prints what clang's own object prints."""
    program = _by_csmith(rng, folder)
    level = str(rng.choice(["-O1", "-O2", "-O3", "-Os"]))
    plain, new = folder / "clang.o", folder / f"new{rng.choice(['.o', '.s'])}"
    kind = str(rng.choice([".c", ".bc", ".ll"]))
    source, words = folder / f"source{kind}", ["--seed", int(rng.integers(1000)), "--seconds", 15]
    words += ["--evaluations", int(rng.integers(1, 8)), *(["--all-functions"] if rng.random() < 0.5 else [])]
    try:
        building.tool(["clang", level, _CSMITH, "-w", "-c", "source.c", "-o", plain.name], folder, "clang")
        if kind == ".c":
            words += ["--by-clang", f"{level} {_CSMITH} -w"]
        else:
            form = ["-S"] if kind == ".ll" else ["-c"]
            command = ["clang", level, _CSMITH, "-w", "-emit-llvm", *form, "source.c", "-o", source.name]
            building.tool(command, folder, "clang")
        expected = _shown(program, plain, folder)
    except Unbuilt as error:
        raise Discarded(str(error)) from error
    if expected.code:
        raise Discarded(f"run: exit code {expected.code}")
    tools.answered(source, "order", source, *words, "-o", new, output=new)
    item = building.assemble(new) if new.suffix == ".s" else new
    compare(expected, _shown(program, item, folder))


def _by_csmith(rng: np.random.Generator, folder: Path) -> Program:
    """Raises Discarded."""
    try:
        return csmith.generate(Draw(rng), folder, "tso")
    except Unbuilt as error:
        raise Discarded(str(error)) from error


def _shown(program: Program, item: Path, folder: Path) -> Ran:
    """What an object prints as a program. Raises Unbuilt."""
    building.link(program._replace(link=("gcc", "-no-pie", "-lm")), item, folder / "program")
    return building.run(folder / "program", building.SECONDS / 4)


def compare(expected: Ran, shown: Ran) -> None:
    """Raises Difference if a run shows something else."""
    if shown != expected:
        raise Difference(
            f"exit code {expected.code} -> {shown.code}; {expected.output[-80:]!r} -> {shown.output[-80:]!r}"
        )


def as_compiler(rng: np.random.Generator, folder: Path, tools: Tools) -> None:
    """`cc` stands for a compiler, with random options: same exit code and messages, and an equal program."""
    program = _by_csmith(rng, folder)
    draw = Draw(rng)
    words = [*options(draw, position(draw)), _CSMITH, "-w", "-c", "source.c", "-o"]
    plain = subprocess.run([*words, "plain.o"], cwd=folder, capture_output=True, text=True, check=False)
    how = ["--by", rng.choice(_BY), "--for", rng.choice(_FOR), "--seed", int(rng.integers(1000))]
    ended = tools.call("cc", *how, "--no-confirm", "--", *words, "new.o", real=True)
    if (ended.code, ended.err) != (plain.returncode, plain.stderr):
        raise Difference(f"{plain.returncode} {plain.stderr[-300:]!r} -> {ended.code} {ended.err[-300:]!r}")
    if plain.returncode:
        raise Discarded(f"compiler: {plain.stderr[-200:]}")
    try:
        expected = _shown(program, folder / "plain.o", folder)
    except Unbuilt as error:
        raise Discarded(str(error)) from error
    try:
        compare(expected, _shown(program, folder / "new.o", folder))
    except Unbuilt as error:
        raise Difference(f"the plain object links: {error}") from error


@cache
def sound() -> dict[str, list[bytes]]:
    """Sound files of all formats of code, compiled here."""
    with tempfile.TemporaryDirectory() as name:
        files = damaged_code.sound_files(Path(name))
        source = next(Path(name).glob("*.c"))
        texts = []
        for level in ("-O1", "-O3"):
            building.tool(["clang", level, "-w", "-S", "-emit-llvm", source.name, "-o", "a.ll"], Path(name), "clang")
            texts.append((Path(name) / "a.ll").read_bytes())
    return files | {"llvm": texts}


def damaged_files(rng: np.random.Generator, folder: Path, tools: Tools) -> None:
    """A damaged file is read by `order`, `blocks`, `explain` or `check`: refused, or its orders are legal."""
    kind = str(rng.choice(list(_SUFFIXES)))
    [case] = damaged_code.inputs(int(rng.integers(1 << 31)), 1, {kind: sound()[kind]})
    path = folder / f"damaged{_SUFFIXES[kind]}"
    path.write_bytes(case.content)
    verb = "order" if kind == "llvm" else str(rng.choice(["order", "order", "order", "blocks", "explain", "check"]))
    if verb == "check":
        whole = folder / f"whole{path.suffix}"
        whole.write_bytes(sound()[kind][0])
        before, after = rng.permutation([path, whole]).tolist() if rng.random() < 0.5 else (path, path)
        ended = tools.call("check", before, after)
        if ended.code and "differ in" not in ended.out:
            raise refusal(path, ended)
        return
    output = (
        folder
        / f"new{'.html' if verb == 'explain' else '.csv' if verb == 'blocks' or kind in _AS_LINES else path.suffix}"
    )
    words = [verb, path, "--out", output]
    if verb != "blocks":
        words += ["--for", rng.choice(_FOR)]
    if kind == "llvm":
        words += ["--evaluations", 2, "--all-functions"]
    elif verb == "order":
        words += ["--by", rng.choice(_BY), "--seed", int(rng.integers(1000)), "--no-confirm"]
    tools.answered(path, *words, output=output)
    if verb == "order" and kind not in (*_AS_LINES, "llvm"):
        agree(tools, path, output)


KINDS = {case.__name__: case for case in (order_programs, before_allocation, as_compiler, damaged_files)}
