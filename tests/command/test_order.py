"""The verb `order`: legal orders, complete output, and clear messages about lines that are not blocks."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from pipeline.blocks.corpus import assembly
from pipeline.blocks.dag.dependencies import block_dag
from pipeline.blocks.models.inputs import Vocabulary
from pipeline.blocks.models.ordering_network import OrderingNetwork
from pipeline.command import order
from pipeline.command.main import app
from tests.blocks import real
from tests.blocks.models import imitated

MOVES = "4889d84889f1"  # two orders are legal
LONG = "90" * 65
FAR = "4889e5488b0dffffff7f"  # mov rbp, rsp; mov rcx, [rip+0x7fffffff]: after a move, the distance does not fit
REAL = [code.hex() for code in real.table()["code"].to_pylist()[::40]]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    _, encodings, _ = imitated.corpus(5)
    path = tmp_path_factory.mktemp("network") / "weights.safetensors"
    OrderingNetwork(Vocabulary(encodings.tokens), imitated.settings()).save(path)
    return path


def ordered(lines: bytes | str, weights: Path, folder: Path) -> list[dict[str, str]]:
    """The output rows of a file's content."""
    (folder / "mine.csv").write_bytes(lines if isinstance(lines, bytes) else lines.encode())
    order.main(folder / "mine.csv", folder / "out.csv", weights)
    with (folder / "out.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def assert_right(row: dict[str, str]) -> None:
    """The row has a legal order and the code in that order, or a reason and no order."""
    if row["status"] != "ok":
        assert row["status"] in ("bad", "too long", "empty")
        assert row["message"].startswith(f"mine.csv, line {row['line']}: ") and "; " in row["message"]
        assert not row["ordered_hex"] + row["order"] + row["confidence"]
        return
    slots = [int(i) for i in row["order"].split()]
    before, after = assembly.split(bytes.fromhex(row["hex"])), assembly.split(bytes.fromhex(row["ordered_hex"]))
    assert [len(before[i]) for i in slots] == [len(piece) for piece in after]
    assert sorted(slots) == list(range(len(before)))
    for i, k, _ in block_dag(bytes.fromhex(row["hex"]), "full", addresses_known=False).edges:
        assert slots.index(i) < slots.index(k)
    assert 0 <= float(row["confidence"]) <= 1 and not row["message"]


@pytest.mark.parametrize(
    ("line", "status", "message"),
    [
        ("31c04801d8,249.0", "ok", ""),
        (" 31 C0 48 01 d8\t\r", "ok", ""),
        ("90" * 64, "ok", ""),
        (LONG, "too long", "65 instructions, but at most 64"),
        ("", "empty", "has no block"),
        (" \t", "empty", "has no block"),
        ("# of a loop, 3 cycles", "empty", "has no block"),
        (",12", "bad", "empty hex field"),
        ("hex,cycles", "bad", "not hexadecimal: 'hex'"),
        ("31c", "bad", "not hexadecimal"),
        ("\u00e9\u2028", "bad", "not hexadecimal"),
        ("488b", "bad", "not made of whole"),
        ("06", "bad", "not made of whole"),
        ("90c390", "bad", "transfers control"),
        ("7405", "bad", "transfers control"),
    ],
)
def test_a_line_has_its_status(line: str, status: str, message: str, weights: Path, tmp_path: Path) -> None:
    first, row, last = ordered(f"{MOVES}\n{line}\n{MOVES}", weights, tmp_path)
    assert (row["line"], row["status"]) == ("2", status) and message in row["message"]
    assert_right(row)
    assert first["status"] == last["status"] == "ok" and first["order"] == last["order"]


LINES = st.one_of(
    st.sampled_from([*REAL, MOVES, LONG, "90" * 200, "c3", f"{MOVES}7405{MOVES}"]),
    st.sampled_from(["", "  ", "# note", "hex,cycles", ",", '"', MOVES + ',"1,2"']),
    st.lists(st.sampled_from(["90", "4889d8", "4801c3", "488b0d10000000", "c3", "0f0b", "7405", "06"])).map("".join),
    st.binary(max_size=24).map(bytes.hex),
    st.text(st.characters(exclude_characters="\n\0"), max_size=12),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(LINES, max_size=12), st.booleans(), st.integers(1, 5))
def test_every_line_has_its_row(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str], ended: bool, piece: int
) -> None:
    monkeypatch.setattr(order, "_LINES", piece)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})
    content = "\n".join(lines) + "\n" * (ended and bool(lines))
    n = len(content.encode().split(b"\n")) - (not content or content.endswith("\n"))
    rows = ordered(content, weights, tmp_path)
    assert [row["line"] for row in rows] == [str(k + 1) for k in range(n)]
    for row in rows:
        assert_right(row)


def test_the_number_of_processes_changes_nothing(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "\n".join(["", *REAL, LONG, "zz", FAR])
    monkeypatch.setattr(order, "_LINES", 7)
    results = []
    for cores in (1, 3):
        monkeypatch.setattr(os, "sched_getaffinity", lambda process, cores=cores: set(range(cores)))
        results.append(ordered(lines, weights, tmp_path))
    assert results[0] == results[1] and len(results[0]) == len(REAL) + 4


def test_a_block_that_cannot_be_moved_is_told(weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def last_first(self: OrderingNetwork, problems: Any, *_: Any) -> tuple[np.ndarray, np.ndarray]:
        size, n = problems.instructions.shape
        return np.tile(np.arange(n)[::-1], (size, 1)), np.full(size, np.nan)

    monkeypatch.setattr(OrderingNetwork, "schedule", last_first)
    far, near = ordered(f"{FAR}\n{MOVES}", weights, tmp_path)
    assert far["status"] == "bad" and "too far away to be moved" in far["message"]
    assert (near["order"], near["confidence"]) == ("1 0", "")


def test_nothing_half_written_is_left(weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parent, orders = os.getpid(), order.Orderer._orders

    def killed(self: order.Orderer, codes: list[bytes]) -> Any:
        if os.getpid() != parent and bytes.fromhex("4801c3") in codes:
            os.kill(os.getpid(), signal.SIGKILL)
        return orders(self, codes)

    monkeypatch.setattr(order.Orderer, "_orders", killed)
    monkeypatch.setattr(order, "_LINES", 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})
    (tmp_path / "out.csv").write_text("of yesterday")
    with pytest.raises(ValueError, match="a process was killed"):
        ordered(f"{MOVES}\n4801c3\n{MOVES}", weights, tmp_path)
    assert (tmp_path / "out.csv").read_text() == "of yesterday"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.csv", "out.csv"]


def test_what_cannot_be_read_is_named(weights: Path, tmp_path: Path) -> None:
    blocks, out = tmp_path / "mine.csv", tmp_path / "out.csv"
    blocks.write_bytes("4889d8\n".encode("utf-16"))
    with pytest.raises(ValueError, match=r"mine\.csv: not UTF-8 text .*; save it as CSV in UTF-8"):
        order.main(blocks, out, weights)
    with pytest.raises(ValueError, match=r"mine\.csv: the orders would overwrite the blocks; name another"):
        order.main(blocks, blocks, weights)
    (tmp_path / "weights.safetensors").write_bytes(b"nothing")
    blocks.write_text(MOVES)
    with pytest.raises(ValueError, match="is no file of weights"):
        order.main(blocks, out, tmp_path / "weights.safetensors")
    assert not out.exists()
    result = CliRunner().invoke(app, ["order", "--blocks", str(tmp_path / "nothing.csv"), "--out", str(out)])
    assert result.exit_code == 1 and "error: " in result.stderr and "nothing.csv" in result.stderr


def test_as_a_user_types_it(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(f"\ufeff{MOVES}\nzz\n{LONG}\n")
    code = (
        "import sys; from pipeline.command.main import app; app(standalone_mode=False);"
        "print(sorted({'pandas', 'elftools', 'sklearn', 'matplotlib', 'torch._dynamo'} & set(sys.modules)))"
    )
    words = ["order", "--blocks", tmp_path / "mine.csv", "--out", tmp_path / "out.csv"]
    process = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert process.stdout == "[]\n"  # slow to import, and not needed
    assert f"1 of 3 lines ordered; 1 bad, 1 too long: see {tmp_path}/out.csv" in process.stderr
