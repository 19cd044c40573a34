"""Pickles of plain values (numbers, strings, lists, tuples, dictionaries), read without running anything of them.

Opcodes that look a name up, call something or build an object are no part of this machine, so a pickle that holds one
is refused. `pickle.Unpickler` is not used even with a `find_class` that refuses: an index of the memo that a damaged
file names makes it allocate gigabytes. The items of a list that is the whole value are handed over as they come.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from learned_schedulers.blocks.read.unreadable import Unreadable

_LONGEST = 1 << 24  # bytes of a string or of a number
_MOST_VALUES = 1 << 20  # that wait on the stack; pickle puts at most 1,000 items of a list there
_REMEDY = "save a list of numbers and strings with torch.save or pickle, without objects of other kinds"


class _Limited:
    """A file whose reads cannot fill the memory. Raises Unreadable."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.tell = file.tell

    def read(self, size: int) -> bytes:
        if size > _LONGEST:
            raise Unreadable(f"byte {self.tell()}: a string of {size} bytes, more than {_LONGEST}", _REMEDY)
        return self._file.read(size)

    def readline(self) -> bytes:
        return self._file.readline(_LONGEST)


class PlainPickle:
    """One pickle of a file, which is at its first byte, and afterwards at the byte behind the pickle."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = _Limited(file)
        self._stack: list[Any] = []
        self._marks: list[int] = []  # lengths of the stack
        self._memo: dict[int, Any] = {}

    def value(self) -> object:
        """The value of the pickle. Raises Unreadable."""
        for _ in self._steps():
            pass
        return self._stack[0]

    def items(self) -> Iterator[object]:
        """The items of the list that the pickle is, as they come; none for another value. Raises Unreadable."""
        for name in self._steps():
            if (name in ("APPEND", "APPENDS") and len(self._stack) == 1) or name == "STOP":
                value = self._stack[0]
                if isinstance(value, list):
                    yield from value
                    value.clear()

    def _steps(self) -> Iterator[str]:
        """Run the pickle; yields the name of each instruction after it. At the end the stack holds one value."""
        position = 0
        try:
            for opcode, argument, place in pickletools.genops(self._file):  # type: ignore[arg-type]  # three methods
                position = place or 0
                operation = _OPERATIONS.get(opcode.name)
                if operation is None:
                    raise Unreadable(f"byte {position}: an instruction {opcode.name}, which makes objects", _REMEDY)
                operation(self, argument)
                if len(self._stack) > _MOST_VALUES:
                    raise Unreadable(f"byte {position}: more than {_MOST_VALUES} values wait", _REMEDY)
                if opcode.name == "STOP" and len(self._stack) != 1:
                    raise ValueError(f"{len(self._stack)} values at the end")
                yield opcode.name
        except Unreadable:
            raise
        except (ValueError, TypeError, LookupError, OverflowError, MemoryError) as error:
            raise Unreadable(
                f"byte {position}: the pickle is damaged ({error})", "copy or make the file again"
            ) from error

    def push(self, value: object) -> None:
        self._stack.append(value)

    def mark(self, _: object) -> None:
        self._marks.append(len(self._stack))

    def since_mark(self) -> list[Any]:
        begin = self._marks.pop()
        values = self._stack[begin:]
        del self._stack[begin:]
        return values

    def put(self, index: int | None) -> None:
        self._memo[len(self._memo) if index is None else index] = self._stack[-1]

    def get(self, index: int) -> None:
        self._stack.append(self._memo[index])

    def last(self, count: int) -> None:
        """The last values become a tuple."""
        if len(self._stack) < count:
            raise ValueError("too few values")
        self._stack[len(self._stack) - count :] = [tuple(self._stack[len(self._stack) - count :])]

    def append(self, values: list[Any]) -> None:
        if not isinstance(self._stack[-1], list):
            raise TypeError("items of something that is no list")
        self._stack[-1].extend(values)

    def set_items(self, values: list[Any]) -> None:
        if not isinstance(self._stack[-1], dict):
            raise TypeError("entries of something that is no dictionary")
        if not all(isinstance(key, str | int) for key in values[::2]):  # tuples in tuples overflow the stack of hash()
            raise TypeError("a key that is neither text nor number")
        self._stack[-1].update(zip(values[::2], values[1::2], strict=True))

    def dictionary(self) -> None:
        values = self.since_mark()
        self._stack.append({})
        self.set_items(values)

    def pop_items(self, count: int) -> list[Any]:
        self.last(count)
        return list(self._stack.pop())


def _text(value: Any) -> Any:
    """Strings that Python 2 pickled are bytes."""
    return value.decode("latin-1") if isinstance(value, bytes) else value


_OPERATIONS: dict[str, Callable[[PlainPickle, Any], None]] = {
    **dict.fromkeys(("PROTO", "FRAME", "STOP"), lambda pickle, _: None),
    **dict.fromkeys(
        ("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "UNICODE", "BINUNICODE")
        + ("SHORT_BINUNICODE", "BINUNICODE8"),
        PlainPickle.push,
    ),
    **dict.fromkeys(
        ("STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
        lambda pickle, value: pickle.push(_text(value)),
    ),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"), PlainPickle.put),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), PlainPickle.get),
    "NONE": lambda pickle, _: pickle.push(None),
    "NEWTRUE": lambda pickle, _: pickle.push(True),
    "NEWFALSE": lambda pickle, _: pickle.push(False),
    "MARK": PlainPickle.mark,
    "EMPTY_LIST": lambda pickle, _: pickle.push([]),
    "EMPTY_TUPLE": lambda pickle, _: pickle.push(()),
    "EMPTY_DICT": lambda pickle, _: pickle.push({}),
    "LIST": lambda pickle, _: pickle.push(pickle.since_mark()),
    "TUPLE": lambda pickle, _: pickle.push(tuple(pickle.since_mark())),
    "TUPLE1": lambda pickle, _: pickle.last(1),
    "TUPLE2": lambda pickle, _: pickle.last(2),
    "TUPLE3": lambda pickle, _: pickle.last(3),
    "APPEND": lambda pickle, _: pickle.append(pickle.pop_items(1)),
    "APPENDS": lambda pickle, _: pickle.append(pickle.since_mark()),
    "DICT": lambda pickle, _: pickle.dictionary(),
    "SETITEM": lambda pickle, _: pickle.set_items(pickle.pop_items(2)),
    "SETITEMS": lambda pickle, _: pickle.set_items(pickle.since_mark()),
}  # fmt: skip
