"""The verb `check`: whether two files differ by legal orders only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from learned_schedulers.blocks.read.unreadable import naming
from learned_schedulers.command.order import MEMORY, Memory

if TYPE_CHECKING:  # slow to import
    from learned_schedulers.blocks.order.legality import Difference
    from learned_schedulers.blocks.read.document import CodeBlock, Document
    from learned_schedulers.blocks.read.forms import Forms

_PAIRS = 3  # that a line names
_LINES = 5000  # that are read at once


def main(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="The file as it was.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The file with its blocks in other orders.")],
    memory: MEMORY = "tso",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON document instead of lines.")] = False,
) -> None:
    """Say whether two files differ by legal orders of their basic blocks alone; else name block, pair and reason.

    The dependencies are found anew from BEFORE; nothing is run. Exit code 0: legal orders only; 1: something else.

    Example, in an empty folder:

    \b
    echo 4889d84889f1488b1f > f.csv
    learned-schedulers order f.csv -o g.csv --for atom --by random_legal
    learned-schedulers check f.csv g.csv
    """
    from learned_schedulers.blocks.order.legality import compare
    from learned_schedulers.blocks.read import reading
    from learned_schedulers.command.kernels import announce

    announce()
    names = [_format_of(path) for path in (before, after)]
    if names[0] != names[1]:
        raise ValueError(
            f"{before} is of the format {names[0]}, {after} of the format {names[1]}; give files of one format"
        )
    differences: list[Difference]
    if reading.is_document(names[0]):
        old, new = (_document(names[0], path) for path in (before, after))
        differences = list(compare(old, new, memory))
    else:
        differences = list(_of_lines(before, after, memory))
    bad = [difference for difference in differences if difference.kind != "legal"]
    n_legal = len(differences) - len(bad)
    if as_json:
        print(json.dumps([_described(difference) for difference in differences], indent=1))
    else:
        for difference in bad:
            print(_sentence(difference))
        verdict = "differ by legal orders only" if not bad else f"differ in {len(bad)} other places"
        same = not differences
        print(f"{before} and {after} {'are equal' if same else verdict}: {n_legal} legal orders (memory {memory})")
    if bad:
        raise typer.Exit(1)


def _format_of(path: Path) -> str:
    from learned_schedulers.blocks.read import reading

    with naming(path):
        return reading.format_of(path)


def _document(name: str, path: Path) -> Document:
    from learned_schedulers.blocks.read import reading

    with naming(path):
        return reading.document(name, path.read_bytes(), path)


def _pieces(path: Path, file: BinaryIO) -> Iterator[list[bytes]]:
    from learned_schedulers.blocks.read import lines

    with naming(path):
        yield from lines.pieces(file, _LINES)


def _described(difference: Difference) -> dict[str, Any]:
    violations = [violation._asdict() for violation in difference.violations]
    return difference._asdict() | {"violations": violations}


def _sentence(difference: Difference) -> str:
    """What is wrong at one place, for people."""
    if difference.kind != "illegal":
        return f"{difference.place}: {difference.reason}"
    pairs = "; ".join(
        f"instruction {violation.before} must stay before {violation.after}, because {violation.reason}"
        for violation in difference.violations[:_PAIRS]
    )
    more = len(difference.violations) - _PAIRS
    return f"{difference.place}: {pairs}{f'; and {more} more pairs' if more > 0 else ''}"


def _of_lines(before: Path, after: Path, memory: Memory) -> Iterator[Difference]:
    """Where the lines of two files differ; each line is a block of which nothing else is known."""
    from learned_schedulers.blocks.order.legality import Difference, Legality

    legality, number = Legality(memory), 0
    with before.open("rb") as old_file, after.open("rb") as new_file:
        pieces = [_pieces(*each) for each in ((before, old_file), (after, new_file))]
        none: list[bytes] = []
        for old_lines, new_lines in zip_longest(*pieces, fillvalue=none):
            blocks: list[tuple[CodeBlock, CodeBlock]] = []
            for old, new in zip_longest(old_lines, new_lines, fillvalue=b""):
                number += 1
                if old == new:
                    continue
                pair = [_block(line, number, legality.forms) for line in (old, new)]
                if pair[0] is None or pair[1] is None or old.partition(b",")[2] != new.partition(b",")[2]:
                    yield Difference(f"line {number}", "changed", reason="the lines differ in more than a block")
                else:
                    blocks.append((pair[0], pair[1]))
            judgements = legality.judge([old for old, _ in blocks], [new.code for _, new in blocks])
            for (block, _), judgement in zip(blocks, judgements, strict=True):
                if judgement.order is None:
                    yield Difference(block.place, "changed", reason=judgement.reason)
                elif judgement.is_legal:
                    yield Difference(block.place, "legal", judgement.order)
                else:
                    yield Difference(block.place, "illegal", judgement.order, judgement.violations)


def _block(line: bytes, number: int, forms: Forms) -> CodeBlock | None:
    """The block of a line, with the marks that its bytes suggest; None if it has none."""
    from learned_schedulers.blocks.dag.memory_order import linked_by_form
    from learned_schedulers.blocks.read.document import CodeBlock
    from learned_schedulers.blocks.read.lines import code_of

    code = code_of(line)
    if not isinstance(code, bytes) or not code:
        return None
    read = forms.read([code])
    if not read.whole[0] or not read.straight[0]:
        return None
    marks = linked_by_form(read.code, read.begin, read.decoded, forms.facts).tobytes()
    return CodeBlock(f"line {number}", code, marks)
