"""The verb `explain`: a page with the blocks of a file that gain most by new orders."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from learned_schedulers.command.order import MEMORY, METHOD, PROCESSOR

if TYPE_CHECKING:  # slow to import
    from learned_schedulers.blocks.order.gains import Gains
    from learned_schedulers.blocks.read.document import Blocks
    from learned_schedulers.command.ordered_file import Job

_STANDARD = Path("-")


def main(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Assembly, an ELF object, archive or program, CSV with hexadecimal; - is hexadecimal on standard "
            "input.",
        ),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="HTML page to write.")] = Path("explanation.html"),
    target: PROCESSOR = "host",
    by: METHOD = "search",
    memory: MEMORY = "tso",
    blocks: Annotated[int, typer.Option(min=1, max=1000, help="How many blocks the page shows.")] = 10,
) -> None:
    """Write a page with the blocks that gain most by a new order: before and after, with llvm-mca's timelines.

    The file stays as it is, and nothing of it is run. For each block the page shows both orders side by side, and where
    llvm-mca 19 is installed, its timeline of each: when each instruction is dispatched, executed and retired. The page
    is one file: it needs no network and no script. Machine code is read here as well; `order` reads assembly.

    Example, in an empty folder:

    \b
    echo 4889d84889f1488b1f | learned-schedulers explain - --for atom -o blocks.html

    Other calls:

    \b
    learned-schedulers explain f.s --for haswell -o f.html
    learned-schedulers explain f.o --for atom --by cp_sat --blocks 3

    Exit code 1: the file cannot be read, or the page cannot be written; then nothing is written.
    """
    if out == _STANDARD:
        raise ValueError("--out -: the page is a file for a browser; name it, as -o explanation.html")
    if out.is_dir():
        raise ValueError(f"--out {out}: this is a folder; name a file in it, as {out / 'explanation.html'}")
    if file != _STANDARD and out.exists() and file.exists() and out.samefile(file):
        raise ValueError(f"--out {out}: the page would take the place of the file itself; name another file")
    from learned_schedulers.command.gains_page import Setting, page
    from learned_schedulers.command.kernels import announce
    from learned_schedulers.command.ordered_file import Job
    from learned_schedulers.files import replacing

    announce()
    if target == "host":
        from learned_schedulers.blocks.order.targets import of_host

        target = of_host()
    job = Job(
        target,
        by,
        memory,
        verify="dag",
        only_blocks=[],
        limit=None,
        weights=None,
        seed=0,
        diff=False,
        quiet=True,
        confirm=False,  # the page explains the cycles of the model that the methods search in
    )
    gains = _gains(file, job, blocks)
    name = "standard input" if file == _STANDARD else _printable(file.name)
    text = page(Setting(name, target, by, memory), gains)
    with replacing(out, follow=True) as temporary:
        temporary.write_text(text, encoding="utf-8")
    faster = f"{gains.faster:,} faster in a new order"
    if gains.faster:
        faster += f" ({gains.before:,} -> {gains.after:,} cycles of a single pass)"
    print(f"{name}: {gains.blocks:,} blocks, {faster}; for {target} by {by}, memory {memory}", file=sys.stderr)
    print(f"page: {_printable(out)}")


def _gains(file: Path, job: Job, most: int) -> Gains:
    """The best gains of a file. Raises ValueError, with the remedy, for one that cannot be read."""
    from learned_schedulers.blocks.order import gains
    from learned_schedulers.blocks.order.line_orders import LINES, WARM_UP
    from learned_schedulers.blocks.order.processes import mapped
    from learned_schedulers.blocks.read import archive_file, lines, reading
    from learned_schedulers.blocks.read.unreadable import naming
    from learned_schedulers.command.ordered_file import orders_of

    with naming(file):
        name = reading.LINES if file == _STANDARD else reading.format_of(file)
        if reading.is_document(name):
            content = file.read_bytes()
            document: Blocks = (
                archive_file.read(content) if reading.is_machine_code(name) else reading.document(name, content, file)
            )
            return gains.of_document(document, orders_of(document, job, file.name), most)
        with _source(file) as source:
            pieces = _numbered(lines.pieces(source, LINES))
            return gains.joined(mapped(gains.LineGains(job.orderer(is_small=False), most), pieces, WARM_UP), most)


def _printable(name: str | Path) -> str:
    """A name as text: bytes that are not UTF-8 are shown as question marks."""
    return str(name).encode(errors="replace").decode()


def _numbered(groups: Iterable[list[bytes]]) -> Iterator[tuple[int, list[bytes]]]:
    """Pieces with the number of lines before each."""
    before = 0
    for lines in groups:
        yield before, lines
        before += len(lines)


def _source(file: Path) -> AbstractContextManager[BinaryIO]:
    return nullcontext(sys.stdin.buffer) if file == _STANDARD else file.open("rb")
