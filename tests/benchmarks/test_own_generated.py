"""Generated programs run, bear legal orders, and see wrong ones; records and rows hold what happened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.own_generated import controls, entering, naming, records, surrounding, table
from benchmarks.own_generated.assembly_programs import RARE, Segment, written
from benchmarks.own_generated.building import Program, Unbuilt, plain, runtime
from benchmarks.own_generated.cplusplus import HEADER, Throwing
from benchmarks.own_generated.straight import Draw
from benchmarks.own_generated.trial import FORMATS, Difference, OfFormat, Trial, general, orders_of, regions

pytestmark = pytest.mark.slow

SEGMENTS: list[Segment] = list(
    dict.fromkeys([*entering.SEGMENTS, *naming.SEGMENTS, *naming.PRECISE, *surrounding.SEGMENTS, *RARE])
)
HARMLESS = (surrounding.branch, surrounding.frame, surrounding.plain)


def assembly(folder: Path, segments: tuple[Segment, ...], count: int = 3, seed: int = 1) -> Program:
    """A program of functions with these segments alone."""
    result = written(np.random.default_rng(seed), count, segments=segments)
    link = ("gcc", str(runtime(folder)), ("-pie", "-no-pie")[seed % 2])
    return Program("assembly", result.text.encode(), link, "tso", result.constructs, "", {}, result.others)


@pytest.mark.parametrize("segment", SEGMENTS, ids=lambda segment: segment.__name__)
def test_every_construct_builds_and_runs_twice_the_same(segment: Segment, tmp_path: Path) -> None:
    program = assembly(tmp_path, (segment,), count=6, seed=len(segment.__name__))
    shown = plain(program, tmp_path).shown
    assert shown.code == 0 and shown.output.count(b"\n") >= 6
    assert program.constructs


def test_the_same_number_gives_the_same_program() -> None:
    first, second, other = (written(np.random.default_rng(seed), 9) for seed in (3, 3, 4))
    assert first == second and first.text != other.text


def test_legal_orders_change_nothing_and_wrong_ones_are_seen(tmp_path: Path) -> None:
    trial = Trial(assembly(tmp_path, HARMLESS, count=12), tmp_path)
    for form in FORMATS:
        answer = trial.ordered(form, [1, 2])
        assert not answer.differences and answer.orders >= answer.changed > 10
        assert answer.blocks >= answer.changed
    document = trial.document("assembly")
    rng = np.random.default_rng(0)
    wrong = controls.reversed_dependencies(document, "tso", rng)
    assert trial.wrong("assembly", document.rewritten(wrong))
    assert len(controls.alone(wrong, rng)) == 1


def test_a_handler_sees_the_stores_before_a_division_only_in_a_precise_order(tmp_path: Path) -> None:
    differences: dict[str, int] = {"precise": 0, "tso": 0}
    for seed in range(2):
        for memory in differences:
            program = assembly(tmp_path, (naming.trap,), seed=seed)._replace(memory=memory)
            differences[memory] += len(Trial(program, tmp_path).ordered("assembly", [1, 2, 3]).differences)
    assert differences["tso"] > 0 == differences["precise"]


@pytest.mark.parametrize("segment", [naming.kprobe, naming.fixup, naming.patch], ids=lambda segment: segment.__name__)
def test_an_instruction_across_a_named_place_is_seen(segment: Segment, tmp_path: Path) -> None:
    detected = 0
    for seed in range(4):
        trial = Trial(assembly(tmp_path, (segment,), count=4, seed=seed), tmp_path)
        text = controls.across(trial.program.text.decode(), np.random.default_rng(seed))
        detected += text is not None and bool(trial.wrong("assembly", text.encode()))
    assert detected >= 1


def test_without_a_named_place_nothing_moves_across_one() -> None:
    assert controls.across("f:\n.L1:\naddq %rax, %rcx\njmp .L1\n", np.random.default_rng(0)) is None
    moved = controls.across(".L1:\naddq %rax, %rcx\nret\n.quad .L1, 4\n", np.random.default_rng(0))
    assert moved == "addq %rax, %rcx\n.L1:\nret\n.quad .L1, 4\n"


def test_a_region_that_loses_an_instruction_is_seen() -> None:
    text = b"addq %rax, %rcx\n# OSACA-BEGIN\nnegq %rax\nnotq %rcx\n# OSACA-END\nincq %r8\n"
    assert regions(text) == [[b"negq %rax", b"notq %rcx"]]
    assert regions(text.replace(b"negq %rax\nnotq %rcx", b"notq %rcx\nnegq %rax")) == regions(text)
    assert regions(text.replace(b"# OSACA-END\nincq %r8", b"incq %r8\n# OSACA-END")) != regions(text)


class Broken:
    """A document of which one block makes the program wrong in a new order."""

    faults: tuple = ()

    def __init__(self, document: Any, guilty: int) -> None:
        self.blocks = document.blocks
        self._document, self._guilty = document, guilty

    def rewritten(self, orders: dict[int, Any]) -> bytes:
        text: bytes = self._document.rewritten({})
        return text.replace(b"\nret\n", b"\nincq %rax\nret\n", 1) if self._guilty in orders else text


def test_the_guilty_block_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(assembly(tmp_path, HARMLESS, count=12), tmp_path)
    document = trial.document("assembly")
    change = orders_of(document, "tso", 3).changes[4]
    monkeypatch.setattr(trial, "document", lambda form: Broken(document, change.block))
    [difference] = trial.ordered("assembly", [3]).differences
    assert difference[:2] == ("assembly", 3) and difference.shown.startswith("output: f")
    assert (difference.place, difference.order) == (change.place, change.order)


def test_statements_name_their_constructs() -> None:
    text = Throwing(Draw(np.random.default_rng(2)), False)
    statements = [text.statement() for _ in range(30)]
    assert statements and len(text.constructs) >= 3 and "word" in HEADER


def test_records_are_written_whole_and_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unbuilt(*_: object) -> Program:
        raise Unbuilt("ld: 12 undefined symbols in `x`; and more")

    monkeypatch.setattr(records, "program", unbuilt)
    record = records.of_program(1, 1, 1, tmp_path, tmp_path / "cases")
    assert record == {"number": 1, "discarded": "ld: * undefined symbols in *"}
    records.write(record, tmp_path)
    assert records.missing(tmp_path, 3) == [0, 2] and not list(tmp_path.glob(".*"))
    records.write({"number": 0, "discarded": "x"}, tmp_path)
    assert [record["number"] for record in records.read(tmp_path, 2)] == [0, 1]


def test_a_difference_leaves_a_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    work.mkdir()
    item = assembly(work, HARMLESS)
    monkeypatch.setattr(records, "program", lambda *_: item)
    answer = OfFormat(
        blocks=5, changed=4, orders=4, differences=[Difference("object", 3, "output", ".text+0x1", (1, 0))]
    )
    monkeypatch.setattr(Trial, "ordered", lambda self, form, seeds: answer if form == "object" else OfFormat())
    record = records.of_program(1, 5, 1, work, tmp_path / "cases")
    assert record["formats"]["object"]["differences"][0]["place"] == ".text+0x1"
    text = (tmp_path / "cases/5-object/README").read_text()
    assert "order plain.o -o ordered --by random_legal" in text and "--seed 3 --only-block '.text+0x1'" in text
    assert (tmp_path / "cases/5-object/plain.o").exists()


def test_rows_count_programs_once_and_reasons_together() -> None:
    of_format = OfFormat(blocks=5, changed=4, orders=7)
    of_format.left_alone.update({"a reason": 2, "a  reason!": 1})
    wrong = OfFormat(blocks=5, changed=4, orders=7, differences=[Difference("object", 1, "x", "y", ())])
    formats = {form: of_format.as_json() for form in FORMATS if form != "archive"}
    record = {"number": 0, "family": "assembly", "memory": "tso", "constructs": ["usdt"], "formats": formats}
    different = record | {"formats": formats | {"object": wrong.as_json(), "program": OfFormat(refused="no").as_json()}}
    controlled = record | {"controls": {"every_block": True}}
    rows = table.rows("own_generated", [controlled, different, {"number": 2, "discarded": "run: no end"}])
    values = {(row["set"], row["metric"], row["method"]): row["value"] for row in rows}
    assert len(values) == len(rows)
    assert values["all", "programs", "random_legal"] == 2 and values["all", "programs_discarded", "random_legal"] == 1
    assert (
        values["all", "programs_different", "random_legal"]
        == 1
        == values["object", "programs_different", "random_legal"]
    )
    assert (
        values["all", "blocks_changed", "random_legal"] == 20
        and values["assembly_text", "orders", "random_legal"] == 35
    )
    assert values["assembly", "left_alone", "a_reason"] == 6 and values["program", "refused", "no"] == 1
    assert values["all", "construct_usdt_programs", "random_legal"] == 2
    assert values["all", "share_detected", "every_block"] == 1


def test_reasons_are_general() -> None:
    assert general("section .altinstructions lists 12 places; remedy") == "section * lists * places"
