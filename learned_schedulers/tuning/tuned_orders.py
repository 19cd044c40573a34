"""The file `tuned.orders`: how each tuned function is compiled, for people to commit and for `cc` to apply."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from learned_schedulers.files import replacing
from learned_schedulers.tuning.hot_file import Choice

NAME = "tuned.orders"
_HEAD = "# learned-schedulers tune, format"
_VERSION = 1


class Tuned(NamedTuple):
    """A function that is not compiled as usual."""

    source: str  # relative to the folder of the file
    function: str  # its symbol
    fingerprint: str  # of its intermediate code
    choice: Choice
    ratio: float  # its time over that of LLVM's default in the program


def write(path: Path, tuned: Sequence[Tuned], figures: Mapping[str, object]) -> None:
    """Write the file: a line for each function. figures: of the whole, for people."""
    lines = [f"{_HEAD} {_VERSION}", *(f"# {name}: {value}" for name, value in figures.items())]
    for each in sorted(tuned):
        orders = {str(index): _short(order) for index, order in each.choice.orders}
        fields = each._asdict() | {"choice": each.choice.how, "ratio": round(each.ratio, 4), "orders": orders}
        lines.append(json.dumps(fields))
    with replacing(path, follow=True) as temporary:
        temporary.write_text("\n".join([*lines, ""]), encoding="utf-8")


def read(path: Path) -> list[Tuned]:
    """The functions of a file. Raises ValueError that names the file and the line."""
    tuned = []
    first, *lines = path.read_text(encoding="utf-8").splitlines() or [""]
    if first != f"{_HEAD} {_VERSION}":
        raise ValueError(f"{path}: it does not begin as a file of version {_VERSION} does; run tune again")
    for number, line in enumerate(lines, 2):
        if line.startswith("#") or not line:
            continue
        try:
            fields = json.loads(line)
            orders = tuple((int(index), _long(text)) for index, text in fields["orders"].items())
            choice = Choice(str(fields["choice"]), orders)
            source, function, fingerprint = (str(fields[name]) for name in ("source", "function", "fingerprint"))
            tuned.append(Tuned(source, function, fingerprint, choice, float(fields["ratio"])))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}, line {number}: it is damaged ({error}); take it from version control") from error
    return tuned


def _short(order: Sequence[int]) -> str:
    """An order as runs of instructions that follow each other: 0-4 7 5-6 8-90."""
    array = np.asarray(order)
    starts = [0, *(np.flatnonzero(np.diff(array) != 1) + 1).tolist(), len(array)]
    runs = pairwise(starts)
    return " ".join(f"{array[a]}-{array[b - 1]}" if b - a > 1 else str(array[a]) for a, b in runs)


def _long(text: str) -> tuple[int, ...]:
    order: list[int] = []
    for run in text.split():
        begin, _, end = run.partition("-")
        order += range(int(begin), int(end or begin) + 1)
    if sorted(order) != list(range(len(order))):
        raise ValueError("an order names an instruction twice, or not at all")
    return tuple(order)
