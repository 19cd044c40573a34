"""Blocks of people's files, ordered by every method under `tso`, and run in the old and in the new order.

    python -m benchmarks.own_blocks FILE...

Blocks: those of the files (assembly, objects, archives, programs), and blocks of the corpus as lines of BHive's CSV.
Each file is read, ordered, written and read again by the code of the console command. Each block of the written file
has to be a legal order of the block that was read, by dependencies that are found anew, and to leave the same state
from random start states, in the confined child. Only what is written counts. Equal blocks of a format count once.

Two controls: `random` writes random legal orders, which move more instructions than a method's; `broken` reverses one
dependency of each block, to show that the runs detect it. (Not all of them: there are dependencies for caution, whose
reversal no state shows.)

It publishes the experiment `own_blocks`, by format (`set`) and method, and over all of them (`all`, without controls):
blocks_that_differ (other instructions, an illegal order, or another state), blocks, blocks_changed, blocks_run (of the
changed ones), blocks_that_cannot_run; of `broken` alone share_detected. `n`: blocks.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from hashlib import blake2b
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

import numpy as np
import pyarrow.parquet as pq
import typer
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers.blocks.dag.conflicts import LONGEST
from learned_schedulers.blocks.dag.dependencies import Kind
from learned_schedulers.blocks.dag.memory_order import MemoryDags, MemoryOrder, linked_by_form
from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.blocks.dag.topology import adjacency
from learned_schedulers.blocks.order.legality import Legality, paired
from learned_schedulers.blocks.order.line_orders import LineOrderer
from learned_schedulers.blocks.order.matching import Instructions
from learned_schedulers.blocks.order.methods import MEASURED, By
from learned_schedulers.blocks.order.orderer import Orderer, Status
from learned_schedulers.blocks.order.proof import Change, Prover
from learned_schedulers.blocks.order.targets import Target
from learned_schedulers.blocks.read import reading
from learned_schedulers.blocks.read.document import CodeBlock, Document
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.lines import code_of
from learned_schedulers.blocks.read.reorder import reordered
from pipeline.lab.places import path
from pipeline.lab.rows import Quantity, Row, results, row

MEMORY: MemoryOrder = "tso"
CONTROLS = ("random", "broken")
ANY = Kind(sum(Kind))
WRONG = ("different", "illegal", "other instructions")
TARGET: Target = "atom"  # all methods serve it, and on a processor in order they change most blocks
_JOBS = {"cp_sat": 10}  # methods that take up to a second for a block take part in so many jobs
_LINES, _BATCH, _SEED = 500, 2000, 24

Orders = dict[int, tuple[int, ...]]  # index of a block -> its new order


class Job(NamedTuple):
    """A file, or blocks as lines."""

    file: Path | None
    lines: list[bytes]
    methods: tuple[str, ...]
    number: int


class Verdict(NamedTuple):
    """What became of a block."""

    format: str
    block: bytes  # digest of code and marks
    place: str
    method: str
    name: str  # unchanged | equal | not runnable | one of WRONG
    detail: str = ""


def main(
    files: Annotated[list[Path] | None, typer.Argument(help="Assembly, objects, archives, programs.")] = None,
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "own_blocks",
    blocks: Annotated[int, typer.Option(help="Blocks of the corpus, as lines.")] = 50_000,
    chosen: Annotated[list[str] | None, typer.Option("--method", help="Otherwise all methods and controls.")] = None,
) -> None:
    """Order, write, read again, compare and run the blocks of all formats."""
    methods = tuple(chosen or [*MEASURED, *CONTROLS])
    inputs = [path("blocks", corpus="released"), *map(str, files or [])]
    jobs = _jobs(files or [], _lines(Path(inputs[0]), blocks), methods)
    tally: Tally = Tally()
    for verdict in tqdm(_verdicts(jobs), "verdicts"):
        if tally.add(verdict) and verdict.name in WRONG and verdict.method != "broken":
            tqdm.write(f"{verdict.format}, {verdict.place}, {verdict.method}: {verdict.name}: {verdict.detail}")
    rows = tally.rows(output.name)
    for shown in rows:
        print(f"{shown['set']:<12} {shown['method']:<10} {shown['metric']:<24} {shown['value']:,.5g}")
    settings = {"blocks": blocks, "methods": methods, "memory": MEMORY, "target": TARGET}
    publish(output, {"results": results(rows)}, settings, inputs)


def _lines(blocks: Path, size: int) -> list[bytes]:
    """Blocks of the corpus as lines of BHive's CSV."""
    code = pq.read_table(blocks, columns=["code"])["code"]
    rows = np.sort(np.random.default_rng(_SEED).choice(len(code), size, replace=False))
    return [b"%s,1.0\n" % block.hex().encode() for block in code.take(rows).to_pylist()]


def _jobs(files: Sequence[Path], lines: list[bytes], methods: tuple[str, ...]) -> list[Job]:
    pieces: list[tuple[Path | None, list[bytes]]] = [(file, []) for file in files]
    pieces += [(None, lines[begin : begin + _LINES]) for begin in range(0, len(lines), _LINES)]
    return [
        Job(file, part, tuple(method for method in methods if number < _JOBS.get(method, len(pieces))), number)
        for number, (file, part) in enumerate(pieces)
    ]


def _verdicts(jobs: Sequence[Job]) -> Iterator[Verdict]:
    """The verdicts of all jobs, by one process per core."""
    cores, context = sorted(os.sched_getaffinity(0)), get_context("spawn")
    queue = context.SimpleQueue()
    for core in cores:
        queue.put(core)
    with ProcessPoolExecutor(len(cores), context, _begin, (queue,)) as pool:
        yield from chain.from_iterable(pool.map(_work, jobs))


_worker: Worker


def _begin(cores: Any) -> None:
    """Give this process a core of its own, and a worker."""
    global _worker
    os.sched_setaffinity(0, {cores.get()})
    _worker = Worker()


def _work(job: Job) -> list[Verdict]:
    return _worker.verdicts(job)


class Tally:
    """Counts of verdicts; equal blocks of a format count once for a method."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._counted: set[tuple[str, str, bytes]] = set()

    def add(self, verdict: Verdict) -> bool:
        """Count a verdict. Returns whether it is the first of its block."""
        key = (verdict.format, verdict.method, verdict.block)
        if key in self._counted:
            return False
        self._counted.add(key)
        self._counts[verdict.format, verdict.method, verdict.name] += 1
        return True

    def rows(self, experiment: str) -> list[Row]:
        """Rows by format and method, then over all of them."""
        counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for (form, method, name), count in self._counts.items():
            counts[form, method][name] += count
            if method not in CONTROLS:
                counts["all", method][name] += count
                counts["all", "all"][name] += count
        blocks: dict[tuple[str, str], set[tuple[str, bytes]]] = defaultdict(set)
        for form, method, block in self._counted:
            for key in ((form, method), *([("all", method), ("all", "all")] if method not in CONTROLS else [])):
                blocks[key].add((form, block))
        rows: list[Row] = []
        for (form, method), names in sorted(counts.items()):
            place = {"experiment": experiment, "set": form, "dependencies": MEMORY, "method": method, "seed": "all"}
            place |= {"target": TARGET}
            size = len(blocks[form, method])
            ran = names["equal"] + names["different"]
            numbers = {
                "blocks_that_differ": sum(names[name] for name in WRONG),
                "blocks": size,
                "blocks_changed": sum(names.values()) - names["unchanged"],
                "blocks_run": ran,
                "blocks_that_cannot_run": names["not runnable"],
            }
            rows += [row(place, Quantity(name, unit="count"), float(value), n=size) for name, value in numbers.items()]
            if method == "broken" and ran:
                rows.append(row(place, Quantity("share_detected", unit="share"), names["different"] / ran, n=ran))
        return rows


class Worker:
    """Orders, writes, reads again, compares and runs blocks; one per process."""

    def __init__(self) -> None:
        self._orderers: dict[str, Orderer] = {}
        self._legality = Legality(MEMORY)
        self._control = Control()
        self._prover = Prover(seed=_SEED).__enter__()  # as long as the process lives

    def close(self) -> None:
        self._prover.__exit__()

    def verdicts(self, job: Job) -> list[Verdict]:
        """Verdicts of all blocks of a job, by all of its methods."""
        if job.file is None:
            name, before, after = "lines", *self._of_lines(job)
        else:
            name, before, after = self._of_file(job.file, job)
        return self._judged(name, before, after)

    def _orderer(self, method: str) -> Orderer:
        if method not in self._orderers:
            by = cast(By, method)
            self._orderers[method] = Orderer(by, TARGET, MEMORY, seed=_SEED)
        return self._orderers[method]

    def _of_lines(self, job: Job) -> tuple[list[CodeBlock], dict[str, dict[int, bytes]]]:
        """The blocks of lines, and by method their codes in the lines that are written."""
        before = self._control.blocks(job.lines)
        after: dict[str, dict[int, bytes]] = {}
        for method in job.methods:
            if method in CONTROLS:
                orders = self._control.orders(method, before, job.number)
                lines = [b"%s,1.0\n" % code.hex().encode() for code in self._control.written(before, orders)]
            else:
                lines = LineOrderer(self._orderer(method))((job.number * _LINES, job.lines)).lines
            after[method] = dict(enumerate(block.code for block in self._control.blocks(lines)))
        return before, after

    def _of_file(self, file: Path, job: Job) -> tuple[str, list[CodeBlock], dict[str, dict[int, bytes]]]:
        """The format of a file, its blocks, and by method their codes in the file that is written."""
        content, name = file.read_bytes(), reading.format_of(file)
        before: list[CodeBlock] = []
        after: dict[str, dict[int, bytes]] = {}
        for method in job.methods:
            document = reading.document(name, content, file)
            before = list(document.blocks)
            if method in CONTROLS:
                orders = self._control.orders(method, before, job.number)
            else:
                orders = self._orders(document, self._orderer(method))
            pairs, _ = paired(document, reading.document(name, document.rewritten(orders), file))
            after[method] = dict(pairs)
        return name, before, after

    def _orders(self, document: Document, orderer: Orderer) -> Orders:
        orders: Orders = {}
        for begin in range(0, len(document.blocks), _BATCH):
            part = document.blocks[begin : begin + _BATCH]
            answer = orderer.order([block.code for block in part], [block.marks for block in part], begin)
            for k in (answer.status == Status.CHANGED).nonzero()[0].tolist():
                orders[begin + k] = tuple(answer.of(k).tolist())
        return orders

    def _judged(self, name: str, before: list[CodeBlock], after: dict[str, dict[int, bytes]]) -> list[Verdict]:
        """Verdicts of blocks. after: by method, codes of blocks; one that is missing has become something else."""
        verdicts: list[Verdict] = []
        changes: dict[int, dict[str, tuple[tuple[int, ...], bytes]]] = defaultdict(dict)
        digests = [blake2b(block.code + bytes(1) + block.marks, digest_size=16).digest() for block in before]

        def add(k: int, method: str, outcome: str, detail: str = "") -> None:
            verdicts.append(Verdict(name, digests[k], before[k].place, method, outcome, detail))

        for method, codes in after.items():
            present = sorted(codes.keys() & range(len(before)))
            for k in set(range(len(before))).difference(present):
                add(k, method, "other instructions", "the written file has no block at this place")
            judgements = self._legality.judge([before[k] for k in present], [codes[k] for k in present])
            for k, judgement in zip(present, judgements, strict=True):
                if codes[k] == before[k].code:
                    add(k, method, "unchanged")
                elif judgement.order is None:
                    add(k, method, "other instructions", judgement.reason)
                elif judgement.is_legal == (method == "broken"):
                    add(k, method, "illegal", "legal" if judgement.is_legal else judgement.violations[0].reason)
                else:
                    changes[k][method] = judgement.order, codes[k]
        runs = [
            Change(before[k].code, before[k].marks, *zip(*of_block.values(), strict=True))
            for k, of_block in changes.items()
        ]
        for (k, of_block), outcomes in zip(changes.items(), self._prover.outcomes(runs), strict=True):
            for method, outcome in zip(of_block, outcomes, strict=True):
                add(k, method, outcome.name, outcome.detail)
        return verdicts


class Control:
    """Random legal orders, and orders that break one dependency."""

    def __init__(self) -> None:
        self._forms = Forms()
        self._dags = {"random": MemoryDags(MEMORY, self._forms), "broken": MemoryDags("single_thread", self._forms)}

    def blocks(self, lines: Sequence[bytes]) -> list[CodeBlock]:
        """The blocks of lines. Displacements of zero are the linker's; rip-relative operands keep their targets."""
        codes = [code for line in lines if isinstance(code := code_of(line), bytes)]
        bounds = np.cumsum([0, *map(len, codes)])
        content = np.frombuffer(b"".join(codes), np.uint8)
        decoded = self._forms.decode(content, bounds[:-1], bounds[1:])
        marks = linked_by_form(content, bounds[:-1], decoded, self._forms.facts)
        marks[self._forms.facts["rip_relative"][decoded.form]] = 0
        first = decoded.first.tolist()
        return [CodeBlock(code.hex(), code, marks[first[k] : first[k + 1]].tobytes()) for k, code in enumerate(codes)]

    def orders(self, control: str, blocks: Sequence[CodeBlock], number: int, kinds: Kind = ANY) -> Orders:
        """New orders of blocks of at most 64 instructions; for `broken`, of those with a dependency of these kinds."""
        rng = np.random.default_rng([_SEED, number])
        short = [k for k, block in enumerate(blocks) if len(block.marks) <= LONGEST]
        read = self._dags[control].conflicts([blocks[k].code for k in short], [blocks[k].marks for k in short])
        conflicts = read.conflicts
        orders: Orders = {}
        for number_of_short, k in enumerate(short):
            edges = slice(conflicts.offsets[number_of_short], conflicts.offsets[number_of_short + 1])
            before, after = conflicts.before[edges], conflicts.after[edges]
            n = len(blocks[k].marks)
            precedes = adjacency(n, [before], [after])
            if control == "broken":
                pieces = Instructions([blocks[k].code], self._forms).plain(0)  # equal instructions may change places
                # Nothing else demands the order of these.
                reduced = np.flatnonzero(conflicts.reduced[edges] & ((conflicts.kinds[edges] & int(kinds)) > 0))
                reduced = reduced[np.array([pieces[before[e]] != pieces[after[e]] for e in reduced], bool)]
                if not len(reduced):
                    continue
                edge = rng.choice(reduced)
                i, j = before[edge], after[edge]
                precedes[0, i, j], precedes[0, j, i] = False, True
            order = tuple(random_ready(precedes, rng)[0].tolist())
            if order != tuple(range(n)):
                orders[k] = order
        return orders

    def written(self, blocks: Sequence[CodeBlock], orders: Orders) -> list[bytes]:
        """Codes of blocks in new orders, with the same targets of rip-relative operands."""
        codes = [block.code for block in blocks]
        bounds = np.cumsum([0, *map(len, codes)])
        content = np.frombuffer(b"".join(codes), np.uint8)
        decoded = self._forms.decode(content, bounds[:-1], bounds[1:])
        order = [orders.get(k, range(len(block.marks))) for k, block in enumerate(blocks)]
        moved, _ = reordered(content, bounds[:-1], decoded, self._forms.facts, np.concatenate(order).astype(np.int64))
        return [moved[bounds[k] : bounds[k + 1]].tobytes() for k in range(len(codes))]


if __name__ == "__main__":
    typer.run(main)
