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
        typer.Argument(metavar="FILE...", help="ELF objects and programs, archives, assembly, Ithemal's .data, SQL."),
    ],
    out: Annotated[Path | None, typer.Option(help="CSV to write; without it the lines go to standard output.")] = None,
    least: Annotated[int, typer.Option(min=1, max=64, help="Fewest instructions of a block.")] = 2,
    most: Annotated[int, typer.Option(min=1, max=64, help="Most instructions of a block.")] = 64,
) -> None:
    """Print the basic blocks of your own code, one in each line: machine code, file, and place in it.

    A block ends at calls, jumps, returns, padding and wherever a direct branch of the file leads. Nothing is run. A
    file that cannot be read is named with the reason, and the others go on; the exit code is then 1. Of assembly and
    archives, the blocks are those that `order` may change; Ithemal's data sets become lines of BHive's form.

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
    if name == "elf":
        yield from _of_elf(path, least, most)
    elif reading.is_document(name):
        yield from _of_document(name, path, least, most)
    else:
        yield from _of_lines(name, path, least, most)


def _of_elf(path: Path, least: int, most: int) -> Iterator[str]:
    """Blocks of all functions, also of those that `order` refuses, by section and address."""
    from learned_schedulers.blocks.read import cut
    from learned_schedulers.blocks.read.elf import read_image
    from learned_schedulers.blocks.read.forms import Forms

    image = read_image(path.read_bytes())
    name = str(path).replace(",", "_")
    for section in cut.blocks(image, least, most, Forms()):
        for begin, end, address in zip(section.begin, section.end, section.address, strict=True):
            yield f"{section.code[begin:end].tobytes().hex()},{name},{section.section},{int(address):#x}"


def _of_document(format_name: str, path: Path, least: int, most: int) -> Iterator[str]:
    from learned_schedulers.blocks.read import reading

    name = str(path).replace(",", "_")
    for block in reading.document(format_name, path.read_bytes(), path).blocks:
        if least <= len(block.marks) <= most:
            yield f"{block.code.hex()},{name},{block.place.replace(',', '_')}"


def _of_lines(format_name: str, path: Path, least: int, most: int) -> Iterator[str]:
    from learned_schedulers.blocks.read import reading
    from learned_schedulers.blocks.read.forms import Forms
    from learned_schedulers.blocks.read.lines import code_of

    forms = Forms()
    with path.open("rb") as file:
        for lines in reading.pieces(format_name, file, _LINES):
            codes = [code if isinstance(code := code_of(line), bytes) else b"" for line in lines]
            bounds = np.cumsum([0, *map(len, codes)])
            decoded = forms.decode(np.frombuffer(b"".join(codes), np.uint8), bounds[:-1], bounds[1:])
            for line, count in zip(lines, np.diff(decoded.first).tolist(), strict=True):
                if least <= count <= most:
                    yield line.decode("utf-8", "replace").rstrip("\r\n")
