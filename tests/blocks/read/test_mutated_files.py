"""Damaged files of every format are refused, or ordered and proven; the proof finds faults where there are some.

`DAMAGED=10000 pytest tests/blocks/read/test_mutated_files.py` tries as many files, five minutes.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from learned_schedulers.blocks.order.matching import Order
from learned_schedulers.blocks.read import reading
from learned_schedulers.blocks.read.document import Fault
from learned_schedulers.blocks.read.unreadable import Unreadable
from tests import damaged
from tests.blocks.read import ordered_files
from tests.blocks.read.ordered_files import Reader, check_sound
from tests.trial.damaged_code import SUFFIXES, inputs, sound_files

pytestmark = [pytest.mark.skipif(shutil.which("gcc") is None, reason="GCC is not installed"), pytest.mark.slow]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[bytes]]:
    return sound_files(tmp_path_factory.mktemp("sound"))


def test_sound_files_are_ordered(sound: dict[str, list[bytes]], tmp_path: Path) -> None:
    assert set(check_sound(sound, tmp_path)) == set(SUFFIXES)


def test_the_same_seed_gives_the_same_damage(sound: dict[str, list[bytes]]) -> None:
    first, second, other = (list(inputs(seed, 60, sound)) for seed in (1, 1, 2))
    assert first == second != other
    assert [case.kind for case in first[:6]] == list(SUFFIXES)


def test_a_few_damaged_files(sound: dict[str, list[bytes]], tmp_path: Path) -> None:
    reader, names = Reader(0), set()
    for number, case in enumerate(inputs(11, damaged.count(90), sound)):
        path = tmp_path / f"{number}{SUFFIXES[case.kind]}"
        path.write_bytes(case.content)
        with damaged.limited_memory(), damaged.watched():
            name, detail = reader.outcome(path)
        assert name != "fault", f"{case.kind} ({case.damage}): {detail}"
        path.unlink()
        names.add(name)
    assert {"ordered", "refused"} <= names


class _Altered:
    """A document whose new file is changed behind its back."""

    def __init__(self, document: object) -> None:
        self.blocks, self.faults, self._document = document.blocks, document.faults, document  # type: ignore[attr-defined]

    def rewritten(self, orders: dict[int, Order]) -> bytes:
        content = bytearray(self._document.rewritten(orders))  # type: ignore[attr-defined]
        if orders:
            content[-3] ^= 1
        return bytes(content)


@pytest.mark.parametrize("kind", ["assembly", "object", "archive"])
def test_an_altered_document_is_a_fault(
    kind: str, sound: dict[str, list[bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = reading.document
    monkeypatch.setattr(reading, "document", lambda *arguments: _Altered(read(*arguments)))
    path = tmp_path / f"a{SUFFIXES[kind]}"
    path.write_bytes(sound[kind][0])
    with pytest.raises(AssertionError):
        Reader(0).outcome(path)


def test_other_faults(sound: dict[str, list[bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(sound["csv"][0])

    def refuses(_: Path) -> str:
        raise Unreadable("reason", " ")

    def alters(file: Path) -> str:
        file.write_bytes(b"")
        raise Unreadable("reason", "remedy")

    monkeypatch.setattr(reading, "format_of", refuses)
    assert Reader(0).outcome(path)[0] == "fault"
    monkeypatch.setattr(reading, "format_of", alters)
    assert Reader(0).outcome(path) == ("fault", "the input was changed")
    with pytest.raises(AssertionError, match="without place"):
        ordered_files._check_faults([Fault("", "reason", "remedy")])
