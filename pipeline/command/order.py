"""The verb `order`: order a user's own basic blocks with a trained imitator, without a corpus."""

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
_LINES = 5000  # in a piece, which a process reads, orders and describes at once
_INSTRUCTIONS = 2048  # in a batch, so that its intermediate results stay in a core's cache
_FIRST = b"4889d84889f1"  # mov rax, rbx; mov rcx, rsi: both orders are legal
_TEXT_PROBE_BYTES = 1 << 16
_COLUMNS = ("line", "status", "hex", "ordered_hex", "order", "confidence", "message")
_DELETE = "correct or delete the line"


class Fault(NamedTuple):
    """Why a line has no order, and the remedy."""

    status: str  # bad | too long | empty
    message: str


class Order(NamedTuple):
    """A line's order in the form of the output."""

    hex: str
    order: str
    confidence: str


def main(
    blocks: Annotated[
        Path, typer.Option(help="CSV file of blocks: each line starts with machine code in hexadecimal, as in BHive.")
    ],
    out: Annotated[Path, typer.Option(help="CSV file to write: a row for each line, in the same order.")],
    weights: Annotated[Path, typer.Option(help="Trained imitator. Default: the one in the package.")] = SHIPPED,
) -> None:
    """Order the instructions of each block like GCC 4.9. The order is legal: it respects every dependency of the block.

    Columns of the output: line; status (ok; bad: incomplete instructions, or a control transfer; too long: more than 64
    instructions; empty: an empty line, or a comment after #); hex; ordered_hex; order (index of the instruction in each
    slot); confidence (the network's probability of its order); message (for a line without an order, the reason and the
    remedy). Rip-relative operands keep their targets if the ordered block replaces the block at its address. The
    command uses all cores that the process may use.
    """
    if out.exists() and out.samefile(blocks):
        raise ValueError(f"{out}: the orders would overwrite the blocks; name another file as --out")
    lines = _lines(blocks)
    orderer = Orderer(weights, blocks.name)
    pieces = [(begin + 1, lines[begin : begin + _LINES]) for begin in range(0, len(lines), _LINES)]
    counts: Counter[str] = Counter()
    with tables.replacing(out) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(_text([_COLUMNS]))
        with tqdm(total=len(lines), desc="scheduling", unit="line", file=sys.stderr) as progress:
            for statuses, text in _shared(orderer, pieces):
                file.write(text)
                counts += statuses
                progress.update(statuses.total())
    faults = ", ".join(f"{counts[status]} {status}" for status in sorted(counts) if status != "ok")
    print(f"{counts['ok']} of {len(lines)} lines ordered{faults and f'; {faults}'}: see {out}", file=sys.stderr)


def _lines(blocks: Path) -> list[bytes]:
    """The lines of a text file. Raises ValueError if it is not a text file."""
    content = blocks.read_bytes().removeprefix(b"\xef\xbb\xbf")
    if b"\0" in content[:_TEXT_PROBE_BYTES]:
        raise ValueError(f"{blocks}: not UTF-8 text (it contains zero bytes); save it as CSV in UTF-8")
    lines = content.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def _text(rows: Iterable[Iterable[object]]) -> str:
    """Rows as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


class Orderer:
    """A network with a cache of instructions that it has read. The rows of some lines depend only on these lines."""

    def __init__(self, weights: Path, name: str) -> None:
        self._network, self._name, self._reader = OrderingNetwork.load(weights), name, Reader("full")

    def __call__(self, first: int, lines: list[bytes]) -> tuple[Counter[str], str]:
        """Number of lines of each status, and a row for each line as CSV. `first`: number of the first line."""
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
        """The code of each line, empty without code, and its order or fault."""
        codes: list[bytes] = []
        faults: list[Fault | None] = []
        for line in lines:
            code, fault = _code(line)
            codes.append(code)
            faults.append(fault)
        with_code = [k for k, fault in enumerate(faults) if fault is None]
        for k, fault in zip(with_code, _faults(self._reader.decode([codes[k] for k in with_code])), strict=True):
            faults[k] = fault
        orders = iter(self._orders([code for code, fault in zip(codes, faults, strict=True) if fault is None]))
        return codes, [fault or next(orders) for fault in faults]

    def _orders(self, codes: list[bytes]) -> list[Order | Fault]:
        """Orders of blocks of whole instructions without control transfers, at most 64 instructions each."""
        read = self._reader.decode(codes)
        bounds, masked = read.bounds.tolist(), read.masked.tobytes()
        # Blocks that only differ in masked bytes have the same order.
        rows: dict[bytes, int] = {}
        row = np.array([rows.setdefault(masked[a:b], len(rows)) for a, b in pairwise(bounds)], np.int64)
        store, order, confidence = self._scheduled(list(rows))
        order, first = order[store.places(row)], read.decoded.first.tolist()
        moved_code, fits = reordered(read.code, read.bounds[:-1], read.decoded, self._reader.facts, order)
        ordered, slots = moved_code.tobytes().hex(), list(map(str, order.tolist()))
        beliefs = ["" if np.isnan(belief) else f"{belief:.4f}" for belief in confidence[row].tolist()]
        far = Fault("bad", f"a rip-relative operand is too far away to be moved; {_DELETE}")
        return [
            Order(ordered[2 * a : 2 * b], " ".join(slots[s:t]), belief) if fit else far
            for (a, b), (s, t), belief, fit in zip(pairwise(bounds), pairwise(first), beliefs, fits, strict=True)
        ]

    def _scheduled(self, codes: list[bytes]) -> tuple[BlockStore, np.ndarray, np.ndarray]:
        """For masked blocks: the store, their orders one after the other, (N,), and the network's confidence, (B,)."""
        store, encodings = self._reader.blocks(codes)
        order, confidence = np.arange(store.first[-1]) - np.repeat(store.first[:-1], store.lengths), np.ones(len(codes))
        bags = self._network.vocabulary.bags(encodings)
        choice = np.flatnonzero(store.has_choice(np.arange(len(codes))))  # blocks without a choice have confidence 1
        for items in by_length(store.lengths[choice], _INSTRUCTIONS):
            rows = choice[items]
            orders, confidence[rows] = self._network.schedule(store.as_emitted(rows), encodings, bags)
            order[store.places(rows)] = orders.ravel()
        return store, order, confidence


def _code(line: bytes) -> tuple[bytes, Fault | None]:
    """A line's machine code, or why it has no machine code."""
    field = line.split(b",", 1)[0].strip()
    if not line.strip() or field.startswith(b"#"):
        return b"", Fault("empty", "the line has no block; nothing needs to be done")
    try:
        code = bytes.fromhex(field.decode("ascii"))
    except ValueError:
        text = field[:40].decode("utf-8", "replace")
        return b"", Fault("bad", f"not hexadecimal: {text!r}; {_DELETE}; a header line may stay")
    return code, None if code else Fault("bad", f"empty hex field; {_DELETE}")


def _faults(read: Code) -> list[Fault | None]:
    """Why each block cannot be ordered; None if it can."""
    faults: list[Fault | None] = [None] * len(read.whole)
    n = np.diff(read.decoded.first)
    for k in np.flatnonzero(~(read.whole & read.straight & (n <= _LONGEST))).tolist():
        if not read.whole[k]:
            faults[k] = Fault("bad", f"not made of whole x86-64 instructions; {_DELETE}")
        elif not read.straight[k]:
            faults[k] = Fault("bad", "transfers control before its end or at it; cut the block before the transfer")
        else:
            faults[k] = Fault("too long", f"{n[k]} instructions, but at most {_LONGEST} are possible; cut the block")
    return faults


def _shared(orderer: Orderer, pieces: list[tuple[int, list[bytes]]]) -> Iterator[tuple[Counter[str], str]]:
    """Results of the pieces, in their order, by one process per core. The number of processes changes no result."""
    torch.set_num_threads(1)
    gc.freeze()  # imported objects are no garbage, and scanning them took a twentieth of the time
    processes = min(len(pieces), len(os.sched_getaffinity(0)))
    if processes <= 1:
        yield from (orderer(*piece) for piece in pieces)
        return
    orderer(1, [_FIRST])  # loads the compiled code once for all processes
    try:
        with ProcessPoolExecutor(processes, get_context("fork"), _begin, (orderer,)) as pool:
            yield from pool.map(_piece, *zip(*pieces, strict=True))
    except BrokenProcessPool as error:
        raise ValueError("a process was killed, perhaps because memory ran out; order fewer lines at a time") from error


def _begin(orderer: Orderer) -> None:
    """Set the orderer of a process, which inherits the parent's memory."""
    global _process_orderer
    _process_orderer = orderer


def _piece(first: int, lines: list[bytes]) -> tuple[Counter[str], str]:
    return _process_orderer(first, lines)


_process_orderer: Orderer

if __name__ == "__main__":
    run(main)
