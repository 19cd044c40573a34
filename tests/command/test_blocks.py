"""The blocks of one's own programs: whole, in order, ready for `order`; files that cannot be read are named."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from learned_schedulers.blocks.read import assembly
from learned_schedulers.command.main import app

TINY = Path(__file__).parents[1] / "tiny/tiny1.so"


def blocks(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["blocks", *map(str, arguments)])


def test_every_line_holds_whole_instructions_and_the_place_of_the_block(tmp_path: Path) -> None:
    result = blocks(TINY, "--out", tmp_path / "blocks.csv", "--least", 3, "--most", 20)
    assert result.exit_code == 0, result.output
    rows = [line.split(",") for line in (tmp_path / "blocks.csv").read_text().splitlines()]
    assert f"{len(rows)} basic blocks of 1 files" in result.output
    assert len(rows) > 300
    program = TINY.read_bytes()
    for code, file, section, address in rows:
        assert 3 <= len(assembly.split(bytes.fromhex(code))) <= 20
        assert bytes.fromhex(code) in program and file == str(TINY) and section == ".text" and int(address, 16) > 0
    addresses = [int(row[3], 16) for row in rows]
    assert addresses == sorted(addresses)


def test_a_file_that_cannot_be_read_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "dot.c").write_text("int dot(int a) { return a; }")
    (tmp_path / "cut.so").write_bytes(TINY.read_bytes()[:5000])
    result = blocks(tmp_path / "dot.c", tmp_path / "cut.so", tmp_path / "none.o", TINY)
    assert result.exit_code == 1
    assert "dot.c: the assembler" in result.output and "gcc -S" in result.output
    assert "cut.so: truncated or damaged ELF file" in result.output
    assert "none.o" in result.output and "No such file" in result.output
    assert f",{TINY}," in result.output
    assert blocks(tmp_path / "dot.c", "--out", tmp_path / "blocks.csv").exit_code == 1
    assert not (tmp_path / "blocks.csv").exists()


@pytest.mark.parametrize("removed", [".comment", ".eh_frame"])
def test_programs_of_distributions_name_no_compiler(removed: str, tmp_path: Path) -> None:
    """Stripped of what says who compiled them; without tables of frames, symbols tell the functions."""
    (tmp_path / "f.c").write_text("int g(int); int f(int a, int *b) { return g(a * 3 + *b) ^ b[1] * 5; }")
    for words in (["gcc", "-O2", "-c", "f.c"], ["objcopy", "-R", removed, "f.o", "g.o"]):
        subprocess.run(words, cwd=tmp_path, check=True)
    texts = [[line.split(",")[0] for line in blocks(tmp_path / name).stdout.splitlines()] for name in ("f.o", "g.o")]
    assert texts[0] == texts[1] and texts[0]
    result = blocks(tmp_path / "g.o")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--least", 9, "--most", 3], "no block has such a length"), (["--out", TINY], "name another file")],
)
def test_wrong_options_are_refused(options: list[object], message: str) -> None:
    before = TINY.read_bytes()
    result = blocks(TINY, *options)
    assert result.exit_code == 1 and message in result.output
    assert TINY.read_bytes() == before
