"""The basic blocks of compiled programs, as lines of hexadecimal that `learned-schedulers order` reads."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from pipeline import tables

_ANY_COMPILER = ""  # a regular expression that every compiler's name matches


def main(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="ELF files for x86-64: objects, programs.")],
    out: Annotated[Path | None, typer.Option(help="CSV to write; without it the lines go to standard output.")] = None,
    least: Annotated[int, typer.Option(min=1, max=64, help="Fewest instructions of a block.")] = 2,
    most: Annotated[int, typer.Option(min=1, max=64, help="Most instructions of a block.")] = 64,
) -> None:
    """Print the basic blocks of your own compiled code, one in each line: machine code, file, section and address.

    A block ends at calls, jumps, returns, padding and wherever a direct branch of the file leads. Nothing is run. A
    file that cannot be read is named with the reason, and the others go on; the exit code is then 1.

    Examples:

    \b
    gcc -O2 -c dot.c && learned-schedulers blocks dot.o --out blocks.csv
    learned-schedulers order --blocks blocks.csv --out ordered.csv
    """
    if least > most:
        raise ValueError(f"--least {least} --most {most}: no block has such a length; give --least at most --most")
    if out is not None and any(out.resolve() == path.resolve() for path in files):
        raise ValueError(f"--out {out}: the blocks would take the place of the program; name another file")
    from pipeline.blocks.corpus.sources import UnusableFile  # slow to import: pandas

    lines: list[str] = []
    unusable = 0
    for path in files:
        try:
            lines += _lines(path, least, most)
        except (UnusableFile, OSError) as error:
            unusable += 1
            print(f"error: {path}: {error}", file=sys.stderr)
    text = "".join(f"{line}\n" for line in lines)
    if out is None:
        sys.stdout.write(text)
    else:
        with tables.replacing(out) as temporary:
            temporary.write_text(text, encoding="utf-8")
        print(f"{len(lines)} basic blocks of {len(files) - unusable} files: {out}", file=sys.stderr)
    if unusable:
        raise typer.Exit(1)


def _lines(path: Path, least: int, most: int) -> Iterator[str]:
    """One line of CSV for each block of an ELF file, by section and address. Raises UnusableFile with the remedy."""
    from pipeline.blocks.corpus import cut
    from pipeline.blocks.corpus.elf import read_image
    from pipeline.blocks.corpus.forms import Forms
    from pipeline.blocks.corpus.sources import ELF_MAGIC, UnusableFile

    content = path.read_bytes()
    if not content.startswith(ELF_MAGIC):
        raise UnusableFile("no ELF file", "compile or link it first, as by gcc -O2 -c")
    image = read_image(content, _ANY_COMPILER, _ANY_COMPILER)
    name = str(path).replace(",", "_")
    for section in cut.blocks(image, least, most, Forms()):
        for begin, end, address in zip(section.begin, section.end, section.address, strict=True):
            yield f"{section.code[begin:end].tobytes().hex()},{name},{section.section},{address:#x}"
