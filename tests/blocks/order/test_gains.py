"""The blocks that gain most: the same from a document in one piece and from lines in many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.blocks.order.file_orders import Change, Orders
from learned_schedulers.blocks.order.gains import Gain, Gains, LineGains, joined, of_document
from learned_schedulers.blocks.order.orderer import Orderer
from learned_schedulers.blocks.read.assembly import split
from learned_schedulers.blocks.read.document import CodeBlock, Fault
from tests.blocks import real


class Blocks:
    """A document of blocks alone."""

    def __init__(self, codes: Sequence[bytes]) -> None:
        self.blocks = [CodeBlock(f"line {k + 1}", code, bytes(len(code))) for k, code in enumerate(codes)]
        self.faults = [Fault("line 99", "data", "nothing")]

    def rewritten(self, orders: Mapping[int, Sequence[int]]) -> bytes:
        raise NotImplementedError


def orders(cycles: Sequence[tuple[int, int]]) -> Orders:
    changes = [Change(k, f"line {k + 1}", (1, 0), *pair) for k, pair in enumerate(cycles)]
    return Orders(changes, Counter(changed=len(changes)), [])


def test_the_largest_gain_comes_first_and_what_gains_nothing_is_left_out() -> None:
    cycles = [(9, 8), (20, 15), (-1, -1), (10, 5), (7, 7), (5, 6)]
    gains = of_document(Blocks([bytes([k]) for k in range(6)]), orders(cycles), 2)
    assert [(gain.places, gain.before, gain.after) for gain in gains.best] == [
        (("line 4",), 10, 5),
        (("line 2",), 20, 15),
    ]
    assert gains[1:] == (6, 3, 39, 28, 1)


def test_equal_code_is_shown_once_with_its_places() -> None:
    gains = of_document(Blocks([b"a", b"b", b"a", b"a"]), orders([(9, 8), (9, 7), (9, 6), (9, 8)]), 5)
    assert gains.best == [
        Gain(("line 1", "line 3", "line 4"), b"a", (1, 0), 9, 6),
        Gain(("line 2",), b"b", (1, 0), 9, 7),
    ]
    assert (gains.faster, gains.before, gains.after) == (4, 36, 29)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(5, 12), st.integers(1, 4))), st.integers(1, 4), st.integers(1, 5)
)
def test_pieces_give_what_the_whole_gives(rows: list[tuple[int, int, int]], most: int, size: int) -> None:
    codes = [bytes([code, before]) for code, before, _ in rows]
    of_code = {code: (before, after) for code, (_, before, after) in zip(codes, rows, strict=True)}
    cycles = [of_code[code] for code in codes]  # equal blocks have equal gains
    whole = of_document(Blocks(codes), orders(cycles), most)
    parts = []
    for begin in range(0, len(rows), size):
        part = of_document(Blocks(codes[begin : begin + size]), orders(cycles[begin : begin + size]), most)
        parts.append(part._replace(left_alone=0))
    total = joined(parts, most)
    assert [gain[1:] for gain in total.best] == [gain[1:] for gain in whole.best]
    assert total[1:5] == whole[1:5]


@pytest.fixture(scope="module")
def orderer() -> Orderer:
    return Orderer("list", "atom", "tso")


@pytest.mark.slow
def test_lines_are_ordered_and_counted(orderer: Orderer) -> None:
    codes = real.table()["code"].to_pylist()[:300]
    lines = [code.hex().encode() + b",1.0\n" for code in codes]
    lines[3:3] = [b"# note\n", b"\n", b"hex,cycles\n", b"c3\n", b"488b\n"]  # three of these are no blocks
    gains = joined([LineGains(orderer, 5)((0, lines[:100])), LineGains(orderer, 5)((100, lines[100:]))], 5)
    assert gains.blocks == len(codes) and gains.left_alone >= 3 and 0 < gains.after < gains.before
    assert len(gains.best) == 5 <= gains.faster
    for gain in gains.best:
        number = int(gain.places[0].removeprefix("line "))
        assert lines[number - 1] == gain.code.hex().encode() + b",1.0\n"
        assert sorted(gain.order) == list(range(len(split(gain.code)))) and gain.before > gain.after > 0
        ordered = orderer.order([gain.code])
        assert (ordered.before[0], ordered.after[0]) == (gain.before, gain.after)
    saved = [gain.before - gain.after for gain in gains.best]
    assert saved == sorted(saved, reverse=True)


def test_nothing_is_no_gain(orderer: Orderer) -> None:
    assert LineGains(orderer, 3)((0, [])) == joined([], 3) == Gains([], 0, 0, 0, 0, 0)
