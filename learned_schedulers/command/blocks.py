"""The verb `blocks`: basic blocks of any format as lines of hexadecimal, which `order` and corpora read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from learned_schedulers.files import replacing

_LINES = 5000  # that are read at once


def main(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="ELF objects and programs, archives, assembly, CSV with hexadecimal."),
    ],
    out: Annotated[Path | None, typer.Option(help="CSV to write; without it the lines go to standard output.")] = None,
    least: Annotated[int, typer.Option(min=1, max=64, help="Fewest instructions of a block.")] = 2,
    most: Annotated[int, typer.Option(min=1, max=64, help="Most instructions of a block.")] = 64,
) -> None:
    """Print the basic blocks of your own code, one in each line: machine code, file, and place in it.

    A block ends at calls, jumps, returns, padding and wherever a direct branch of the file leads. Nothing is run. A
    file that cannot be read is named with the reason, and the others go on; the exit code is then 1. Of assembly,
    the blocks are those that `order` may change.

    Example, in an empty folder:

    \b
    echo 'int f(int *a, int b) { return a[1] * b + a[2]; }' > f.c
    gcc -O2 -c f.c && learned-schedulers blocks f.o --out blocks.csv
    """
    if least > most:
        raise ValueError(f"--least {least} --most {most}: no block has such a length; give --least at most --most")
    if out is not None and any(out.resolve() == path.resolve() for path in files):
        raise ValueError(f"--out {out}: the blocks would take the place of the program; name another file")
    from learned_schedulers.blocks.read.unreadable import Unreadable
    from learned_schedulers.command.kernels import announce

    announce()
    lines: list[str] = []
    unusable = 0
    for path in files:
        try:
            lines += [*_lines(path, least, most)]  # all of a file, or nothing
        except (Unreadable, OSError) as error:
            unusable += 1
            print(f"error: {path}: {error}", file=sys.stderr)
    if unusable == len(files):
        raise typer.Exit(1)
    text = "".join(f"{line}\n" for line in lines)
    if out is None:
        sys.stdout.write(text)
    else:
        with replacing(out, follow=True) as temporary:
            temporary.write_text(text, encoding="utf-8")
        print(f"{len(lines)} basic blocks of {len(files) - unusable} files: {out}", file=sys.stderr)
    if unusable:
        raise typer.Exit(1)


def _lines(path: Path, least: int, most: int) -> Iterator[str]:
    """One line of CSV for each block of a file. Raises Unreadable with the remedy."""
    from learned_schedulers.blocks.read import reading

    name = reading.format_of(path)
    if reading.is_machine_code(name):
        yield from _of_machine_code(path, least, most)
    elif name == reading.ASSEMBLY:
        yield from _of_assembly(path, least, most)
    else:
        yield from _of_lines(path, least, most)


def _of_machine_code(path: Path, least: int, most: int) -> Iterator[str]:
    """Blocks of all functions, by section and address; a member of an archive that cannot be read is named."""
    from learned_schedulers.blocks.read import cut
    from learned_schedulers.blocks.read.archive_file import images
    from learned_schedulers.blocks.read.forms import Forms
    from learned_schedulers.blocks.read.unreadable import Unreadable

    forms, name = Forms(), str(path).replace(",", "_")
    for label, image in images(path.read_bytes()):
        if isinstance(image, Unreadable):
            print(f"left out: {path}: {label}: {image}", file=sys.stderr)
            continue
        member = f"{label.replace(',', '_')}:" if label else ""
        for section in cut.blocks(image, least, most, forms):
            for begin, end, address in zip(section.begin, section.end, section.address, strict=True):
                yield f"{section.code[begin:end].tobytes().hex()},{name},{member}{section.section},{int(address):#x}"


def _of_assembly(path: Path, least: int, most: int) -> Iterator[str]:
    from learned_schedulers.blocks.read import reading

    name = str(path).replace(",", "_")
    for block in reading.document(reading.ASSEMBLY, path.read_bytes(), path).blocks:
        if least <= len(block.marks) <= most:
            yield f"{block.code.hex()},{name},{block.place.replace(',', '_')}"


def _of_lines(path: Path, least: int, most: int) -> Iterator[str]:
    from learned_schedulers.blocks.read.forms import Forms
    from learned_schedulers.blocks.read.lines import code_of, pieces

    forms = Forms()
    with path.open("rb") as file:
        for lines in pieces(file, _LINES):
            codes = [code if isinstance(code := code_of(line), bytes) else b"" for line in lines]
            bounds = np.cumsum([0, *map(len, codes)])
            decoded = forms.decode(np.frombuffer(b"".join(codes), np.uint8), bounds[:-1], bounds[1:])
            for line, count in zip(lines, np.diff(decoded.first).tolist(), strict=True):
                if least <= count <= most:
                    yield line.decode("utf-8", "replace").rstrip("\r\n")
