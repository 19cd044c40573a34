"""Blocks from a CSV file in BHive's format (Chen et al. 2019): machine code in hexadecimal, then measurements.

The file has no header, and only the first column is read. A row's line number, from 1, serves as its address.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from learned_schedulers.blocks.read.cut import Blocks
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.leaks import masked
from learned_schedulers.blocks.read.unreadable import Unreadable

COMPILER = "unknown"
_TEXT_PROBE_BYTES = 1 << 16
_REMEDY = "correct or delete the line; a header is none of the blocks and may stay"


def pieces(path: Path, piece_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Number of the first line, and the bytes, of pieces of whole lines, each of some `piece_bytes`."""
    first_line = 1
    with path.open("rb") as file:
        while data := file.read(piece_bytes) + file.readline():
            yield first_line, data
            first_line += data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")  # as csv counts them


def _codes(data: bytes, first_line: int) -> tuple[list[int], list[bytes], list[tuple[int, str]]]:
    """Line numbers and codes of the rows that hold a block, and (line, reason) of the bad rows."""
    probe = data[:_TEXT_PROBE_BYTES]
    if first_line == 1 and b"\0" in probe:
        raise Unreadable("not UTF-8 text (it holds zero bytes)", "save it as CSV in UTF-8, or exclude it by include")
    lines: list[int] = []
    codes: list[bytes] = []
    bad: list[tuple[int, str]] = []
    text = io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", errors="replace", newline="")
    before = first_line - 1
    rows = csv.reader(text, quoting=csv.QUOTE_NONE)
    while True:
        try:
            row = next(rows)
            code = bytes.fromhex(row[0]) if row else b""
        except StopIteration:
            return lines, codes, bad
        except csv.Error as error:
            bad.append((before + rows.line_num, str(error)))
        except ValueError:
            bad.append((before + rows.line_num, f"not hexadecimal: {row[0][:40]!r}"))
        else:
            if code:
                lines.append(before + rows.line_num)
                codes.append(code)
            elif row:
                bad.append((before + rows.line_num, "empty hex field"))


def blocks(
    data: bytes, min_instructions: int, max_instructions: int, forms: Forms, first_line: int = 1
) -> tuple[Blocks, list[tuple[str, str]]]:
    """The file's blocks of a length in [min_instructions, max_instructions], and (reason, remedy) of every bad row.

    `first_line`: the number of the first line of `data`, a piece of a file.
    A row is bad if it is not hexadecimal, does not consist of whole instructions, or contains a control transfer.
    Raises Unreadable if the file is not text.
    """
    lines, codes, bad = _codes(data, first_line)
    code, bounds, decoded, whole, straight = forms.read(codes)
    begin, end = bounds[:-1], bounds[1:]
    for row in np.flatnonzero(~(whole & straight)).tolist():
        fault = "transfers control before its end or at it" if whole[row] else "not made of whole x86-64 instructions"
        bad.append((lines[row], f"{fault}: {codes[row][:20].hex()}"))
    n_instructions = np.diff(decoded.first)
    selected = whole & straight & (n_instructions >= min_instructions) & (n_instructions <= max_instructions)
    hidden = masked(code, begin, decoded, forms.facts)
    address = np.array(lines, np.int64)
    selected_blocks = Blocks(
        "", code, hidden, address[selected], begin[selected], end[selected], n_instructions[selected]
    )
    return selected_blocks, [(f"line {line}: {reason}", _REMEDY) for line, reason in sorted(bad)]
