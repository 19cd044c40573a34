"""The order in which a block's instructions stand in other bytes."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence

import numpy as np

from learned_schedulers.blocks.dag.memory_order import Mark
from learned_schedulers.blocks.read.forms import Forms

Order = tuple[int, ...]
_LINKED, _PLAIN = b"L", b"P"  # how the displacement of an identity counts


class Instructions:
    """The instructions of B blocks, and what identifies each of them wherever it stands.

    A rip-relative displacement counts by its target relative to the block's start, or, where the linker fills it in, as
    it is.
    """

    def __init__(self, codes: Sequence[bytes], forms: Forms) -> None:
        """Raises ValueError for a block that is not made of whole instructions."""
        read = forms.read(codes)
        facts, decoded = forms.facts[read.decoded.form], read.decoded
        bad = np.flatnonzero(~read.whole)
        if len(bad):
            raise ValueError(f"block {bad[0]} is not made of whole instructions: {codes[bad[0]].hex()}")
        self._codes = codes
        self._first = decoded.first.tolist()
        self._lengths, self._relative = facts["length"].tolist(), facts["rip_relative"].tolist()
        self._displacement_at = facts["displacement_at"].tolist()

    def linked(self, block: int) -> list[bytes]:
        """Identities of a block's instructions if the linker fills in all displacements."""
        code = self._codes[block]
        pieces: list[bytes] = []
        begin = 0
        for i in range(self._first[block], self._first[block + 1]):
            pieces.append(_LINKED + code[begin : begin + self._lengths[i]])
            begin += self._lengths[i]
        return pieces

    def plain(self, block: int) -> list[bytes]:
        """Identities of a block's instructions if it fills in none."""
        pieces: list[bytes] = []
        end = 0
        for i, linked in enumerate(self.linked(block), self._first[block]):
            piece = _PLAIN + linked[1:]
            end += self._lengths[i]
            if self._relative[i]:
                at = 1 + self._displacement_at[i]
                target = int.from_bytes(piece[at : at + 4], "little", signed=True) + end
                piece = piece[:at] + target.to_bytes(8, "little", signed=True) + piece[at + 4 :]
            pieces.append(piece)
        return pieces

    def marked(self, block: int, marks: bytes) -> list[bytes]:
        """Identities of a block's instructions by their marks. Raises ValueError if there is not one for each."""
        n = self._first[block + 1] - self._first[block]
        if len(marks) != n:
            raise ValueError(f"block {block} has {n} instructions and {len(marks)} marks")
        both = zip(self.linked(block), self.plain(block), marks, strict=True)
        return [linked if mark & Mark.LINKED else plain for linked, plain, mark in both]


def orders_of(befores: Sequence[tuple[bytes, bytes]], afters: Sequence[bytes], forms: Forms) -> list[Order | None]:
    """Of each block, order[t]: the instruction that the code after has in slot t; None for other instructions.

    befores: code and marks of each block; afters: the other codes. Identical instructions are matched in their
    sequence, the first with the first. Raises ValueError for a block that is not made of whole instructions, or has not
    one mark for each.
    """
    old, new = Instructions([code for code, _ in befores], forms), Instructions(afters, forms)
    return [
        _matched(old.marked(block, marks), new.linked(block), new.plain(block))
        for block, (_, marks) in enumerate(befores)
    ]


def _matched(before: list[bytes], linked: list[bytes], plain: list[bytes]) -> Order | None:
    """The order of identities in a block, of which it is not known what the linker fills in."""
    if len(before) != len(linked):
        return None
    places: defaultdict[bytes, deque[int]] = defaultdict(deque)
    for i, identity in enumerate(before):
        places[identity].append(i)
    order: list[int] = []
    for identities in zip(linked, plain, strict=True):
        waiting = next((places[identity] for identity in identities if places[identity]), None)
        if waiting is None:
            return None
        order.append(waiting.popleft())
    return tuple(order)
