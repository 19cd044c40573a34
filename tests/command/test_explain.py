"""The verb `explain` as a user types it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from learned_schedulers.blocks.order.gains import Gain, Gains
from learned_schedulers.blocks.processors import llvm_mca
from learned_schedulers.command.gains_page import Setting, page
from learned_schedulers.command.main import app
from tests.blocks import real

SOURCE = """\
	.file	"f.c"
	.text
	.globl	f
	.type	f, @function
f:
	mulsd	%xmm0, %xmm1
	addsd	%xmm1, %xmm2
	mulsd	%xmm3, %xmm4
	addsd	%xmm4, %xmm5
	ret
	.size	f, .-f
"""
ORDERED = "4889d84889f1"  # mov rax, rbx; mov rcx, rsi: no order is faster


def run(*words: str | Path, **more: str) -> Result:
    return CliRunner().invoke(app, ["explain", *map(str, words)], **more)


def refused(*words: str | Path) -> str:
    """The error message: one line, no traceback."""
    result = run(*words)
    assert result.exit_code == 1 and isinstance(result.exception, SystemExit), result.output
    [message] = [line for line in result.stderr.splitlines() if "error: " in line]
    return message


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("assembly") / "f.s"
    path.write_text(SOURCE)
    return path


def test_assembly_has_its_page(assembly: Path, tmp_path: Path) -> None:
    before = assembly.read_bytes()
    out = tmp_path / "new/f.html"
    result = run(assembly, "-o", out, "--for", "atom", "--by", "list")
    assert result.exit_code == 0, result.output
    assert result.stdout == f"page: {out}\n" and "f.s: " in result.stderr
    text = out.read_text()
    [(place, old, new)] = set(re.findall(r"<h2>(lines? [\d-]+): (\d+) → (\d+) cycles", text))
    assert int(new) < int(old) and place.startswith("lines")
    assert text.count("mulsd xmm1, xmm0") == 2 and text.count("<tr class=moved>") >= 2
    assert text.count("Timeline view") == 0 and text.count("<pre>") == (2 if llvm_mca.find() else 0)
    assert assembly.read_bytes() == before and [path.name for path in out.parent.iterdir()] == ["f.html"]


def test_lines_of_hexadecimal_have_their_page(tmp_path: Path) -> None:
    codes = real.table()["code"].to_pylist()[:200]
    (tmp_path / "mine.csv").write_text("".join(f"{code.hex()},1\n" for code in codes) + "zz\n")
    out = tmp_path / "mine.html"
    result = run(tmp_path / "mine.csv", "-o", out, "--for", "atom", "--by", "list", "--blocks", "3")
    assert result.exit_code == 0, result.output
    text = out.read_text()
    assert len(re.findall(r"<h2>line \d+: ", text)) == 3 and "Of 200 basic blocks" in text
    assert "left alone" in text


def test_without_llvm_mca_the_page_says_how_to_have_timelines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm_mca, "find", lambda: None)
    gain = Gain(("<place>", "other"), bytes.fromhex(ORDERED), (1, 0), 9, 8)
    text = page(Setting("f.s", "atom", "list", "tso"), Gains([gain], 3, 1, 9, 8, 0))
    assert llvm_mca.INSTALL in text and "<pre>" not in text and "also at other" in text
    assert "&lt;place&gt;: 9 → 8 cycles" in text and text.index("mov rcx, rsi") > text.index("mov rax, rbx")


@pytest.mark.skipif(llvm_mca.find() is None, reason="llvm-mca is not installed")
def test_a_timeline_ends_where_llvm_mca_knows_no_instruction() -> None:
    binary = llvm_mca.find() or ""
    assert "DeE" not in llvm_mca.timeline([".byte 1"], "haswell", binary)
    assert llvm_mca.timeline(["bad"], "haswell", binary) == ""
    assert "movq" in llvm_mca.timeline(["movq %rax, %rbx"], "haswell", binary)


def test_machine_code_has_its_page(assembly: Path, tmp_path: Path) -> None:
    subprocess.run(["gcc", "-c", assembly, "-o", tmp_path / "f.o"], check=True)
    result = run(tmp_path / "f.o", "-o", tmp_path / "f.html", "--for", "atom", "--by", "list")
    assert result.exit_code == 0 and "<h2>.text+0x0: " in (tmp_path / "f.html").read_text(), result.output


def test_a_hostile_name_is_text(assembly: Path, tmp_path: Path) -> None:
    path = tmp_path / "<img src=x>&.s"
    path.write_bytes(assembly.read_bytes())
    out = tmp_path / "f.html"
    assert run(path, "-o", out, "--for", "atom", "--by", "list").exit_code == 0
    text = out.read_text()
    assert "<img" not in text and "&lt;img src=x&gt;&amp;.s" in text


def test_what_cannot_be(assembly: Path, tmp_path: Path) -> None:
    out = tmp_path / "f.html"
    out.write_text("of yesterday")
    assert "would take the place of the file itself; name another" in refused(assembly, "-o", assembly)
    assert "this is a folder; name a file in it" in refused(assembly, "-o", tmp_path)
    assert "name it, as -o explanation.html" in refused(assembly, "-o", "-")
    assert "for haswell take --by search" in refused(assembly, "-o", out, "--for", "haswell", "--by", "cp_sat")
    assert "nothing.s" in refused(tmp_path / "nothing.s", "-o", out, "--for", "atom")
    (tmp_path / "f.c").write_text("int f(void) { return 1; }")
    assert "f.c: " in refused(tmp_path / "f.c", "-o", out, "--for", "atom")
    assert out.read_text() == "of yesterday"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f.c", "f.html"]
