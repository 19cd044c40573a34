"""ELF files with blocks in new orders: read by objdump, and run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.blocks.dag.memory_order import Mark
from learned_schedulers.blocks.read.elf_file import ElfDocument, read
from learned_schedulers.blocks.read.unreadable import Unreadable
from tests.blocks.read.elf_builds import build, disassembled
from tests.blocks.read.random_orders import random_orders

PROGRAM = Path(__file__).parent / "labels.c"
KINDS = {
    "object": ("-c", "-O2"),
    "sections": ("-c", "-O3", "-fPIC", "-ffunction-sections", "-ftls-model=initial-exec"),
    "fixed_object": ("-c", "-O1", "-fno-pic"),
    "without_frames": ("-c", "-O2", "-fno-asynchronous-unwind-tables"),
    "debug": ("-c", "-O2", "-g"),
    "pie": ("-O2",),
    "fixed": ("-O2", "-fno-pic", "-no-pie"),
    "unoptimised": ("-O0",),
    "shared": ("-O2", "-shared", "-fPIC"),
}


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("builds")
    return {kind: build(folder, PROGRAM.read_text(), ".c", *options) for kind, options in KINDS.items()}


def place_of(document: ElfDocument, block: int, linked: bool) -> tuple[str, int]:
    place = document.blocks[block].place
    if linked:
        return "", int(place.split()[0], 16)
    section, _, offset = place.rpartition("+")
    return section, int(offset, 16)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_objdump_reads_the_permutations(builds: dict[str, bytes], kind: str, tmp_path: Path) -> None:
    """Orders that need not be legal: bytes are moved in the same way."""
    linked, rng = "-c" not in KINDS[kind], np.random.default_rng(1)
    document = read(builds[kind], kind)
    orders = {block: rng.permutation(len(b.marks)).tolist() for block, b in enumerate(document.blocks)}
    before = disassembled(tmp_path, builds[kind], linked)
    after = disassembled(tmp_path, document.rewritten(orders), linked)
    if linked:
        before, after = ({("", place): text for (_, place), text in part.items()} for part in (before, after))
    inside, n_moved = set(), 0
    for block, order in orders.items():
        section, begin = place_of(document, block, linked)
        end = begin + len(document.blocks[block].code)
        old = [before[section, place] for place in range(begin, end) if (section, place) in before]
        new = [after[section, place] for place in range(begin, end) if (section, place) in after]
        assert new == [old[i] for i in order]
        inside |= {(section, place) for place in range(begin, end)}
        n_moved += new != old
    assert n_moved > 15
    assert {k: v for k, v in before.items() if k not in inside} == {k: v for k, v in after.items() if k not in inside}
    assert document.rewritten({}) == builds[kind]


@pytest.mark.parametrize("kind", ["object", "sections", "fixed_object", "debug", "pie", "fixed", "unoptimised"])
def test_ordered_programs_run_as_before(builds: dict[str, bytes], kind: str, tmp_path: Path) -> None:
    """Random legal orders, of a program that has all kinds of indirect jumps."""
    document = read(builds[kind], kind)
    ordered = document.rewritten(random_orders(document, "tso", np.random.default_rng(5)))
    assert ordered != builds[kind]
    outputs = []
    for name, content in (("before", builds[kind]), ("after", ordered)):
        path = tmp_path / name
        path.write_bytes(content)
        path.chmod(0o755)
        if "-c" in KINDS[kind]:
            path = path.rename(path.with_suffix(".o"))
            options = ["-no-pie"] if "-fno-pic" in KINDS[kind] else []
            subprocess.run(["gcc", *options, str(path), "-o", str(tmp_path / name)], check=True)
        run = subprocess.run([tmp_path / name], capture_output=True, check=True, timeout=20)
        outputs.append(run.stdout)
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 100


def test_separate_blocks_have_separate_bytes(builds: dict[str, bytes]) -> None:
    document = read(builds["pie"], "pie")
    orders = random_orders(document, "tso", np.random.default_rng(7))
    changed = {block: order for block, order in orders.items() if order != sorted(order)}
    whole = np.frombuffer(document.rewritten(changed), np.uint8).copy()
    old = np.frombuffer(builds["pie"], np.uint8)
    for block, order in changed.items():
        alone = np.frombuffer(document.rewritten({block: order}), np.uint8)
        places = np.flatnonzero(alone != old)
        assert (whole[places] == alone[places]).all()
        whole[places] = old[places]
    assert (whole == old).all()


def test_what_the_linker_fills_in_is_zero_and_marked(tmp_path: Path) -> None:
    source = """
        .globl f
        .type f, @function
    f:  .cfi_startproc
        movl counter(%rip), %eax
        movl $0x11, counter+4(%rip)
        movl $text, %ecx
        movl 16(%rsp), %edx
        movq %fs:slot@tpoff, %rsi
        movq table(,%rdi,8), %r8
        ret
        .cfi_endproc
    """
    (block,) = read(build(tmp_path, source, ".s", "-c"), "f.o").blocks
    linked, slot = int(Mark.LINKED), int(Mark.PRIVATE | Mark.CLOSED)
    marks = [mark & (linked | slot) for mark in block.marks]
    closed = int(Mark.CLOSED)
    assert marks == [linked | closed, linked | closed, closed, slot, linked | closed, linked | closed]
    assert block.code == bytes.fromhex(
        "8b0500000000 c7050000000011000000 b900000000 8b542410 64488b342500000000 4c8b04fd00000000"
    )


def test_addends_may_lie_in_the_fields(tmp_path: Path) -> None:
    """Bytes below a relocation do not count, but they move with it."""
    source = ".globl f\nf: .cfi_startproc\nmovl a(%rip), %eax\nmovl b(%rip), %ecx\nret\n.cfi_endproc\n"
    content = bytearray(build(tmp_path, source, ".s", "-c"))
    at = content.index(bytes.fromhex("8b0500000000"))
    content[at + 2 : at + 6] = b"\x11\x22\x33\x44"
    document = read(bytes(content), "f.o")
    assert document.blocks[0].code == bytes.fromhex("8b0500000000 8b0d00000000")
    ordered = document.rewritten({0: [1, 0]})
    assert ordered[at : at + 12] == bytes.fromhex("8b0d00000000 8b0511223344")


def test_a_distance_inside_a_section_beside_a_relocation(tmp_path: Path) -> None:
    """The assembler knows the distance, the linker the constant: one follows the instruction's place, one moves."""
    lines = "movl %eax, %ecx\nmovl $text, .Ld(%rip)\nret"
    content = build(tmp_path, f".globl f\nf: .cfi_startproc\n{lines}\n.cfi_endproc\n.Ld: .long 0\n", ".s", "-c")
    ordered = read(content, "f.o").rewritten({0: [1, 0]})
    before, after = (disassembled(tmp_path, part, linked=False) for part in (content, ordered))
    assert before[".text", 2] == after[".text", 0] and before[".text", 0] == after[".text", 10]
    assert "[d]" in after[".text", 0] and "R_X86_64_32 text at 6" in after[".text", 0]


def test_frames_of_split_functions_prove_nothing(tmp_path: Path) -> None:
    body = "movl %edi, 8(%rsp)\nmovl 8(%rsp), %eax\n"
    cold = (
        '.section .text.unlikely,"ax"\nf.cold:\n.cfi_startproc\nleaq 8(%rsp), %rdi\ncall g\njmp .Lback\n.cfi_endproc\n'
    )
    head = ".globl f\n.type f,@function\nf: .cfi_startproc\ntestl %edi, %edi\n"
    whole = read(build(tmp_path, f"{head}{body}ret\n.cfi_endproc\n", ".s", "-c"), "whole")
    split = read(build(tmp_path, f"{head}je f.cold\n{body}.Lback: ret\n.cfi_endproc\n{cold}", ".s", "-c"), "split")
    assert any(mark & Mark.PRIVATE for block in whole.blocks for mark in block.marks)
    assert not any(mark & (Mark.PRIVATE | Mark.CLOSED) for block in split.blocks for mark in block.marks)


def test_requests_to_valgrind_stay(tmp_path: Path) -> None:
    request = "rolq $3, %rdi\nrolq $13, %rdi\nrolq $61, %rdi\nrolq $51, %rdi\nxchgq %rbx, %rbx\n"
    source = f".globl f\nf: .cfi_startproc\nmovl %eax, %ecx\n{request}movl %edx, %esi\nret\n.cfi_endproc\n"
    (block,) = read(build(tmp_path, source, ".s", "-c"), "f.o").blocks
    assert [bool(mark & Mark.FIXED) for mark in block.marks] == [False, *[True] * 5, False]


@pytest.mark.parametrize("order", [[0], [0, 0], [1, 2], [0, 1, 2]])
def test_wrong_orders(tmp_path: Path, order: list[int]) -> None:
    source = ".globl f\nf: .cfi_startproc\nmovl %eax, %ecx\nmovl %edx, %esi\nret\n.cfi_endproc\n"
    document = read(build(tmp_path, source, ".s", "-c"), "f.o")
    with pytest.raises(ValueError, match=r"\.text\+0x0: .* is no order of 2 instructions"):
        document.rewritten({0: order})


def test_sections_of_the_same_name_have_different_places(tmp_path: Path) -> None:
    function = """
        .section .text.x, "ax", @progbits, unique, {0}
        .globl f{0}
    f{0}: .cfi_startproc
        movl %eax, %ecx
        movl %edx, %esi
        ret
        .cfi_endproc
    """
    document = read(build(tmp_path, function.format(1) + function.format(2), ".s", "-c"), "f.o")
    places = [block.place for block in document.blocks]
    assert len(set(places)) == 2 and all(place.startswith(".text.x[") and place.endswith("+0x0") for place in places)


def test_places_of_linked_files_name_the_function(builds: dict[str, bytes]) -> None:
    places = [block.place for block in read(builds["pie"], "pie").blocks]
    assert len(set(places)) == len(places)
    assert {place.split()[1] for place in places} >= {"main", "grow", "total"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sections", "debug", "pie", "fixed"])
@given(data=st.data())
def test_damaged_files(builds: dict[str, bytes], kind: str, data: st.DataObject) -> None:
    content = bytearray(builds[kind])
    n_changes = data.draw(st.integers(1, 3))
    for _ in range(n_changes):
        near_headers = st.integers(0, 63) | st.integers(max(len(content) - 64 * 40, 0), len(content) - 1)
        content[data.draw(near_headers | st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        document = read(bytes(content), kind)
    except Unreadable as error:
        assert error.reason and error.remedy
        return
    orders = {block: list(range(len(b.marks)))[::-1] for block, b in enumerate(document.blocks)}
    assert len(document.rewritten(orders)) == len(content)
    assert all(fault.place and fault.reason and fault.remedy for fault in document.faults)


@pytest.mark.parametrize("kind", ["sections", "pie"])
def test_truncated_files(builds: dict[str, bytes], kind: str) -> None:
    content = builds[kind]
    for length in range(0, len(content), 97):
        with pytest.raises(Unreadable):
            read(content[:length], kind)
