"""The blocks of a file that gain most by their new orders."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nsmallest
from itertools import chain
from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.order.file_orders import Orders
from learned_schedulers.blocks.order.orderer import Orderer, Status
from learned_schedulers.blocks.read.document import Blocks
from learned_schedulers.blocks.read.lines import code_of

_MOST_PLACES = 4  # of equal blocks that are named


class Gain(NamedTuple):
    """Blocks of the same code that take fewer cycles in a new order."""

    places: tuple[str, ...]  # the first ones
    code: bytes
    order: tuple[int, ...]  # index of the instruction in each slot
    before: int  # cycles of a single pass in the model of the processor
    after: int


class Gains(NamedTuple):
    """The best gains of a file, the largest first, and the sums over all its blocks."""

    best: list[Gain]
    blocks: int
    faster: int  # blocks that take fewer cycles
    before: int  # cycles of these, together
    after: int
    left_alone: int  # parts of the file without a new order because something about them is not known


def of_document(document: Blocks, orders: Orders, most: int) -> Gains:
    """The `most` best gains of a document."""
    gains = [
        Gain((change.place,), document.blocks[change.block].code, change.order, change.before, change.after)
        for change in orders.changes
        if change.before > change.after >= 0
    ]
    return _summed(gains, len(document.blocks), len(document.faults) + len(orders.faults), most)


class LineGains:
    """The best gains of lines of hexadecimal. The result for some lines depends on them and their number alone."""

    def __init__(self, orderer: Orderer, most: int) -> None:
        self._orderer, self._most = orderer, most

    def __call__(self, piece: tuple[int, list[bytes]]) -> Gains:
        """Gains of a piece: how many lines come before, and the lines with their ends."""
        before, lines = piece
        read = [(before + k + 1, code_of(line)) for k, line in enumerate(lines)]
        numbers = [number for number, code in read if isinstance(code, bytes) and code]
        codes = [code for _, code in read if isinstance(code, bytes) and code]
        decoded = self._orderer.forms.read(codes)
        straight = (decoded.whole & decoded.straight).tolist()
        numbers = [number for number, flag in zip(numbers, straight, strict=True) if flag]
        usable = [code for code, flag in zip(codes, straight, strict=True) if flag]
        ordered = self._orderer.order(usable, None, before)
        gains = [
            Gain(
                (f"line {numbers[k]}",),
                usable[k],
                tuple(ordered.of(k).tolist()),
                int(ordered.before[k]),
                int(ordered.after[k]),
            )
            for k in np.flatnonzero((ordered.status == Status.CHANGED) & (ordered.before > ordered.after)).tolist()
        ]
        bad = sum(code is not None and not isinstance(code, bytes) for _, code in read) + straight.count(False)
        return _summed(gains, len(usable), bad + len(ordered.unsupported), self._most)


def joined(parts: Iterable[Gains], most: int) -> Gains:
    """Gains of all pieces of a file."""
    total = Gains([], 0, 0, 0, 0, 0)
    for part in parts:
        sums = (mine + further for mine, further in zip(total[1:], part[1:], strict=True))
        total = Gains(_best(chain(total.best, part.best), most), *sums)
    return total


def _summed(gains: list[Gain], blocks: int, left_alone: int, most: int) -> Gains:
    before, after = sum(gain.before for gain in gains), sum(gain.after for gain in gains)
    return Gains(_best(gains, most), blocks, len(gains), before, after, left_alone)


def _best(gains: Iterable[Gain], most: int) -> list[Gain]:
    """The largest gains, of each code the largest alone; of equal gains those of fewer cycles come first."""
    of_code: dict[bytes, Gain] = {}
    for gain in gains:
        best = of_code.setdefault(gain.code, gain)
        if best is not gain:
            places = tuple(dict.fromkeys((*best.places, *gain.places)))[:_MOST_PLACES]
            of_code[gain.code] = min(best, gain, key=_rank)._replace(places=places)
    return nsmallest(most, of_code.values(), key=_rank)


def _rank(gain: Gain) -> tuple[int, int]:
    return gain.after - gain.before, gain.before
