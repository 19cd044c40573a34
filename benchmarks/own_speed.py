"""Blocks that `learned-schedulers order` orders in a second, as a user experiences it, and lines that it loses.

    python -m benchmarks.own_speed

A CSV of 300,000 lines in BHive's form is made from real blocks of the corpus, drawn by a seed: hexadecimal and a
number, among them a header, lines without code, bad ones and comments. Timed on two cores: the command, a process of
its own, from its start to its end: imports, reading, decoding, dependencies under `tso`, orders, comparison of cycles,
writing. Start-up is the time of the same command for a file of one line, run right before. Compiled code is cached by a
run before. Median, smallest and largest of 3 rounds. Equal blocks are ordered once, so 20,000 distinct blocks are timed
in the same way, on one core (set `distinct`). A file of assembly with 8,000 functions, each in a section of its own as
C++ has them, is read in this process (set `sections`, read_seconds). Then a file of 10 million lines, the same ones
again and again, is streamed through `--by policy` once, and its largest memory is read.

It publishes the experiment `own_speed`: blocks_per_second behind the start-up, start_up_seconds, command_seconds,
lost_lines (those without their own line, or with another end than before, in the output), peak_memory_gb.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
import psutil
import pyarrow.parquet as pq
import typer

from benchmarks.publishing import PUBLISHED, of_rounds, publish
from learned_schedulers.blocks.order.methods import GUESS, policy_file
from learned_schedulers.blocks.read import assembly_file
from pipeline.lab.places import path
from pipeline.lab.rows import Quantity, Row, results, row

_COMMAND = (sys.executable, "-m", "learned_schedulers.command.main")
_CORES, _ROUNDS, _LINES, _STREAMED, _SEED = 2, 3, 300_000, 10_000_000, 24
_DISTINCT, _SECTIONS = 20_000, 8_000
_FUNCTION = """\t.section .text.f$,"axG",@progbits,f$,comdat
\t.weak f$
\t.type f$,@function
f$:
\tmovl %edi,%eax
\timull %esi,%eax
\tleal 3(%rsi),%ecx
\timull %ecx,%eax
\tcall g$
\tmovl x$(%rip),%eax
\tret
\t.size f$,.-f$
"""
_TARGET = "haswell"
_UNUSUAL = {
    0: b"hex,cycles\n",
    1: b",0.0531\n",
    2: b"# a comment\n",
    3: b"\n",
    4: b"zz,1\n",
    5: b"c3,4\n",
    6: b"0f,2\n",
}


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "own_speed",
    lines: Annotated[int, typer.Option(help="Lines of the timed file.")] = _LINES,
    streamed: Annotated[int, typer.Option(help="Lines of the streamed file; 0: none.")] = _STREAMED,
) -> None:
    """Time the command, and count what it loses."""
    inputs = [path("blocks", corpus="released")]
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[:_CORES])  # the command inherits it
    rows: list[Row] = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        source = _lines(Path(inputs[0]), lines)
        (folder / "all.csv").write_bytes(b"".join(source))
        (folder / "one.csv").write_bytes(source[len(_UNUSUAL)])
        for by in ("policy", "learned", "imitator"):
            rows += _timed(folder, by, source, "all")
        distinct = _distinct(Path(inputs[0]))
        (folder / "distinct.csv").write_bytes(b"".join(distinct))
        os.sched_setaffinity(0, sorted(allowed)[:1])
        for by in ("policy", "search", "learned"):
            rows += _timed(folder, by, distinct, "distinct")
        rows.append(_sections())
        os.sched_setaffinity(0, sorted(allowed)[:_CORES])
        if streamed:
            rows += _streamed(folder, source, streamed)
    os.sched_setaffinity(0, allowed)
    settings = {"cores": _CORES, "rounds": _ROUNDS, "lines": lines, "streamed": streamed, "target": _TARGET}
    publish(output, {"results": results(rows)}, settings, inputs, [GUESS, policy_file(_TARGET)])


def _lines(blocks: Path, size: int) -> list[bytes]:
    """Lines of a CSV in BHive's form, with the unusual ones first."""
    code = pq.read_table(blocks, columns=["code"])["code"]
    rng = np.random.default_rng(_SEED)
    rows = np.sort(rng.choice(len(code), size - len(_UNUSUAL), replace=size > len(code)))
    values = rng.integers(10, 90_000, len(rows)).tolist()
    codes = code.take(rows).to_pylist()
    numbered = [
        b"%s,%d.%06d\n" % (block.hex().encode(), value, value) for block, value in zip(codes, values, strict=True)
    ]
    return [*_UNUSUAL.values(), *numbered]


def _distinct(blocks: Path) -> list[bytes]:
    """Lines of distinct blocks."""
    code = pq.read_table(blocks, columns=["code"])["code"].unique()
    rows = np.sort(np.random.default_rng(_SEED).choice(len(code), _DISTINCT, replace=False))
    return [b"%s,1.0\n" % block.hex().encode() for block in code.take(rows).to_pylist()]


def _sections() -> Row:
    """Seconds to read a file of assembly of many sections."""
    text = "".join(_FUNCTION.replace("$", str(k)) for k in range(_SECTIONS)).encode()

    def seconds() -> float:
        start = time.perf_counter()
        blocks = assembly_file.read(text, "sections.s").blocks
        assert len(blocks) >= _SECTIONS
        return time.perf_counter() - start

    seconds()
    place = {"experiment": "own_speed", "set": "sections", "target": _TARGET, "method": "policy", "dependencies": "tso"}
    timed = of_rounds(place, Quantity("read_seconds", unit="seconds"), [seconds() for _ in range(_ROUNDS)], _SECTIONS)
    print(f"read_seconds of {_SECTIONS:,} sections: {timed['value']:.2f}", flush=True)
    return timed


def _words(folder: Path, name: str, by: str) -> list[str]:
    files = [str(folder / f"{name}.csv"), "-o", str(folder / "out.csv")]
    return [*_COMMAND, "order", *files, "--for", _TARGET, "--by", by, "--no-confirm"]


def _seconds(folder: Path, name: str, by: str) -> float:
    start = time.perf_counter()
    subprocess.run(_words(folder, name, by), check=True, capture_output=True)
    return time.perf_counter() - start


def _lost(folder: Path, source: list[bytes]) -> int:
    """Lines without one of their own in the output: as many instructions' bytes, and the same rest of the line."""
    written = (folder / "out.csv").read_bytes().splitlines(keepends=True)
    lost = abs(len(written) - len(source))
    for line, answer in zip(source, written, strict=False):
        code, rest = line.partition(b",")[::2]
        new_code, new_rest = answer.partition(b",")[::2]
        lost += not (rest == new_rest and len(code) == len(new_code))
    return lost


def _timed(folder: Path, by: str, source: list[bytes], name: str) -> list[Row]:
    """The rows of one method with the file of a name, which is the set."""
    _seconds(folder, name, by)
    pairs = np.array([(_seconds(folder, "one", by), _seconds(folder, name, by)) for _ in range(_ROUNDS)])
    start_up, whole = pairs.T
    place = {"experiment": "own_speed", "set": name, "target": _TARGET, "method": by}
    place |= {"dependencies": "tso", "seed": "all"}
    rows: list[Row] = []
    for quantity, values in (
        (Quantity("blocks_per_second"), len(source) / (whole - start_up)),
        (Quantity("start_up_seconds", unit="seconds"), start_up),
        (Quantity("command_seconds", unit="seconds"), whole),
    ):
        timed = of_rounds(place, quantity, values, len(source))
        spread = f"{timed['low']:,.1f} to {timed['high']:,.1f}"
        print(f"{name}, {by} {quantity.metric}: {timed['value']:,.1f} ({spread})", flush=True)
        rows.append(timed)
    lost = _lost(folder, source)
    print(f"{by} lost_lines: {lost}", flush=True)
    return [*rows, row(place, Quantity("lost_lines", unit="count"), float(lost), n=len(source))]


def _streamed(folder: Path, source: list[bytes], size: int) -> list[Row]:
    """The largest memory of the command and its processes, and what it loses, for a large file."""
    with (folder / "large.csv").open("wb") as file:
        for begin in range(0, size, len(source)):
            file.writelines(source[: size - begin])
    start = time.perf_counter()
    with subprocess.Popen(_words(folder, "large", "policy"), stderr=subprocess.DEVNULL) as process:
        peak, ended = 0.0, threading.Event()
        while process.poll() is None:
            peak = max(peak, _memory(process.pid))
            ended.wait(0.5)
    seconds = time.perf_counter() - start
    with (folder / "out.csv").open("rb") as file:
        lost = size - sum(1 for _ in file) if process.returncode == 0 else size
    print(f"{size:,} lines: {seconds:,.0f} s, {peak / 1e9:.2f} GB, {lost} lost", flush=True)
    place = {"experiment": "own_speed", "set": "streamed", "target": _TARGET, "method": "policy", "dependencies": "tso"}
    return [
        row(place, Quantity("peak_memory_gb"), peak / 1e9, n=size, seed="all"),
        row(place, Quantity("lost_lines", unit="count"), float(lost), n=size, seed="all"),
        row(place, Quantity("command_seconds", unit="seconds"), seconds, n=size, seed="all"),
    ]


def _memory(process: int) -> float:
    """Bytes that a process and its children occupy, pages that they share counted once (proportional set size)."""
    total = 0
    try:
        parent = psutil.Process(process)
        for part in (parent, *parent.children(recursive=True)):
            total += part.memory_full_info().pss
    except psutil.Error:  # a process has just ended
        return 0.0
    return float(total)


if __name__ == "__main__":
    typer.run(main)
