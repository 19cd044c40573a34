"""The verbs `order` and `check`: legal orders in the same format, nothing lost, clear messages."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from learned_schedulers.blocks.dag import memory_order
from learned_schedulers.blocks.order import line_orders, methods, targets
from learned_schedulers.blocks.order.line_orders import LineOrderer
from learned_schedulers.blocks.read import assembly
from learned_schedulers.blocks.read.assembly_file import AssemblyFile
from learned_schedulers.blocks.read.document import Fault
from learned_schedulers.command import order, ordered_file
from learned_schedulers.command.main import app
from tests.blocks import real
from tests.blocks.order.test_orderer import violated

SLOW_FIRST = "488b03418b57044889de4889ef"  # mov rax, [rbx]; mov edx, [r15+4]; mov rsi, rbx; mov rdi, rbp
REAL = [code.hex() for code in real.table()["code"].to_pylist()[::40]]
C = """
int table[4];
long f(long a, long b, long *p) {
    long first = a * b, second = p[0] + p[1], third = a / (b | 1);
    for (long i = 0; i < b; i++) { first = first * 3 + second; second ^= first + p[i] * a; third += second * b; }
    return first + second * third + table[a & 3];
}
"""


def typed(*words: object, input: bytes | None = None) -> Result:
    return CliRunner().invoke(app, [*map(str, words)], input=input)


def ordered(content: bytes, folder: Path, *words: object, by: str = "list") -> bytes:
    """What the command makes of lines."""
    (folder / "mine.csv").write_bytes(content)
    result = typed("order", folder / "mine.csv", "-o", folder / "out.csv", "--for", "atom", "--by", by, *words)
    assert result.exit_code == 0, result.output
    assert (folder / "mine.csv").read_bytes() == content
    return (folder / "out.csv").read_bytes()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """An assembly file with blocks that change."""
    (tmp_path / "f.c").write_text(C)
    subprocess.run(["gcc", "-O1", "-S", "f.c", "-o", "f.s"], cwd=tmp_path, check=True)
    return tmp_path / "f.s"


def assert_right(before: bytes, after: bytes) -> None:
    """Two lines are equal, or the second has the block of the first in a legal order."""
    if before == after:
        return
    code, rest = before.partition(b",")[::2]
    new_code, new_rest = after.partition(b",")[::2]
    assert rest == new_rest
    old = assembly.split(bytes.fromhex(code.decode()))
    new = assembly.split(bytes.fromhex(new_code.decode()))
    if any("rip" in text for text in assembly.intel(b"".join(old))):
        assert sorted(map(len, old)) == sorted(map(len, new))  # displacements change
        return
    slots: list[int] = []
    for piece in new:
        slots.append(next(i for i, instruction in enumerate(old) if instruction == piece and i not in slots))
    assert violated(b"".join(old), slots, "tso") == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("31c04801d8,249.0", ""),
        (" 31 C0 48 01 d8\t\r", ""),
        ("90" * 65, ""),
        ("", ""),
        (" \t", ""),
        ("# of a loop, 3 cycles", ""),
        (",12", "empty hex field"),
        ("hex,cycles", "not hexadecimal: 'hex'"),
        ("31c", "not hexadecimal"),
        ("488b", "not made of whole"),
        ("06", "not made of whole"),
        ("90c390", "a control transfer"),
        ("7405", "a control transfer"),
    ],
)
def test_a_line_stays_and_its_fault_is_named(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(f"{SLOW_FIRST},1\n{line}\n{SLOW_FIRST},2\n", newline="")
    words = ["--for", "atom", "--by", "list"]
    result = typed("order", tmp_path / "mine.csv", "-o", tmp_path / "out.csv", *words)
    assert result.exit_code == 0
    first, middle, last = (tmp_path / "out.csv").read_bytes().decode().split("\n")[:3]
    assert first != f"{SLOW_FIRST},1" and first[:-1] == last[:-1]
    assert middle == line
    if message:
        assert f"line 2: {message}" in result.stderr and "; " in result.stderr
    else:
        assert "left alone" not in result.stderr


LINES = st.one_of(
    st.sampled_from([*REAL, SLOW_FIRST, "90" * 65, "90" * 200, "c3", f"{SLOW_FIRST}7405{SLOW_FIRST}"]),
    st.sampled_from(["", "  ", "# note", "hex,cycles", ",", '"', SLOW_FIRST + ',"1,2"']),
    st.lists(st.sampled_from(["90", "4889d8", "4801c3", "488b0d10000000", "c3", "0f0b", "7405", "06"])).map("".join),
    st.binary(max_size=24).map(bytes.hex),
    st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"]), max_size=12),
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(LINES, max_size=12), st.booleans(), st.integers(1, 5))
def test_no_line_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str], ended: bool, piece: int
) -> None:
    monkeypatch.setattr(ordered_file, "LINES", piece)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})
    content = ("\n".join(lines) + "\n" * (ended and bool(lines))).encode()
    assume(content)  # an empty file is refused
    after = ordered(content, tmp_path)
    before_lines, after_lines = content.split(b"\n"), after.split(b"\n")
    assert len(before_lines) == len(after_lines)
    for before_line, after_line in zip(before_lines, after_lines, strict=True):
        assert_right(before_line, after_line)


@pytest.mark.slow
def test_the_number_of_processes_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = "\n".join(["", *REAL, "zz"]).encode()
    monkeypatch.setattr(ordered_file, "LINES", 7)
    results = []
    for cores in (1, 3):
        monkeypatch.setattr(os, "sched_getaffinity", lambda process, cores=cores: set(range(cores)))
        results.append(ordered(content, tmp_path, by="search"))
    assert results[0] == results[1] != content


def test_nothing_half_written_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parent, call = os.getpid(), LineOrderer.__call__

    def killed(self: LineOrderer, piece: Any) -> Any:
        if os.getpid() != parent and b"4801c3\n" in piece[1]:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(self, piece)

    monkeypatch.setattr(line_orders.LineOrderer, "__call__", killed)
    monkeypatch.setattr(ordered_file, "LINES", 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})
    (tmp_path / "out.csv").write_text("of yesterday")
    (tmp_path / "mine.csv").write_text(f"{SLOW_FIRST}\n4801c3\n{SLOW_FIRST}\n")
    words = ["-o", tmp_path / "out.csv", "--for", "atom", "--by", "list"]
    result = typed("order", tmp_path / "mine.csv", *words)
    assert result.exit_code == 1 and "a process was killed" in result.stderr
    assert (tmp_path / "out.csv").read_text() == "of yesterday"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.csv", "out.csv"]


def test_where_the_result_goes_must_be_clear(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(SLOW_FIRST)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/mine.csv").write_text(SLOW_FIRST)
    for words, message in (
        (["mine.csv"], "nowhere to write; give -o"),
        (["mine.csv", "-o", "mine.csv"], "it is the input itself"),
        (["mine.csv", "-o", "out.csv", "--in-place"], "exclude each other"),
        (["mine.csv", "folder/../mine.csv", "-o", "other"], "is given twice"),
        (["folder/mine.csv", "other/folder/mine.csv", "-o", "other"], "another file to order; name a folder"),
        (["mine.csv", "none.csv", "-o", "mine.csv"], "name a folder"),
        (["mine.csv", "none.csv", "-o", "-"], "cannot share standard output"),
        (["-", "--in-place"], "cannot be replaced"),
    ):
        paths = [tmp_path / word if "csv" in word or word == "other" else word for word in words]
        result = typed("order", *paths)
        assert result.exit_code == 1 and message in result.stderr, (words, result.output)
    assert (tmp_path / "mine.csv").read_text() == SLOW_FIRST


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "places"),
    [
        (["a/f.csv", "b/f.csv"], ["a/f.csv", "b/f.csv"]),
        (["p/a/f.csv", "p/f.csv", "p/a/b/g.csv"], ["a/f.csv", "f.csv", "a/b/g.csv"]),
        (["p/a/f.csv", "p/q/../b/f.csv", "p/q/h.csv"], ["a/f.csv", "b/f.csv", "q/h.csv"]),
        (["p/a/f.csv", "p/b/g.csv"], ["f.csv", "g.csv"]),  # as long as all names differ
    ],
)
def test_files_of_one_name_keep_their_places_below_their_common_folder(
    names: list[str], places: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("a", "b", "p/a/b", "p/b", "p/q"):
        (tmp_path / folder).mkdir(parents=True)
    for number, name in enumerate(names):
        (tmp_path / name).write_text(f"{SLOW_FIRST},{number}\n")
    monkeypatch.chdir(tmp_path)
    paths = [Path(name) if number % 2 else tmp_path / name for number, name in enumerate(names)]
    result = typed("order", *paths, "-o", "out/new", "--for", "atom", "--by", "list")
    assert result.exit_code == 0, result.output
    written = sorted(path for path in (tmp_path / "out/new").rglob("*") if path.is_file())
    assert written == sorted(tmp_path / "out/new" / place for place in places)
    for number, place in enumerate(places):
        line = (tmp_path / "out/new" / place).read_text()
        assert line.endswith(f",{number}\n") and not line.startswith(SLOW_FIRST)


@pytest.mark.slow
def test_files_that_are_not_there_do_not_end_a_batch(tmp_path: Path) -> None:
    for name in ("first.csv", "last.csv", "lines.csv"):
        (tmp_path / name).write_text(f"{SLOW_FIRST}\n")
    (tmp_path / "folder.s").mkdir()
    (tmp_path / "broken.s").symlink_to("nowhere")
    (tmp_path / "loop.s").symlink_to("loop.s")
    wrong = {
        "nothing.s": "No such file or directory; correct its name",
        "folder.s": "Is a directory; give the files in it",
        "broken.s": "No such file or directory",
        "loop.s": "Too many levels of symbolic links",
        "first.csv/below.s": "Not a directory",
        "n" * 300: "File name too long",
    }
    files = [tmp_path / name for name in ("first.csv", *wrong, "last.csv")]
    result = typed("order", *files, "-o", tmp_path / "out", "--for", "atom", "--by", "list", "--json")
    assert result.exit_code == 1
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["first.csv", "last.csv"]
    reports = json.loads(result.stdout)
    assert [report["file"] for report in reports] == [str(file) for file in files]
    for report, message in zip(reports[1:-1], wrong.values(), strict=True):
        assert report["error"].startswith(message) and f"error: {report['file']}: {message}" in result.stderr
    listed = typed("blocks", *files)
    assert listed.exit_code == 1 and len(listed.stdout.splitlines()) == 2, listed.output
    (tmp_path / "out/f.s").mkdir()  # where a file should go
    (tmp_path / "f.s").write_text("\tnop\n")
    batch = ["order", tmp_path / "f.s", tmp_path / "lines.csv", tmp_path / "last.csv", "-o", tmp_path / "out"]
    limited = typed(*batch, "--limit", 1, "--for", "atom")
    assert limited.exit_code == 1 and limited.stderr.count("are for assembly; order it") == 2
    assert not (tmp_path / "out/lines.csv").exists()
    occupied = typed(*batch, "--for", "atom")
    assert occupied.exit_code == 1 and f"f.s: Is a directory, {tmp_path / 'out/f.s'}; " in occupied.stderr
    assert (tmp_path / "out/lines.csv").exists()
    for words in (["check", files[0], files[1]], ["check", files[1], files[0]]):
        missing = typed(*words)
        assert missing.exit_code == 1 and "nothing.s" in missing.stderr


@pytest.mark.parametrize("words", [["check"], ["explain"], ["blocks"]])
def test_every_verb_names_the_file_that_it_cannot_read(words: list[str], tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.data"
    damaged.write_bytes(b"\x80\x02]q\x00(X\x04\x00")  # a pickle that ends too early
    files = [damaged, damaged] if words[0] == "check" else [damaged]
    refused = typed(words[0], *files, *words[1:])
    assert refused.exit_code == 1 and f"error: {damaged}: " in refused.stderr and "; " in refused.stderr


@pytest.mark.parametrize("kind", ["object", "archive"])
def test_machine_code_gets_no_new_orders(kind: str, source: Path) -> None:
    file = source.with_suffix(".o" if kind == "object" else ".a")
    subprocess.run(["gcc", "-c", source, "-o", source.with_suffix(".o")], check=True)
    if kind == "archive":
        subprocess.run(["ar", "rcs", file, source.with_suffix(".o")], check=True)
    content = file.read_bytes()
    for words in (["order", file, "--in-place"], ["check", file, file]):
        refused = typed(*words)
        assert refused.exit_code == 1 and "give the compiler's assembly (gcc -S)" in refused.stderr, refused.output
    assert file.read_bytes() == content


def test_standard_input_becomes_standard_output() -> None:
    result = typed("order", "-", "-o", "-", "--for", "atom", "--by", "cp_sat", input=f"{SLOW_FIRST},7\n".encode())
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith(",7\n") and result.stdout != f"{SLOW_FIRST},7\n"
    assert "1 blocks, 1 changed" in result.stderr and "memory tso" in result.stderr


def test_assembly_stays_assembly_and_check_agrees(source: Path) -> None:
    folder, content = source.parent, source.read_bytes()
    result = typed("order", source, "-o", folder / "g.s", "--for", "atom", "--verify", "all", "--json")
    assert result.exit_code == 0, result.output
    [report] = json.loads(result.stdout)
    assert report["statuses"]["changed"] == len(report["changes"]) > 0
    assert report["memory"] == "tso" and report["for"] == "atom" and report["format"] == "assembly"
    assert report["cycles_of_changed_blocks"]["after"] < report["cycles_of_changed_blocks"]["before"]
    assert source.read_bytes() == content != (folder / "g.s").read_bytes()
    for name in ("f", "g"):
        subprocess.run(["gcc", "-c", f"{name}.s", "-o", f"{name}.o"], cwd=folder, check=True)
    assert (folder / "f.o").stat().st_size == (folder / "g.o").stat().st_size
    checked = typed("check", source, folder / "g.s")
    assert checked.exit_code == 0 and "legal" in checked.stdout, checked.output
    # The other way round, dependencies hold as well.
    assert typed("check", folder / "g.s", source).exit_code == 0


def test_random_legal_orders_by_the_seed_and_check_agrees(source: Path) -> None:
    texts = []
    for seed in (1, 1, 2):
        out = source.with_name("out.s")
        result = typed("order", source, "-o", out, "--for", "atom", "--by", "random_legal", "--seed", seed)
        assert result.exit_code == 0 and "by random_legal" in result.stderr, result.output
        assert typed("check", source, out).exit_code == 0
        texts.append(out.read_text())
    assert texts[0] == texts[1] != texts[2] != source.read_text()


def test_check_names_block_pair_and_reason(tmp_path: Path) -> None:
    load, sum_, move = "\tmovq (%rdi), %rax", "\tleaq 1(%rax), %rcx", "\tmovq %rsi, %rdx"

    def file(name: str, *instructions: str) -> Path:
        path = tmp_path / name
        head = ['\t.file "f.c"', "\t.text", "\t.type f, @function", "f:"]
        path.write_text("\n".join([*head, *instructions, "\tret", "\t.size f, .-f", ""]))
        return path

    before = file("before.s", load, sum_, move)
    legal = typed("check", before, file("legal.s", move, load, sum_))
    assert legal.exit_code == 0 and "1 legal orders" in legal.stdout
    illegal = typed("check", before, file("illegal.s", sum_, load, move))
    assert illegal.exit_code == 1
    assert "lines 5-7: instruction 0 must stay before 1, because RAW through rax" in illegal.stdout
    other = typed("check", before, file("other.s", load, move, move))
    assert other.exit_code == 1 and "is gone" in other.stdout


def test_a_block_that_the_writer_cannot_prove_is_a_defect(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = json.loads(typed("order", source, "--dry-run", "--json", "--for", "atom").stdout)[0]["changes"]
    rewritten = AssemblyFile.rewritten

    def unproven(self: AssemblyFile, orders: dict[int, tuple[int, ...]]) -> bytes:
        first = min(orders)
        self.faults.append(Fault(self.blocks[first].place, "defect: the new order could not be proven", "report it"))
        return rewritten(self, {block: order for block, order in orders.items() if block != first})

    monkeypatch.setattr(AssemblyFile, "rewritten", unproven)
    result = typed("order", source, "-o", source.with_name("g.s"), "--json", "--for", "atom")
    assert result.exit_code == 1
    assert json.loads(result.stdout)[0]["changes"] == every[1:]


def test_dry_run_writes_nothing_and_diff_shows_cycles(source: Path) -> None:
    before = sorted(source.parent.iterdir())
    result = typed("order", source, "--dry-run", "--diff", "--for", "atom")
    assert result.exit_code == 0 and sorted(source.parent.iterdir()) == before
    assert "lines " in result.stdout and "cycles" in result.stdout and "imul" in result.stdout


def test_one_block_or_the_first_changes_alone(source: Path) -> None:
    out = source.with_name("g.s")
    every = json.loads(typed("order", source, "--dry-run", "--json", "--for", "atom").stdout)[0]["changes"]
    assert len(every) > 1
    last = every[-1]["place"]
    for words, places in (
        (["--only-block", last], [last]),
        (["--limit", 1], [every[0]["place"]]),
        (["--limit", 0], []),
    ):
        result = typed("order", source, "-o", out, "--json", "--for", "atom", *words)
        assert [change["place"] for change in json.loads(result.stdout)[0]["changes"]] == places
        assert (out.read_bytes() == source.read_bytes()) == (not places)
    unknown = typed("order", source, "-o", out, "--only-block", "lines 0-0", "--for", "atom")
    assert unknown.exit_code == 1 and "no changed block has this place" in unknown.stderr


def test_in_place_replaces_by_a_rename(source: Path) -> None:
    content, number = source.read_bytes(), source.stat().st_ino
    source.chmod(0o640)
    assert typed("order", source, "--in-place", "--for", "atom").exit_code == 0
    assert source.read_bytes() != content and source.stat().st_ino != number
    assert source.stat().st_mode & 0o777 == 0o640


@pytest.mark.slow
@pytest.mark.parametrize("place", ["in place", "existing", "broken"])
@pytest.mark.parametrize("name", ["f.s", "mine.csv"])
def test_a_symbolic_link_stays_and_what_it_leads_to_is_written(place: str, name: str, source: Path) -> None:
    folder = source.parent
    (folder / "mine.csv").write_text(f"{SLOW_FIRST}\n")
    (folder / "deep").mkdir()
    content = (folder / name).read_bytes()
    target = folder / "deep/target"
    if place != "broken":
        target.write_bytes(content)
        target.chmod(0o640)
    (folder / "middle").symlink_to("deep/target")  # relative to its own folder
    link = folder / f"link{source.with_name(name).suffix}"
    link.symlink_to(folder / "middle")
    words = [link, "--in-place"] if place == "in place" else [folder / name, "-o", link]
    result = typed("order", *words, "--for", "atom", "--by", "list")
    assert result.exit_code == 0, result.output
    assert link.is_symlink() and (folder / "middle").is_symlink() and not target.is_symlink()
    assert target.read_bytes() != content == (folder / name).read_bytes()
    assert [path.name for path in (folder / "deep").iterdir()] == ["target"]
    if place == "in place":
        assert target.stat().st_mode & 0o777 == 0o640


def test_names_of_the_command_are_those_of_the_rooms() -> None:
    assert get_args(order.By) == methods.METHODS
    assert get_args(order.For) == ("host", *targets.TARGETS)
    assert get_args(order.Memory) == get_args(memory_order.MemoryOrder)
