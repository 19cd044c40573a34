"""Ithemal's data sets: made by torch.save, as Ithemal makes them."""

from __future__ import annotations

import io
import os
import pickle
import shutil
from pathlib import Path

import pytest
import torch

from learned_schedulers.blocks.read import ithemal_data
from learned_schedulers.blocks.read.ithemal_data import lines
from learned_schedulers.blocks.read.lines import Unconverted
from learned_schedulers.blocks.read.unreadable import Unreadable
from tests.blocks.real import table
from tests.trial.disassembly import by_dynamorio, plain

pytestmark = pytest.mark.skipif(shutil.which("as") is None, reason="GNU as is not installed")
XML = "<block><instr><opcode>214</opcode><srcs><src>8</src></srcs><dsts><dst>1</dst></dsts></instr></block>"


def saved(rows: object, **options: object) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(rows, file, **{"_use_new_zipfile_serialization": False, **options})
    file.seek(0)
    return file


def test_a_data_set() -> None:
    rows = [
        (17, 249.0, "mov    rax, qword ptr [rbp-0x08]\nadd    rax, rcx\n", XML),
        (18, 100, "foo    rax\n", XML),
        (19, None, "and    rbx, 0xf0\nmov    rcx, rbx\n", XML),
        (20, 1.5, "", XML),
        (21, 1.5, "mov    rax, rbx\njmp    0x10\n", XML),
        (22, float("inf"), "inc    eax\ninc    ecx\n", None),
        ("a", 3.25, "inc    eax\ninc    ecx\n", XML),
    ]
    read = list(lines(saved(rows)))
    assert read[0] == b"488b45f84801c8,249.000000\n"
    assert read[2] == b"4883e3f04889d9,\n"
    assert read[5:] == [b"ffc0ffc1,\n", b"ffc0ffc1,3.250000\n"]
    faults = {k: line.fault for k, line in enumerate(read) if isinstance(line, Unconverted)}
    assert set(faults) == {1, 4}
    assert read[3] == b"# code_id 20: the block has no instructions\n"
    assert faults[1].place == "code_id 18" and "no such instruction: `foo rax'" in faults[1].reason
    assert faults[4].place == "code_id 21" and "transfers control" in faults[4].reason
    assert read[1].startswith(b"# code_id 18: as says: no such instruction") and read[1].endswith(b"\n")


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_real_blocks_keep_their_number_and_order(protocol: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ithemal_data, "AT_ONCE", 700)
    codes = table()["code"].to_pylist()
    rows = [(k, float(k), by_dynamorio(code), XML) for k, code in enumerate(codes)]
    read = list(lines(saved(rows, pickle_protocol=protocol)))
    assert len(read) == len(codes)
    for k, (line, code) in enumerate(zip(read, codes, strict=True)):
        digits, _, value = line.partition(b",")
        assert value == b"%d.000000\n" % k
        assert plain(bytes.fromhex(digits.decode())) == plain(code)


@pytest.mark.parametrize("row", [(1, 2.0, "nop"), "text", 7, None, [1, 2.0, "nop\n", XML, 5], (1, 2.0, None, XML), ()])
def test_a_bad_row_is_reported_and_the_others_go_on(row: object) -> None:
    read = list(lines(saved([(1, 2.0, "nop\nnop\n", XML), row, (3, 2.0, "nop\nnop\n", XML)])))
    assert [read[0], read[2]] == [b"9090,2.000000\n"] * 2
    assert isinstance(read[1], Unconverted) and read[1].fault.place in ("row 2", "code_id 1")


def test_huge_numbers_are_left_out() -> None:
    read = list(lines(saved([(1 << 100_000, 1 << 100_000, "nop\nnop\n", XML), (5, 10**400, "foo", XML)])))
    assert read[0] == b"9090,\n" and read[1].startswith(b"# code_id 5: ")


class _Runs:
    def __init__(self, path: str) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (self._path,)


def test_what_is_refused(tmp_path: Path) -> None:
    good = saved([(1, 2.0, "nop\nnop\n", XML)]).getvalue()
    for content, reason in (
        (b"", "damaged"),
        (good[:-7], "damaged"),
        (good[:40], "damaged"),
        (saved([]).getvalue(), "a list without rows"),
        (saved({"a": 1}).getvalue(), "a list without rows"),
        (pickle.dumps(1) + good, "not a data set of Ithemal"),
        (saved([(1, 2.0, _Runs(str(tmp_path / "made")), XML)]).getvalue(), "makes objects"),
        (saved([torch.zeros(2)]).getvalue(), "makes objects"),
        (saved([(1, 2.0, "nop\n", XML)], _use_new_zipfile_serialization=True).getvalue(), "not a data set of Ithemal"),
    ):
        with pytest.raises(Unreadable, match=reason) as error:
            list(lines(io.BytesIO(content)))
        assert error.value.remedy
    assert not (tmp_path / "made").exists()
