"""Assembly of real programs: C of the Debian sources in params.yaml, and C++ with exceptions, by the system's GCC."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.blocks.compiled.archives import c_files, prepare
from pipeline.blocks.corpus import fetch
from pipeline.blocks.formats.assembler import Refused, object_of
from pipeline.config.corpus import CProgram

LEVELS = ("-O0", "-O1", "-O2", "-O3")
VARIANTS = (
    ("-fPIC",),
    (),
    ("-masm=intel",),
    ("-fcf-protection",),
    ("-fPIC", "-pthread"),
    ("-fverbose-asm",),
    ("-march=haswell",),
    ("-fno-omit-frame-pointer",),
)
# qhull's classes in C++ throw and catch.
CPP_PROGRAM, CPP_SOURCES, CPP_FLAGS = "qhull", "src/libqhullcpp/*.cpp", ("-Isrc", "-std=c++14")
_MOST_BYTES = 3 << 20  # of a text: the few single files of 10 MB would take most of the time
_SECONDS = 300


class Text(NamedTuple):
    """An assembly file."""

    name: str  # program/file options
    content: bytes


def _compiled(folder: Path, file: str, flags: list[str], options: tuple[str, ...]) -> bytes | None:
    tool = "g++" if file.endswith(".cpp") else "gcc"
    command = [tool, *flags, *options, "-w", "-S", file, "-o", "-"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, timeout=_SECONDS, check=False)
    if ended.returncode != 0 or len(ended.stdout) > _MOST_BYTES:
        return None
    try:
        object_of(ended.stdout)  # with -masm=intel, inline assembly in AT&T syntax does not assemble
    except Refused:
        return None
    return ended.stdout


def texts(programs: Mapping[str, CProgram], folder: Path, count: int, rng: np.random.Generator) -> Iterator[Text]:
    """`count` files, a quarter of them C++ with exceptions, with -g; levels and variants take turns.

    `folder`: where the programs are unpacked, once.
    """
    jobs: dict[str, list[tuple[str, list[str]]]] = {}
    for name, program in programs.items():
        if not (folder / name).is_dir():
            prepare(program, fetch.cached(program.artifact), folder / name)
        jobs[name] = [(file, list(program.flags)) for file in c_files(program, folder / name)]
    plus = sorted((folder / CPP_PROGRAM).glob(CPP_SOURCES))
    jobs["qhull C++"] = [(str(file.relative_to(folder / CPP_PROGRAM)), list(CPP_FLAGS)) for file in plus]
    for files in jobs.values():
        rng.shuffle(files)
    turns = [name for name in jobs if name != "qhull C++"]
    names = cycle([name for k, name in enumerate(turns) for name in ([name, "qhull C++"] if k % 3 == 2 else [name])])
    position = dict.fromkeys(jobs, 0)
    number = 0
    while number < count:
        name = next(names)
        file, flags = jobs[name][position[name] % len(jobs[name])]
        turn = position[name] // len(jobs[name]) + number
        position[name] += 1
        options = (LEVELS[turn % len(LEVELS)], "-g", *VARIANTS[(turn // len(LEVELS)) % len(VARIANTS)])
        content = _compiled(folder / name.split()[0], file, flags, options)
        if content is not None:
            number += 1
            yield Text(f"{name}/{file} {' '.join(options)}", content)
