"""Schedule your own blocks with a trained imitator: no training, no corpus."""

from __future__ import annotations

import csv
import gc
import io
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import torch
import typer
from tqdm import tqdm

from pipeline import tables
from pipeline.blocks.corpus.reorder import reordered
from pipeline.blocks.models.ordering_network import SHIPPED, OrderingNetwork
from pipeline.blocks.problems.batches import by_length
from pipeline.blocks.problems.reader import Code, Reader
from pipeline.blocks.problems.store import BlockStore
from pipeline.stages.command import run

_LONGEST = 64  # instructions
_LINES = 5000  # of a piece: what a process reads, schedules and describes at once
_INSTRUCTIONS = 2048  # of a batch: what is computed of it stays in a core's cache
_FIRST = b"4889d84889f1"  # mov rax, rbx; mov rcx, rsi: two orders are legal
_TEXT_PROBE_BYTES = 1 << 16
_COLUMNS = ("line", "status", "hex", "ordered_hex", "order", "confidence", "message")
_DELETE = "correct or delete the line"


class Fault(NamedTuple):
    """Why a line has no order, and what to do."""

    status: str  # bad | too long | empty
    message: str


class Order(NamedTuple):
    """A line's order, as it is written."""

    hex: str
    order: str
    confidence: str


def main(
    blocks: Annotated[Path, typer.Option(help="Blocks as lines of CSV: machine code in hexadecimal first, as BHive.")],
    out: Annotated[Path, typer.Option(help="CSV to write: a row for each line, in the lines' order.")],
    weights: Annotated[Path, typer.Option(help="A trained imitator; by default the one in the package.")] = SHIPPED,
) -> None:
    """Order the instructions of each block as GCC 4.9 would, legally: every dependency of the block holds.

    Columns: line; status (ok; bad: no whole instructions, or a control transfer; too long: more than 64 instructions;
    empty: nothing, or a comment behind #); hex; ordered_hex; order (index of the instruction in each slot); confidence
    (the network's probability of its order); message, what to do about a line without an order. Rip-relative operands
    keep their targets if the block keeps its place. Every core that the process may use is used.
    """
    if out.exists() and out.samefile(blocks):
        raise ValueError(f"{out}: the orders would take the place of the blocks; name another file as --out")
    lines = _lines(blocks)
    orderer = Orderer(weights, blocks.name)
    pieces = [(at + 1, lines[at : at + _LINES]) for at in range(0, len(lines), _LINES)]
    counts: Counter[str] = Counter()
    with tables.replacing(out) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(_text([_COLUMNS]))
        with tqdm(total=len(lines), desc="scheduling", unit="line", file=sys.stderr) as progress:
            for statuses, text in _shared(orderer, pieces):
                file.write(text)
                counts += statuses
                progress.update(statuses.total())
    refused = ", ".join(f"{counts[status]} {status}" for status in sorted(counts) if status != "ok")
    print(f"{counts['ok']} of {len(lines)} lines ordered{refused and f'; {refused}'}: see {out}", file=sys.stderr)


def _lines(blocks: Path) -> list[bytes]:
    """The lines of a file of text. Raises ValueError where it is none."""
    data = blocks.read_bytes().removeprefix(b"\xef\xbb\xbf")
    if b"\0" in data[:_TEXT_PROBE_BYTES]:
        raise ValueError(f"{blocks}: not UTF-8 text (it holds zero bytes); save it as CSV in UTF-8")
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def _text(rows: Iterable[Iterable[object]]) -> str:
    """Rows as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


class Orderer:
    """A network, and the instructions that it has met. What comes of some lines depends on nothing but these lines."""

    def __init__(self, weights: Path, name: str) -> None:
        self._network, self._name, self._reader = OrderingNetwork.load(weights), name, Reader("full")

    def __call__(self, first: int, lines: list[bytes]) -> tuple[Counter[str], str]:
        """How many lines there are of each status, and a row for each as CSV. `first`: number of the first line."""
        codes, results = self._results(lines)
        rows: list[tuple[object, ...]] = []
        for line, (code, result) in enumerate(zip(codes, results, strict=True), first):
            if isinstance(result, Order):
                rows.append((line, "ok", code.hex(), *result, ""))
            else:
                message = f"{self._name}, line {line}: {result.message}"
                rows.append((line, result.status, code.hex(), "", "", "", message))
        return Counter(str(status) for _, status, *_ in rows), _text(rows)

    def _results(self, lines: list[bytes]) -> tuple[list[bytes], list[Order | Fault]]:
        """The code of each line, empty where there is none, and what comes of it."""
        codes: list[bytes] = []
        faults: list[Fault | None] = []
        for line in lines:
            code, fault = _code(line)
            codes.append(code)
            faults.append(fault)
        given = [k for k, fault in enumerate(faults) if fault is None]
        for k, fault in zip(given, _faults(self._reader.decode([codes[k] for k in given])), strict=True):
            faults[k] = fault
        orders = iter(self._orders([code for code, fault in zip(codes, faults, strict=True) if fault is None]))
        return codes, [fault or next(orders) for fault in faults]

    def _orders(self, codes: list[bytes]) -> list[Order | Fault]:
        """Of whole and straight blocks of at most 64 instructions."""
        read = self._reader.decode(codes)
        bounds, masked = read.bounds.tolist(), read.masked.tobytes()
        # Blocks that are equal but for what is masked have one order.
        rows: dict[bytes, int] = {}
        row = np.array([rows.setdefault(masked[a:b], len(rows)) for a, b in pairwise(bounds)], np.int64)
        store, order, confidence = self._scheduled(list(rows))
        order, first = order[store.places(row)], read.found.first.tolist()
        moved, fits = reordered(read.code, read.bounds[:-1], read.found, self._reader.facts, order)
        ordered, slots = moved.tobytes().hex(), list(map(str, order.tolist()))
        beliefs = ["" if np.isnan(belief) else f"{belief:.4f}" for belief in confidence[row].tolist()]
        far = Fault("bad", f"a rip-relative operand is too far away to be moved; {_DELETE}")
        return [
            Order(ordered[2 * a : 2 * b], " ".join(slots[s:t]), belief) if fit else far
            for (a, b), (s, t), belief, fit in zip(pairwise(bounds), pairwise(first), beliefs, fits, strict=True)
        ]

    def _scheduled(self, codes: list[bytes]) -> tuple[BlockStore, np.ndarray, np.ndarray]:
        """Of masked blocks: the store; their orders one after the other, (N,); what is believed of each, (B,)."""
        store, encodings = self._reader.blocks(codes)
        order, confidence = np.arange(store.first[-1]) - np.repeat(store.first[:-1], store.lengths), np.ones(len(codes))
        bags = self._network.vocabulary.bags(encodings)
        choice = np.flatnonzero(store.has_choice(np.arange(len(codes))))  # the others have one order, and so it is sure
        for items in by_length(store.lengths[choice], _INSTRUCTIONS):
            rows = choice[items]
            orders, confidence[rows] = self._network.schedule(store.as_emitted(rows), encodings, bags)
            order[store.places(rows)] = orders.ravel()
        return store, order, confidence


def _code(line: bytes) -> tuple[bytes, Fault | None]:
    """A line's machine code, or why it holds none."""
    field = line.split(b",", 1)[0].strip()
    if not line.strip() or field.startswith(b"#"):
        return b"", Fault("empty", "no block is on it; nothing is to be done")
    try:
        code = bytes.fromhex(field.decode("ascii"))
    except ValueError:
        said = field[:40].decode("utf-8", "replace")
        return b"", Fault("bad", f"not hexadecimal: {said!r}; {_DELETE}; a header is none of the blocks and may stay")
    return code, None if code else Fault("bad", f"empty hex field; {_DELETE}")


def _faults(read: Code) -> list[Fault | None]:
    """Why blocks cannot be ordered."""
    faults: list[Fault | None] = [None] * len(read.whole)
    n = np.diff(read.found.first)
    for k in np.flatnonzero(~(read.whole & read.straight & (n <= _LONGEST))).tolist():
        if not read.whole[k]:
            faults[k] = Fault("bad", f"not made of whole x86-64 instructions; {_DELETE}")
        elif not read.straight[k]:
            faults[k] = Fault("bad", "transfers control before its end or at it; cut the block before the transfer")
        else:
            faults[k] = Fault("too long", f"{n[k]} instructions, at most {_LONGEST} are ordered; cut the block")
    return faults


def _shared(orderer: Orderer, pieces: list[tuple[int, list[bytes]]]) -> Iterator[tuple[Counter[str], str]]:
    """What comes of pieces, in their order, by as many processes as there are cores. Their number changes no result."""
    torch.set_num_threads(1)
    gc.freeze()  # what was imported is no garbage, and looking through it took a twentieth of the time
    processes = min(len(pieces), len(os.sched_getaffinity(0)))
    if processes <= 1:
        yield from (orderer(*piece) for piece in pieces)
        return
    orderer(1, [_FIRST])  # loads what is compiled, once for all processes
    try:
        with ProcessPoolExecutor(processes, get_context("fork"), _begin, (orderer,)) as pool:
            yield from pool.map(_piece, *zip(*pieces, strict=True))
    except BrokenProcessPool as error:
        raise ValueError("a process was killed, perhaps for want of memory; order fewer lines at a time") from error


def _begin(orderer: Orderer) -> None:
    """In a process of its own, which inherits the parent's memory."""
    global _mine
    _mine = orderer


def _piece(first: int, lines: list[bytes]) -> tuple[Counter[str], str]:
    return _mine(first, lines)


_mine: Orderer

if __name__ == "__main__":
    run(main)
