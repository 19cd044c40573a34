"""Blocks end where control or a tool may arrive, and what something names stays: a place amid six instructions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from iced_x86 import Decoder

from learned_schedulers.blocks.read.elf_analysis import analyse
from learned_schedulers.blocks.read.elf_file import read
from learned_schedulers.blocks.read.elf_functions import INDIRECT
from learned_schedulers.blocks.read.elf_targets import possible_branches
from learned_schedulers.blocks.read.forms import Forms
from tests.blocks.read.elf_builds import build, run

# {here} is at the place, {after} behind the function; `other` refers to the place in the ways that the cases name.
SOURCE = """
    .file 1 "source.c"
    .text
    .globl f, other, _start
    .type f, @function
    .type other, @function
    .type _start, @function
f:  .cfi_startproc
    .loc 1 5
    movq %rdi, %rax
    addq $1, %rsi
    movq %r9, %r10
{here}
    addq $2, %rdx
    movq %rcx, %r8
    movq %rdi, %r11
{end}
    .cfi_endproc
_start:
    .cfi_startproc
    call f
    ret
    .cfi_endproc
other:
    .cfi_startproc
    {other}
    ret
    .cfi_endproc
{after}
"""
BEFORE, AFTER = bytes.fromhex("4889f8 4883c601 4d89ca"), bytes.fromhex("4883c202 4989c8 4989fb")
CODE = BEFORE + AFTER
CASES = {  # control may arrive
    "branch": {"here": ".Lp:", "end": "jne .Lp\nret"},
    "branch_of_another_function": {"here": ".Lp:", "other": "jne .Lp"},
    "branch_of_code_without_unwinding": {"here": ".Lp:", "after": "jmp .Lp"},
    "call": {"here": ".Lp:", "other": "call .Lp"},
    "symbol": {"here": "middle:"},
    "unwinding": {"here": ".cfi_adjust_cfa_offset 8"},
    "line": {"here": ".loc 1 7"},
    "padding": {"here": "nop"},
    "mark": {"here": "endbr64"},
    "fence_of_the_kernel": {"here": "syscall"},
}
NAMED = {  # the instruction at the place and the one before it stay
    "pointer": {"here": ".Lp:", "after": ".data\n.balign 8\n.quad .Lp"},
    "array": {"here": ".Lp:", "after": '.section .init_array,"aw"\n.quad .Lp'},
    "packed_pointer": {"here": ".Lp:", "after": ".data\n.byte 1\n.quad .Lp\n"},
    "fixup": {"here": ".Lp:", "after": '.section my_fixups,"a"\n.long .Lp - ., 0\n'},
    "probe": {
        "here": ".Lp:",
        "after": '.section .note.stapsdt,"","note"\n.balign 4\n.4byte 8,24,3\n.asciz "stapsdt"\n.8byte .Lp,0,0\n',
    },
}
LINKS = {
    "object": ("-c",),
    "shared": ("-nostdlib", "-shared", "-Wl,-z,notext"),
    "packed": ("-nostdlib", "-pie", "-Wl,-z,pack-relative-relocs"),
    "stripped": ("-nostdlib", "-pie", "-s"),
    "fixed": ("-nostdlib", "-no-pie", "-s"),
}
NO_LONGER_SHOWN = {("symbol", "stripped"), ("symbol", "fixed"), ("line", "stripped"), ("line", "fixed")}


def blocks_of_f(folder: Path, options: tuple[str, ...], **parts: str) -> list[bytes]:
    source = SOURCE.format(**{"here": "", "end": "ret", "other": "", "after": "", **parts})
    document = read(build(folder, source, ".s", *options), "f")
    return [block.code for block in document.blocks if block.code in CODE]


@pytest.mark.parametrize("link", LINKS)
def test_a_run_is_one_block(link: str, tmp_path: Path) -> None:
    assert blocks_of_f(tmp_path, LINKS[link]) == [CODE]


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("case", CASES)
def test_a_block_ends(case: str, link: str, tmp_path: Path) -> None:
    if (case, link) in NO_LONGER_SHOWN:
        return
    assert blocks_of_f(tmp_path, LINKS[link], **CASES[case]) == [BEFORE, AFTER]


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("case", NAMED)
def test_what_is_named_stays(case: str, link: str, tmp_path: Path) -> None:
    assert blocks_of_f(tmp_path, LINKS[link], **NAMED[case]) == [BEFORE[:7], AFTER[4:]]


def test_the_end_of_a_range_that_data_give_by_its_length(tmp_path: Path) -> None:
    for link in ("object", "shared", "fixed"):
        after = '.section my_ranges,"aw"\n.balign 8\n.quad f, .Lp - f\n'
        assert blocks_of_f(tmp_path, LINKS[link], here=".Lp:", after=after) == [BEFORE[:7], AFTER[4:]]


@pytest.mark.parametrize("link", LINKS)
def test_a_function_is_left_alone_if_code_takes_an_address_in_it(link: str, tmp_path: Path) -> None:
    """It may add to the address, and other code may jump there."""
    assert blocks_of_f(tmp_path, LINKS[link], here=".Lp:", other="leaq .Lp(%rip), %rax") == []
    assert blocks_of_f(tmp_path, LINKS[link], here=".Lp:", other="movl .Lp(%rip), %eax") == []
    if link == "shared":
        return  # another file may define f
    assert blocks_of_f(tmp_path, LINKS[link], other="leaq f(%rip), %rax") == [CODE]
    assert blocks_of_f(tmp_path, LINKS[link], other="leaq f(%rip), %rax\nleaq (%rax,%rcx,4), %rax") == []


@pytest.mark.parametrize(
    ("alias", "blocks"),
    [
        ("\n.set inside, . - 2", []),  # it begins in the middle of an instruction: the function is left alone
        ("\n.set inside, . + 7", [BEFORE + AFTER[:4]]),
        (".Lp:\ninside = .Lp - 3", [BEFORE[:3], AFTER]),
    ],
)
def test_symbols_with_an_offset(alias: str, blocks: list[bytes], tmp_path: Path) -> None:
    place = f".globl inside\n{alias}"
    expected = [block for block in blocks if len(list(Decoder(64, block))) > 1]
    assert blocks_of_f(tmp_path, LINKS["object"], here=place) == expected
    assert blocks_of_f(tmp_path, ("-nostdlib", "-shared"), here=place) == expected


@pytest.mark.parametrize("constant", ["movl $.Lp, %eax", "movabsq $.Lp, %rax", "movl %eax, .Lp(,%rdi,8)"])
def test_constants_of_a_program_at_a_fixed_address(constant: str, tmp_path: Path) -> None:
    for options in (LINKS["fixed"], LINKS["object"]):
        assert blocks_of_f(tmp_path, options, here=".Lp:", other=constant) == [BEFORE[:7], AFTER[4:]]


def test_short_branches_to_symbols(tmp_path: Path) -> None:
    blocks = blocks_of_f(tmp_path, LINKS["object"], here=".globl middle\nmiddle:", other="jrcxz middle")
    assert blocks == [BEFORE[:7], AFTER[4:]]  # control runs into a symbol that other files see and that is no function
    source = ".text\n.globl g\ng: .cfi_startproc\nmovl %eax, %ecx\nmovl %edx, %esi\nret\n.cfi_endproc\n"
    other = '.section .text.other,"ax"\n.globl h\nh: .cfi_startproc\njrcxz g+2\nret\n.cfi_endproc\n'
    assert len(read(build(tmp_path, source, ".s", "-c"), "g").blocks) == 1
    assert len(read(build(tmp_path, source + other, ".s", "-c"), "g").blocks) == 0


def test_distances_in_data(tmp_path: Path) -> None:
    after = ".section .rodata\n.long .Lp - .\n.long 70\n.quad other"
    assert blocks_of_f(tmp_path, LINKS["object"], here=".Lp:", after=after) == [BEFORE[:7], AFTER[4:]]


def test_debug_information_is_no_arrival(tmp_path: Path) -> None:
    after = '.section .debug_info,"",@progbits\n.quad .Lp'
    assert blocks_of_f(tmp_path, LINKS["object"], here=".Lp:", after=after) == [CODE]


@pytest.mark.parametrize(
    ("branch", "size"),
    [
        ("jmp", 2),
        ("je", 2),
        ("jrcxz", 2),
        ("loop", 2),
        ("call", 5),
        ("{disp32} jmp", 5),
        ("{disp32} jg", 6),
        ("xbegin", 6),
    ],
)
def test_possible_branches(branch: str, size: int, tmp_path: Path) -> None:
    built = build(tmp_path, f".org 100\n.Lp: .org 110\n{branch} .Lp", ".s", "-c")
    (tmp_path / "built.o").write_bytes(built)
    run(["objcopy", "-O", "binary", "-j", ".text", tmp_path / "built.o", tmp_path / "code"])
    code = np.frombuffer((tmp_path / "code").read_bytes(), np.uint8)
    assert len(code) == 110 + size
    unread = np.zeros(len(code), bool)
    assert len(possible_branches(code, unread)) == 0
    unread[110] = True
    assert possible_branches(code, unread).tolist() == [100]


@pytest.mark.parametrize("options", [("-fPIC",), ("-fPIC", "-ffunction-sections"), ("-fno-pic",), ("-fPIC", "-Os")])
def test_labels_of_jump_tables(options: tuple[str, ...], tmp_path: Path) -> None:
    """The labels are those of the compiler's assembly; an object that keeps local symbols says where they are."""
    source = tmp_path / "source.c"
    source.write_text((Path(__file__).parent / "labels.c").read_text())
    run(["gcc", "-O2", "-S", *options, source, "-o", tmp_path / "source.s"])
    run(["gcc", "-c", tmp_path / "source.s", "-o", tmp_path / "plain.o"])
    run(["gcc", "-c", "-Wa,-L", tmp_path / "source.s", "-o", tmp_path / "local.o"])
    function_of, names, function = {}, set(), ""
    for line in (tmp_path / "source.s").read_text().splitlines():
        words = line.split()
        if line.endswith(":") and line.startswith(".L"):
            function_of[line[:-1]] = function
        elif line.endswith(":"):
            function = line[:-1]
        elif len(words) == 2 and words[0] in (".long", ".quad") and words[1].startswith(".L"):
            names.add(words[1].split("-")[0])
    symbols = [line.split() for line in run(["nm", tmp_path / "local.o"]).splitlines()]
    address = {words[2]: int(words[0], 16) for words in symbols if len(words) == 3}
    labels = {
        (function_of[name], address[name] - address[function_of[name]])
        for name in names
        if function_of[name] in ("choose", "addresses")
    }
    analysis = analyse((tmp_path / "plain.o").read_bytes(), Forms())
    functions, positions = analysis.functions, analysis.verdict.targets
    index = np.searchsorted(functions.begin, positions, "right") - 1
    of_functions = [analysis.symbols.functions[begin] for begin in functions.begin[index].tolist()]
    offsets = set(zip(of_functions, (positions - functions.begin[index]).tolist(), strict=True))
    assert len(labels) > 10
    assert {offset for offset in offsets if offset[0] in ("choose", "addresses")} == labels
    reasons = dict(zip(functions.begin.tolist(), analysis.verdict.reasons, strict=True))
    places = {name: position for position, name in analysis.symbols.functions.items()}
    assert not reasons[places["choose"]] and not reasons[places["addresses"]]
    assert reasons[places["distances"]] == INDIRECT
