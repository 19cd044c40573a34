"""Ithemal's data sets, files `.data` (Mendis et al. 2019): torch.save of a list of (code_id, timing, text, XML).

torch.save in its form before version 1.6 writes three pickles (a magic number, the version of the form, facts of the
system), then the list, then the names of tensors, of which there are none. The text is the block in Intel's syntax by
DynamoRIO, without the transfer of control at its end. Ithemal leaves out instructions with rip-relative operands,
string instructions with a prefix, and writes to r13, r14 and r15: a block may have holes. The XML is not read, because
it holds no constants, scales and flags.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple

from learned_schedulers.blocks.read.document import Fault
from learned_schedulers.blocks.read.intel_text import AT_ONCE, assembled
from learned_schedulers.blocks.read.lines import Unconverted, comment
from learned_schedulers.blocks.read.plain_pickle import PlainPickle
from learned_schedulers.blocks.read.unreadable import Unreadable

MAGIC = 0x1950A86A20F9469CFC6C
_VERSION = 1001
_LARGEST = 1 << 63  # of numbers that are kept; larger ones may have millions of digits
_OTHER_FORM = (
    "not a data set of Ithemal",
    "save a list of (code_id, timing, text, XML) with torch.save(..., _use_new_zipfile_serialization=False)",
)
EMPTY = "the block has no instructions"
_CORRECT = "correct its text, or leave the block out of the data set"


class TextBlock(NamedTuple):
    """A block in Intel's syntax."""

    place: str
    text: str
    value: str  # second field of its line: cycles of 100 iterations, or empty


def lines(file: BinaryIO) -> Iterator[bytes]:
    """A line `hex,timing` for each block, in their order: a comment for an empty one, `Unconverted` for a bad one.

    Raises Unreadable for a file of another form, and where the file is damaged.
    """
    return lines_of(_blocks(file))


def lines_of(blocks: Iterable[TextBlock | bytes]) -> Iterator[bytes]:
    """BHive lines of blocks, assembled many at a time; lines among the blocks stay as they are."""
    pending: list[TextBlock | bytes] = []
    for block in blocks:
        pending.append(block)
        if len(pending) == AT_ONCE:
            yield from _converted(pending)
            pending = []
    yield from _converted(pending)


def _converted(blocks: list[TextBlock | bytes]) -> Iterator[bytes]:
    codes = iter(assembled([block.text for block in blocks if isinstance(block, TextBlock)]))
    for block in blocks:
        if isinstance(block, bytes):
            yield block
            continue
        code = next(codes)
        if isinstance(code, str):
            yield Unconverted.of(Fault(block.place, code, _CORRECT))
        elif not code:
            yield comment(f"{block.place}: {EMPTY}")
        else:
            yield f"{code.hex()},{block.value}\n".encode()


def _blocks(file: BinaryIO) -> Iterator[TextBlock | bytes]:
    try:
        header = [PlainPickle(file).value() for _ in range(3)]
    except Unreadable as error:
        raise Unreadable(f"{_OTHER_FORM[0]} ({error.reason})", _OTHER_FORM[1]) from error
    if header[:2] != [MAGIC, _VERSION] or not isinstance(header[2], dict):
        raise Unreadable(*_OTHER_FORM)
    count = 0
    for count, row in enumerate(PlainPickle(file).items(), 1):
        yield _block(row, count)
    if not count:
        raise Unreadable(f"{_OTHER_FORM[0]}: a list without rows", _OTHER_FORM[1])


def _block(row: object, number: int) -> TextBlock | bytes:
    """A row of the list; `number` is counted from 1."""
    if not isinstance(row, tuple | list) or len(row) != 4:
        return Unconverted.of(
            Fault(f"row {number}", "not (code_id, timing, text, XML)", "correct the row, or leave it out")
        )
    code_id, timing, text = row[:3]
    is_id = (isinstance(code_id, int) and abs(code_id) < _LARGEST) or (isinstance(code_id, str) and len(code_id) < 100)
    place = f"code_id {code_id}" if is_id else f"row {number}"
    if not isinstance(text, str):
        return Unconverted.of(Fault(place, "the block has no text", _CORRECT))
    has_value = isinstance(timing, int | float) and abs(timing) < _LARGEST
    return TextBlock(place, text, f"{timing:f}" if has_value else "")
