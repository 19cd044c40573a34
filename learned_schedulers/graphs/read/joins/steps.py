"""Operations in a form that torch modules and ONNX files share, so that groups are recognised alike in both."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import prod
from typing import NamedTuple


class Operand(NamedTuple):
    """A tensor or number that an operation reads."""

    owner: int | None  # operation whose result it is, or a view of it; None: an input, a weight or a number
    name: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None  # in elements; None: it is dense
    bytes: int  # that are touched
    constant: bool = False  # a weight or a number
    number: float | None = None  # its value, if it is a single number that is known

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def along_last(self) -> bool:
        """Whether all its elements lie along its last dimension, as those of a bias do."""
        return self.elements == (self.shape[-1] if self.shape else 1)


class Step(NamedTuple):
    """An operation. kind: in ONNX's words, in which a node of torch is translated where it has a counterpart."""

    kind: str
    inputs: tuple[Operand, ...]
    shape: tuple[int, ...]  # of its first result
    flops: float
    read: int  # bytes
    written: int
    axes: tuple[int, ...] = ()  # that a softmax or a reduction works along, from 0 on

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def tensors(self) -> list[Operand]:
        return [operand for operand in self.inputs if operand.number is None]


class Join(NamedTuple):
    """Operations that run as one."""

    kind: str  # "attention", "gelu"
    members: tuple[int, ...]  # ascending
    flops: float
    read: int  # bytes
    written: int

    @property
    def exit(self) -> int:
        """The operation whose result others read."""
        return self.members[-1]


class Steps:
    """All operations of a graph, with their readers."""

    def __init__(self, steps: Sequence[Step], lasting: Collection[int]) -> None:
        """lasting: operations whose results the model returns."""
        self.steps = steps
        self.lasting = frozenset(lasting)
        self.readers: list[set[int]] = [set() for _ in steps]
        for number, step in enumerate(steps):
            for operand in step.inputs:
                if operand.owner is not None:
                    self.readers[operand.owner].add(number)

    def __getitem__(self, number: int) -> Step:
        return self.steps[number]

    def __len__(self) -> int:
        return len(self.steps)

    def only_reader(self, number: int) -> int | None:
        """The only operation that reads a result; None if there are several, or the model returns it."""
        if number in self.lasting or len(self.readers[number]) != 1:
            return None
        return next(iter(self.readers[number]))

    def inside(self, number: int, members: Collection[int]) -> bool:
        """Whether only these operations read a result."""
        return number not in self.lasting and bool(self.readers[number]) and self.readers[number] <= set(members)

    def computed(self, operand: Operand, kinds: Collection[str]) -> int | None:
        """The operation that computes an operand, if it is of these kinds."""
        owner = operand.owner
        return owner if owner is not None and self[owner].kind in kinds else None

    def outer(self, members: Collection[int]) -> dict[tuple[object, ...], Operand]:
        """The tensors that these operations read and do not compute, each once."""
        operands = [operand for number in sorted(members) for operand in self[number].tensors]
        return {
            (operand.owner, operand.name, operand.shape, operand.strides): operand
            for operand in operands
            if operand.owner not in members
        }

    def join(self, kind: str, members: Iterable[int], flops: float) -> Join | None:
        """These operations as one; None if another operation reads what one inside computes."""
        every = set(members)
        *inner, last = sorted(every)
        if not all(self.inside(number, every) for number in inner):
            return None
        read = sum(operand.bytes for operand in self.outer(every).values())
        return Join(kind, (*inner, last), flops, read, self[last].written)


def heads_last(view: Operand) -> bool:
    """Whether a view is (a, b, heads, width) of a dense (a, heads, b, width), so that a kernel can write it so."""
    if view.strides is None or len(view.shape) != 4:
        return False
    _, second, heads, width = view.shape
    expected = (heads * second * width, width, second * width, 1)
    pairs = zip(view.shape, view.strides, expected, strict=True)
    return all(size == 1 or stride == other for size, stride, other in pairs)
