"""The page of the verb `explain`: what it says of each block, that it is one file, and that names cannot break it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.blocks.order.gains import Gain, Gains, LineGains
from learned_schedulers.blocks.order.lower_bounds import lower_bounds
from learned_schedulers.blocks.order.orderer import Orderer
from learned_schedulers.blocks.order.targets import Target
from learned_schedulers.blocks.order.trace import trace
from learned_schedulers.blocks.processors.chips import Chip
from learned_schedulers.blocks.processors.costs import Processor
from learned_schedulers.command.explanation.explained import Explained, explained, instructions
from learned_schedulers.command.explanation.page import _staying, page
from tests.blocks import real
from tests.blocks.order.drawn_processors import orders, plain, processors

NONE = Gains([], 0, 0, 0, 0, 0)
MOVES = bytes.fromhex("4889d84889f1")  # mov rax, rbx; mov rcx, rsi


class Reader(HTMLParser):
    """The text, tags and attributes of a page."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self._silent = False
        self.feed(content)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attributes]
        self._silent = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self._silent = False
        self.text += "|" * (tag in ("td", "p", "h1", "h2"))

    def handle_data(self, data: str) -> None:
        self.text += "" if self._silent else data


def described(chip: Processor, order: list[int], place: str = "lines 1-9", text: str = "nop") -> Explained:
    rows = range(len(order))
    before, after = trace(chip, rows, list(rows)), trace(chip, rows, order)
    return Explained((place,), 0, False, (text,) * len(order), before, after, lower_bounds(chip, rows))


def read(blocks: list[Explained], file_name: str = "f.s") -> Reader:
    before, after = (sum(sides) for sides in zip(*[(b.before.makespan, b.after.makespan) for b in blocks], strict=True))
    gains = Gains([], 7, len(blocks), before, after, 1)
    return Reader(page(file_name, "haswell", "search", "tso", gains, blocks))


@given(st.data())
def test_every_row_of_both_orders_is_there(data: st.DataObject) -> None:
    chip = data.draw(processors(2))
    order = data.draw(orders(chip))
    block = described(chip, order)
    reader = read([block])
    assert reader.tags.count("tr") == 2 + 2 * (1 + len(order)) + 4  # tables: blocks, two timelines, bounds
    assert f"lines 1-9: {block.before.makespan} → {block.after.makespan} cycles" in reader.text
    for bound in block.bounds:
        assert re.search(rf"\b{bound.cycles}\b", reader.text)
    bars = [value for name, value in reader.attributes if name == "style" and "left" in value and "width" in value]
    places = [tuple(map(float, re.findall(r"-?[\d.]+", bar))) for bar in bars]
    assert len(places) >= 2 * len(order)
    assert all(left >= 0 and width > 0 and left + width <= 101 for left, width in places)


@pytest.mark.parametrize("hostile", ["<script>alert(1)</script>\"'&", '"><img src=https://example.org/x onerror=x>'])
def test_names_are_text(hostile: str) -> None:
    reader = read([described(plain(2, 9), [1, 0], hostile, hostile)], hostile)
    assert reader.text.count(hostile) >= 1 + 2 + 4  # the title, the place twice, instructions
    assert not {"script", "img"} & set(reader.tags)
    assert not [name for name, _ in reader.attributes if name in ("src", "onerror")]


def test_the_page_needs_nothing_else() -> None:
    content = page("f.s", "atom", "search", "tso", NONE._replace(blocks=3), [])
    assert "Content-Security-Policy" in content and "default-src 'none'" in content
    for text in (content, page("f.s", "atom", "list", "tso", NONE, [described(plain(3, 0), [0, 2, 1])])):
        reader = Reader(text)
        assert not {"script", "link", "img", "iframe", "object"} & set(reader.tags)
        assert all(value.startswith("#") for name, value in reader.attributes if name == "href")
        assert "http" not in re.sub(r"http-equiv", "", text) and "url(" not in text and "@import" not in text


def test_links_lead_to_their_blocks() -> None:
    reader = read([described(plain(2, 9), [1, 0], f"line {k}") for k in range(3)])
    ids = [value for name, value in reader.attributes if name == "id"]
    assert [value for name, value in reader.attributes if name == "href"] == [f"#{name}" for name in ids]
    assert len(set(ids)) == 3


def test_without_a_gain_it_says_so() -> None:
    text = Reader(page("f.s", "atom", "search", "tso", NONE._replace(blocks=3), [])).text
    assert "None of the 3 basic blocks takes fewer cycles" in text and "No block gains by a new order" in text
    assert "no basic block of several instructions" in Reader(page("f.s", "atom", "list", "tso", NONE, [])).text


def test_the_verdict_compares_with_the_bound() -> None:
    busy = described(plain(9, 0), list(range(9)))  # nine instructions on two units
    assert busy.after.makespan == busy.bounds.binding.cycles
    text = read([busy]).text
    assert "No order is faster in this model: HWPort{0,1} are needed for 9 cycles, 5 for each of the 2 units" in text
    above = busy._replace(bounds=busy.bounds._replace(units=busy.bounds.units._replace(cycles=busy.after.makespan - 1)))
    assert f"It is 1 cycle above the highest lower bound ({busy.after.makespan - 1} cycles)" in read([above]).text


@given(st.permutations(range(7)))
def test_what_stays_is_a_longest_increasing_subsequence(order: list[int]) -> None:
    staying = _staying(order)
    kept_order = [instruction for instruction in order if instruction in staying]
    assert kept_order == sorted(kept_order)
    longest = [1] * len(order)  # by the quadratic rule
    for k in range(len(order)):
        longest[k] = 1 + max((longest[i] for i in range(k) if order[i] < order[k]), default=0)
    assert len(staying) == max(longest)


def test_of_a_long_block_the_part_that_gains_most_is_shown() -> None:
    n = 64 + 9
    long_pairs = np.full(n, 3, np.int32)
    chip = plain(n, 0, latencies=np.where(np.arange(n) == 72, 30, long_pairs).astype(np.int32))
    order = (*range(64), 72, *range(64, 72))  # the long instruction first
    gain = Gain(("line 4",), 36 * MOVES + MOVES[:3], order, 99, 70)
    codes, first = instructions([gain, gain])
    assert len(codes) == 2 * n and first == [0, n] and set(codes) == {MOVES[:3], MOVES[3:]}
    block = explained(gain, chip, 0)
    assert (block.first, block.is_part, len(block.texts)) == (64, True, 9)
    assert [step.instruction for step in block.after.steps] == [8, *range(8)]
    assert block.texts[:2] == ("mov rax, rbx", "mov rcx, rsi")
    text = read([block]).text
    assert "Its instructions 64 to 72, the part that gains most" in text and "▲\xa08" in text


@pytest.mark.slow
@pytest.mark.parametrize("target", ["atom", "btver2", "znver4"])
def test_real_blocks_are_drawn_with_the_cycles_that_were_compared(target: Target) -> None:
    lines = [code.hex().encode() + b"\n" for code in real.table()["code"].to_pylist() if len(code) > 20]
    gains = LineGains(Orderer("list", target, "single_thread"), 20)((0, lines))
    codes, first = instructions(gains.best)
    processor = Chip(target).processor(codes)
    blocks = [explained(gain, processor, row) for gain, row in zip(gains.best, first, strict=True)]
    assert blocks
    for gain, block in zip(gains.best, blocks, strict=True):
        assert (block.before.makespan, block.after.makespan) == (gain.before, gain.after)
        assert block.bounds.binding.cycles <= gain.after
        assert tuple(step.instruction for step in block.after.steps) == gain.order
    text = Reader(page("real.csv", target, "list", "single_thread", gains, blocks)).text
    assert all(f"{gain.places[0]}: {gain.before} → {gain.after} cycles" in text for gain in gains.best)
