"""A document -> new orders of its blocks, chosen, compared and, where asked for, executed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from learned_schedulers.blocks.order.orderer import Ordered, Orderer, Status
from learned_schedulers.blocks.order.processes import mapped
from learned_schedulers.blocks.read.document import Blocks, CodeBlock, Fault

_BLOCKS = 2000  # in a piece
_WARM_UP = (0, [CodeBlock("", bytes.fromhex("4889d84889f1"), bytes(2))])  # mov rax, rbx; mov rcx, rsi


class Change(NamedTuple):
    """A block's new order."""

    block: int  # index in the document
    place: str
    order: tuple[int, ...]  # index of the instruction in each slot
    before: int  # cycles of a single pass in the model of the processor; -1: it does not know the block
    after: int
    loop_before: float = -1  # cycles of a pass in a loop; -1: llvm-mca was not asked
    loop_after: float = -1


class CycleSums(NamedTuple):
    """Cycles of changed blocks, together."""

    before: int = 0  # of a single pass of each
    after: int = 0
    loop_before: float = 0  # of one pass of each in a loop; 0 if llvm-mca was not asked
    loop_after: float = 0

    def plus(self, other: CycleSums) -> CycleSums:
        before, after = self.before + other.before, self.after + other.after
        return CycleSums(before, after, self.loop_before + other.loop_before, self.loop_after + other.loop_after)


class Orders(NamedTuple):
    """What is to become of a document's blocks."""

    changes: list[Change]
    statuses: Counter[str]  # changed | best | single | unsupported | unconfirmed
    faults: list[Fault]

    def as_mapping(self) -> dict[int, tuple[int, ...]]:
        """Orders as `Document.rewritten` takes them."""
        return {change.block: change.order for change in self.changes}


def propose(document: Blocks, orderer: Orderer, processes: int | None = None) -> Iterator[tuple[int, Orders]]:
    """Number of blocks, and their new orders, piece by piece. processes: None for one per core."""

    def ordered(piece: tuple[int, Sequence[CodeBlock]]) -> Ordered:
        begin, blocks = piece
        codes, marks, ends = ([getattr(block, name) for block in blocks] for name in ("code", "marks", "end"))
        return orderer.order(codes, marks, begin, ends)

    blocks = document.blocks
    pieces = ((begin, blocks[begin : begin + _BLOCKS]) for begin in range(0, len(blocks), _BLOCKS))
    for number, answer in enumerate(mapped(ordered, pieces, _WARM_UP, processes)):
        yield len(answer.status), _described(document, answer, number * _BLOCKS, orderer)


def _described(document: Blocks, answer: Ordered, begin: int, orderer: Orderer) -> Orders:
    changes: list[Change] = []
    faults: list[Fault] = []
    for k in (answer.status == Status.CHANGED).nonzero()[0].tolist():
        order = tuple(answer.of(k).tolist())
        place = document.blocks[begin + k].place
        cycles = int(answer.before[k]), int(answer.after[k]), float(answer.loop_before[k]), float(answer.loop_after[k])
        changes.append(Change(begin + k, place, order, *cycles))
    for k, instruction in answer.unsupported.items():
        faults.append(orderer.unknown(document.blocks[begin + k].place, instruction))
    statuses = Counter(Status(number).name.lower() for number in answer.status.tolist())
    return Orders(changes, statuses, faults)


def joined(parts: Sequence[Orders]) -> Orders:
    """Orders of all pieces of a document."""
    statuses: Counter[str] = Counter()
    for part in parts:
        statuses += part.statuses
    return Orders([c for part in parts for c in part.changes], statuses, [f for part in parts for f in part.faults])


def limited(orders: Orders, only_blocks: Sequence[str] = (), limit: int | None = None) -> Orders:
    """The changes of some blocks alone, and the first `limit` of them. Raises ValueError for a block without change."""
    places = {change.place for change in orders.changes}
    if missing := [place for place in only_blocks if place not in places]:
        some = ", ".join(repr(place) for place in sorted(places)[:3])
        raise ValueError(f"--only-block {missing[0]!r}: no changed block has this place; --diff lists them, as {some}")
    changes = [change for change in orders.changes if not only_blocks or change.place in only_blocks][:limit]
    return Orders(changes, orders.statuses, orders.faults)
