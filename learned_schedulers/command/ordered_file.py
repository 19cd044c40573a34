"""One file of the verb `order`: read, ordered, proven, written whole or not at all, and what is said of it."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

from tqdm import tqdm

from learned_schedulers.blocks.dag.memory_order import MemoryOrder
from learned_schedulers.blocks.order.file_orders import Change, CycleSums, Orders, joined, limited, propose
from learned_schedulers.blocks.order.line_orders import LINES, WARM_UP, LineOrderer
from learned_schedulers.blocks.order.methods import WITHOUT_PROCESSOR, By
from learned_schedulers.blocks.order.orderer import Orderer
from learned_schedulers.blocks.order.processes import mapped
from learned_schedulers.blocks.order.targets import Target
from learned_schedulers.blocks.processors import llvm_mca
from learned_schedulers.blocks.read import reading
from learned_schedulers.blocks.read.document import Blocks, Document, Fault
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.lines import pieces
from learned_schedulers.blocks.read.reorder import permuted
from learned_schedulers.blocks.read.unreadable import Unreadable
from learned_schedulers.command.results import STANDARD, Result, result_of, write
from learned_schedulers.files import replacing

_LISTED = 10_000  # faults of lines that a report lists
_SMALL_BLOCKS, _SMALL_BYTES = 50_000, 1 << 20  # llvm-mca simulates some 500 changed blocks a second of one core


class Job(NamedTuple):
    """What to do with each file."""

    target: Target
    by: By
    memory: MemoryOrder
    verify: Literal["dag", "sample", "all"]
    only_blocks: Sequence[str]
    limit: int | None
    weights: Path | None
    seed: int
    diff: bool
    quiet: bool  # print nothing for people on standard output
    confirm: bool | None = None  # ask llvm-mca about new orders; None: where it is installed, for files that are small

    def orderer(self, is_small: bool) -> Orderer:
        """Raises ValueError if llvm-mca is asked for and not installed."""
        return Orderer(self.by, self.target, self.memory, self.weights, self.seed, self.confirms(is_small))

    def confirms(self, is_small: bool) -> bool:
        """Whether llvm-mca is asked about new orders."""
        if self.by in WITHOUT_PROCESSOR:
            return False
        return self.confirm if self.confirm is not None else is_small and llvm_mca.find() is not None


def ordered_file(file: Path, output: Path | None, job: Job) -> Result:
    """Order one file. Raises ValueError or OSError for what stops the whole command, as a full disk does."""

    def work() -> Result:
        name = reading.LINES if file == STANDARD else reading.format_of(file)
        if reading.is_document(name):
            return _document(name, file, output, job)
        return _lines(file, output, job)

    return result_of(file, work)


def _document(name: str, file: Path, output: Path | None, job: Job) -> Result:
    content = file.read_bytes()
    document = reading.document(name, content, file)
    orders = orders_of(document, job, file.name)
    orders, different = proven(document, orders, job)
    new_content = document.rewritten(orders.as_mapping())  # it may leave further blocks as they are, and say so
    if output is not None:
        write(new_content, output, file)
    unproven = [fault for fault in document.faults if fault.reason.startswith("defect")]
    left = {fault.place for fault in unproven}
    orders = orders._replace(changes=[change for change in orders.changes if change.place not in left])
    if job.diff and not job.quiet:
        from learned_schedulers.command.order_diff import show  # rich is slow to import

        show(document, orders)
    faults = [*document.faults, *orders.faults, *different]
    cycles = _cycles(orders.changes)
    changes = {"changes": [change._asdict() for change in orders.changes]}
    return _result(file, output, name, job, orders, faults, cycles, changes, bool(different or unproven))


def _cycles(changes: Sequence[Change]) -> CycleSums:
    """Cycles of the changed blocks that the model of the processor knows."""
    compared = [change for change in changes if change.before >= 0]
    before, after = sum(change.before for change in compared), sum(change.after for change in compared)
    confirmed = [change for change in compared if change.loop_before >= 0]
    loops = sum(change.loop_before for change in confirmed), sum(change.loop_after for change in confirmed)
    return CycleSums(before, after, *loops)


def orders_of(document: Blocks, job: Job, label: str) -> Orders:
    """New orders of a document's blocks, with a progress bar where stderr is a terminal."""
    parts: list[Orders] = []
    with tqdm(total=len(document.blocks), desc=label, unit="block", leave=False, disable=None) as progress:
        for count, part in propose(document, job.orderer(len(document.blocks) <= _SMALL_BLOCKS)):
            parts.append(part)
            progress.update(count)
    return limited(joined(parts), job.only_blocks, job.limit)


def proven(document: Document, orders: Orders, job: Job) -> tuple[Orders, list[Fault]]:
    """The orders without those that leave another state when they are run; runs nothing unless --verify asks for it."""
    if job.verify == "dag":
        return orders, []
    from learned_schedulers.blocks.order import proof  # slow to import, and most files are not run

    forms = Forms()
    runs: list[proof.Change] = []
    for change in orders.changes:
        block = document.blocks[change.block]
        code = permuted(block, change.order, forms)  # None where the document itself keeps the old order
        runs.append(proof.Change(block.code, block.marks, [change.order], [block.code if code is None else code]))
    with proof.Prover(proof.SHARES[job.verify], job.seed) as prover:
        outcomes = [outcome for [outcome] in prover.outcomes(runs)]
    different = [
        Fault(
            change.place,
            f"defect: its new order leaves another state ({outcome.detail})",
            "it stays as it was; please report it",
        )
        for change, outcome in zip(orders.changes, outcomes, strict=True)
        if outcome.name == "different"
    ]
    wrong = {fault.place for fault in different}
    changes = [change for change in orders.changes if change.place not in wrong]
    counts = Counter(f"run: {outcome.name}" for outcome in outcomes)
    return Orders(changes, orders.statuses + counts, orders.faults), different


def _lines(file: Path, output: Path | None, job: Job) -> Result:
    if job.only_blocks or job.limit is not None or job.verify != "dag" or job.diff:
        raise Unreadable("--only-block, --limit, --verify and --diff are for assembly", "order it without them")
    statuses: Counter[str] = Counter()
    faults: list[Fault] = []
    cycles, n_lines = CycleSums(), 0
    size = None if file == STANDARD else file.stat().st_size
    with (
        _source(file) as source,
        _sink(output) as sink,
        tqdm(total=size, desc=file.name, unit="B", unit_scale=True, leave=False, disable=None) as progress,
    ):
        orderer = LineOrderer(job.orderer(size is None or size <= _SMALL_BYTES))
        for answer in mapped(orderer, _numbered(pieces(source, LINES)), WARM_UP):
            sink.writelines(answer.lines)
            statuses += answer.statuses
            faults += answer.faults[: _LISTED - len(faults)]
            cycles = cycles.plus(answer.cycles)
            n_lines += len(answer.lines)
            progress.update(sum(map(len, answer.lines)))
    counts = Orders([], statuses, [])
    return _result(file, output, reading.LINES, job, counts, faults, cycles, {"lines": n_lines})


def _numbered(groups: Iterator[list[bytes]]) -> Iterator[tuple[int, list[bytes]]]:
    """Pieces with the number of lines before each."""
    before = 0
    for lines in groups:
        yield before, lines
        before += len(lines)


@contextmanager
def _source(file: Path) -> Iterator[BinaryIO]:
    if file == STANDARD:
        yield sys.stdin.buffer
    else:
        with file.open("rb") as source:
            yield source


@contextmanager
def _sink(output: Path | None) -> Iterator[BinaryIO]:
    """Where lines go: nowhere, standard output, or a file that takes its place when it is whole."""
    if output is None:
        with open(os.devnull, "wb") as sink:
            yield sink
    elif output == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        output.parent.mkdir(parents=True, exist_ok=True)
        mode = output.stat().st_mode if output.exists() else None
        with replacing(output, follow=True) as temporary, temporary.open("wb") as sink:
            yield sink
        if mode is not None:
            output.chmod(mode)


def _result(
    file: Path,
    output: Path | None,
    name: str,
    job: Job,
    orders: Orders,
    faults: list[Fault],
    cycles: CycleSums,
    more: dict[str, Any],
    failed: bool = False,
) -> Result:
    """What is said of a file, to people and as JSON."""
    counts = {status: orders.statuses[status] for status in sorted(orders.statuses)}
    blocks = sum(count for status, count in counts.items() if not status.startswith("run: ") and status != "empty")
    report: dict[str, Any] = {
        "file": str(file),
        "format": name,
        "out": None if output is None else str(output),
        "for": job.target,
        "by": job.by,
        "memory": job.memory,
        "verify": job.verify,
        "blocks": blocks,
        "statuses": counts,
        "confirmed": cycles.loop_before > 0,
        "cycles_of_changed_blocks": cycles._asdict(),
        "faults": [fault._asdict() for fault in faults],
    }
    gain = ""
    if cycles.before:
        gain = f", predicted cycles of these {cycles.before:,} -> {cycles.after:,}"
    if cycles.loop_before:
        gain += f", in loops {cycles.loop_before:,.0f} -> {cycles.loop_after:,.0f}, confirmed by llvm-mca"
    rest = ", ".join(
        f"{count:,} {_WORDS.get(status, status)}" for status, count in counts.items() if status != "changed"
    )
    summary = (
        f"{file}: {blocks:,} blocks, {counts.get('changed', 0):,} changed{gain}; {rest or 'no others'} "
        f"(for {job.target} by {job.by}, memory {job.memory})"
    )
    return Result(summary, faults, report | more, failed)


_WORDS = {
    "best": "with no faster order",
    "single": "with one legal order",
    "unsupported": "with an unknown instruction",
    "unconfirmed": "whose gain llvm-mca does not confirm",
    "bad": "that are none",
    "empty": "lines without code",
}
