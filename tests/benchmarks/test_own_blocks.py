"""Verdicts on written blocks: controls, counts, and files that are not what they should be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from benchmarks import own_blocks
from benchmarks.own_blocks import CONTROLS, Control, Job, Tally, Verdict, Worker
from learned_schedulers.blocks.dag.memory_order import MemoryDags
from learned_schedulers.blocks.read.document import CodeBlock
from tests.blocks import real

CODES = real.table()["code"].to_pylist()[:120]
LINES = [b"%s,1.0\n" % code.hex().encode() for code in CODES]


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    opened = Worker()
    yield opened
    opened.close()


def conflicts(block: CodeBlock) -> set[tuple[int, int]]:
    read = MemoryDags("single_thread").conflicts([block.code], [block.marks]).conflicts
    return set(zip(read.before.tolist(), read.after.tolist(), strict=True))


def test_controls_reverse_what_they_say() -> None:
    control = Control()
    blocks = control.blocks(LINES)
    orders = {name: control.orders(name, blocks, 0) for name in CONTROLS}
    reversed_pairs = {
        name: [
            {(i, j) for i, j in conflicts(blocks[k]) if order.index(i) > order.index(j)}
            for k, order in of_control.items()
        ]
        for name, of_control in orders.items()
    }
    assert len(orders["random"]) > 30 and not any(reversed_pairs["random"])
    assert len(orders["broken"]) > 80 and {len(pairs) for pairs in reversed_pairs["broken"]} == {1}
    written = control.written(blocks, orders["random"])
    assert sum(code != block.code for code, block in zip(written, blocks, strict=True)) == len(orders["random"])


def test_random_orders_are_equal_and_broken_ones_are_not(worker: Worker) -> None:
    names = Counter((v.method, v.name) for v in worker.verdicts(Job(None, LINES, CONTROLS, 0)))
    assert names["random", "equal"] > 30 and not any(names["random", name] for name in own_blocks.WRONG)
    assert names["broken", "different"] > 3 * names["broken", "equal"]
    assert not names["broken", "illegal"] and not names["broken", "other instructions"]


def test_other_bytes_and_illegal_orders_are_wrong(worker: Worker) -> None:
    control = Control()
    before = control.blocks(LINES)
    codes = control.written(before, control.orders("broken", before, 0))
    broken = control.blocks([b"%s\n" % code.hex().encode() for code in codes])
    other = [before[1], *before[1:]]
    for after, expected in ((broken, "illegal"), (other, "other instructions"), (before[:-1], "other instructions")):
        codes = {k: block.code for k, block in enumerate(after)}
        names = Counter(v.name for v in worker._judged("lines", before, {"list": codes}))
        assert names[expected] and set(names) <= {expected, "unchanged"}, names


def test_equal_blocks_of_a_format_count_once() -> None:
    tally = Tally()
    for place, method, block, name in (
        ("line 1", "list", b"a", "equal"),
        ("line 2", "list", b"a", "different"),
        ("line 3", "list", b"b", "different"),
        ("line 1", "search", b"a", "unchanged"),
        ("line 1", "random", b"a", "illegal"),
        ("line 1", "broken", b"a", "different"),
    ):
        tally.add(Verdict("lines", block, place, method, name))
    assert tally.add(Verdict("elf", b"a", "", "list", "not runnable")) and not tally.add(
        Verdict("elf", b"a", "", "list", "equal")
    )
    values = {(r["set"], r["method"], r["metric"]): (r["value"], r["n"]) for r in tally.rows("own_blocks")}
    assert values["lines", "list", "blocks_that_differ"] == (1, 2)
    assert values["lines", "list", "blocks_run"] == (2, 2)
    assert values["lines", "search", "blocks_changed"] == (0, 1)
    assert values["elf", "list", "blocks_that_cannot_run"] == (1, 1)
    assert values["all", "all", "blocks_that_differ"] == (1, 3)
    assert values["all", "all", "blocks"] == (3, 3)
    assert values["lines", "random", "blocks_that_differ"] == (1, 1) and ("all", "random", "blocks") not in values
    assert values["lines", "broken", "share_detected"] == (1, 1)
