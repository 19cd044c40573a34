"""Assembly files, read and written with new orders."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learned_schedulers.blocks.dag.memory_order import Mark
from learned_schedulers.blocks.read import assembly_file
from learned_schedulers.blocks.read.assembler import object_of
from learned_schedulers.blocks.read.unreadable import Unreadable
from tests.blocks.read.assembled import (
    PROGRAMS,
    code,
    compiled,
    disassembly,
    document,
    drawn_orders,
    needs_as,
    needs_gcc,
    reversed_orders,
    section,
)
from tests.blocks.read.debug_tables import address, lines
from tests.blocks.read.random_orders import moves

pytestmark = needs_as
A, B, C = "\tmovl %eax, %ebx\n", "\taddl $5, %ecx\n", "\tmovl x(%rip), %edx\n"


def backwards(text: str) -> str:
    """The text with every block backwards; no block may fail its proof."""
    file = document(text)
    faults = len(file.faults)
    ordered = file.rewritten(reversed_orders(file))
    assert len(file.faults) == faults
    return ordered.decode("latin-1")


def places(text: str) -> list[str]:
    return [block.place for block in document(text).blocks]


def test_a_block() -> None:
    file = document(f"f:\n{A}{B}{C}\tret\n")
    (block,) = file.blocks
    assert block.place == "lines 2-4"
    assert block.code.hex() == "89c3" + "83c105" + "8b1500000000"
    assert list(block.marks) == [0, 0, int(Mark.LINKED)]
    assert file.faults == []
    assert file.rewritten({0: [2, 0, 1]}) == f"f:\n{C}{A}{B}\tret\n".encode()
    assert file.rewritten({}) == file.rewritten({0: [0, 1, 2]}) == f"f:\n{A}{B}{C}\tret\n".encode()


@pytest.mark.parametrize(
    "cut",
    [
        "visible:\n",
        "g:\n\t.globl g\n\t.type g, @function\n",
        '.LEHB0:\n\t.section .gcc_except_table,"a"\n\t.uleb128 .LEHB0-f\n\t.text\n',
        "\tjne f\n",
        "\tcall f\n",
        "\tsyscall\n",
        "\tnop\n",
        "\t.byte 0x90\n",
        "\t.p2align 4\n",
        "\t.data\n\t.text\n",
        "\t.set constant, 5\n",
        "constant = 5\n",
        "#APP\n#NO_APP\n",
        "#APP\n\tnop\n#NO_APP\n",
        "\t.addrsig\n\t.addrsig_sym f # of clang\n",
        "\t.cg_profile f, g, 32\n",
        "\t#MEMBARRIER\n",
        "# MEMBARRIER of LLVM\n",
        "# LLVM-MCA-BEGIN loop\n",
        "\t# OSACA-END\n",
        "// MY-TOOL-START kernel\n",
        "\trep\n\tmovsb\n",
        "\tmovl %esi, %esi; movl %edi, %edi\n",
    ],
)
def test_blocks_end_at(cut: str) -> None:
    text = f"f:\n{A}{B}{cut}{A}{B}"
    last = text.count("\n")
    assert places(text) == ["lines 2-3", f"lines {last - 1}-{last}"]
    assert backwards(text) == f"f:\n{B}{A}{cut}{B}{A}"


@pytest.mark.parametrize(
    "name",
    [
        "g:\n\t.globl g\n",  # control runs into it, so it may be the place of an instruction
        ".L5:\n\t.section .rodata\n\t.quad .L5\n\t.text\n",
        "\t.set here, .\n\t.globl here\n",
        "here = .\n\t.globl here\n",
        ".Lhere = .\n\t.data\n\t.quad .Lhere\n\t.text\n",
        "\t.globl here\n\t.set here, f + 5\n\t.type here, @notype\n",
        "\t.section .rodata\n\t.quad f + 5\n\t.text\n",
        '\t.section table, "a"\n\t.long f + 5 - .\n\t.text\n',
    ],
)
def test_what_is_named_stays_and_so_does_what_ends_there(name: str) -> None:
    head = "f:\n" + A + B
    text = f"\t.type f, @function\n{head}{name}{A}{B}{A}\tret\n"
    file = document(text)
    *_, block = file.blocks
    assert len(file.blocks) == 1 and block.code.hex() == "83c105" + "89c3"  # the last two
    assert any("names its place" in fault.reason for fault in file.faults)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("\tleaq .L1(%rip), %rsi\n\tleaq (%rsi,%rcx,4), %rsi\n\tjmp *%rsi\n", "takes the address"),
        ("\tleaq .L1(%rip), %rax\n\tret\n", "takes the address"),
        ("\tmovq $.L1, %rsi\n\tjmp __x86_indirect_thunk_rsi\n", "takes the address"),
        ("\tleaq .L1(%rip), %rsi\n#APP\n\tpushq %rsi; ret\n#NO_APP\n", "takes the address"),
        ("\tjmp *.L4(%rip)\n\t.data\n.L4:\n\t.quad .L1\n\t.text\n", "may write"),
        ("\tret\n\t.section .rodata\n\t.quad .L1 + 1\n\t.text\n", "middle"),
        ("\tjmp .L1+1\n", "middle"),
        ("\t.globl odd\n\t.set odd, .L1+1\n\tret\n", "middle"),
        ("\tsize = 3\n\t.section .rodata\n\t.quad .L1 + size - f\n\t.text\n\tret\n", "only the assembler knows"),
    ],
)
def test_functions_that_control_may_enter_anywhere_are_left_alone(text: str, reason: str) -> None:
    other = f"\t.type g, @function\ng:\n{A}{B}\tret\n\t.size g, .-g\n"
    body = f"\t.type f, @function\nf:\n{A}{B}{text}.L1:\n{A}{B}{A}\tret\n\t.size f, .-f\n"
    file = document(other + body)
    assert [block.place for block in file.blocks] == ["lines 3-4"]
    assert any(reason in fault.reason for fault in file.faults)


@pytest.mark.parametrize(
    "jump",
    [
        "\tjmp *.L4(,%rax,8)\n",
        "\tmovq .L4(,%rax,8), %rax\n\tjmp *%rax\n",
        "\tleaq .L4(%rip), %rdx\n\tmovslq (%rdx,%rax,4), %rax\n\taddq %rdx, %rax\n\tnotrack jmp *%rax\n",
        "\tmovq (%rdi), %rax\n\tmovq 16(%rax), %rax\n\tjmp *%rax\n",
        "\tcmpl $5, %eax\n\tje .L5\n\tmovq %rdx, %r8\n.L5:\n\tcall *%r8\n\tret\n",
    ],
)
def test_listed_targets_leave_blocks(jump: str) -> None:
    entry = ".long .L1-.L4" if "movslq" in jump else ".quad .L1"
    table = f"\t.section .rodata\n.L4:\n\t{entry}\n\t{entry}\n\t.text\n" if ".L4" in jump else ""
    text = f"\t.type f, @function\nf:\n{A}{B}{jump}{table}.L1:\n{A}{B}\tret\n\t.size f, .-f\n"
    codes = [block.code.hex() for block in document(text).blocks]
    assert codes[-1] == "89c3" + "83c105"  # both instructions at .L1
    assert codes[0].startswith("89c3" + "83c105")


@pytest.mark.parametrize(
    "fixed", ["\n", ".LVL5:\n", ".LBB7:\n\t.section .debug_info\n\t.quad .LBB7\n\t.text\n", '# 12 "f.S"\n']
)
def test_what_keeps_its_position_between_two_slots(fixed: str) -> None:
    if ".section" in fixed:
        label, rest = fixed.split("\n", 1)
        assert backwards(f"{A}{label}\n{B}\tret\n{rest}") == f"{B}{label}\n{A}\tret\n{rest}"
    else:
        assert backwards(f"{A}{fixed}{B}") == f"{B}{fixed}{A}"


def test_comments_travel() -> None:
    a, b = "\tmovl %eax, %ebx # a\n", "# about b\n\taddl $5, %ecx /* b */\n"
    assert backwards(f"# about a\n{a}{b}") == f"{b}# about a\n{a}"


def test_what_a_frame_directive_describes_stays_before_it() -> None:
    text = f"f:\n\t.cfi_startproc\n{A}{B}\tpushq %rbx\n\t.cfi_def_cfa_offset 16\n{A}{B}\tret\n\t.cfi_endproc\n"
    assert backwards(text) == text.replace(A + B, B + A)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends(end: str, last: bool) -> None:
    text = (A + B + A).replace("\n", end)
    expected = (A + B + A).replace("\n", end)
    if not last:
        text, expected = text.removesuffix(end), expected.removesuffix(end)
    assert backwards(text) == expected


def test_bytes_of_any_encoding_stay() -> None:
    content = b"# \xff\xfe\xe4\n\tmovl %eax, %ebx # \xc3\xa4\n\taddl $5, %ecx\n"
    assert (
        document(content.decode("latin-1")).rewritten({0: [1, 0]})
        == b"\taddl $5, %ecx\n# \xff\xfe\xe4\n\tmovl %eax, %ebx # \xc3\xa4\n"
    )


def test_a_list_of_instructions_in_either_syntax() -> None:
    assert backwards("mov eax, ebx\nadd ecx, 5\n") == "add ecx, 5\nmov eax, ebx\n"
    assert backwards("movl %eax, %ebx\naddl $5, %ecx") == "addl $5, %ecx\nmovl %eax, %ebx"


def test_rip_relative_operands_inside_a_section() -> None:
    # The displacement changes with the place of the instruction; the address does not.
    text = f"\t.type f, @function\nf:\n\tmovsd .L5(%rip), %xmm0\n{B}\tlea f(%rip), %rax\n\tret\n.L5:\n\t.quad 5\n"
    assert disassembly(code(backwards(text)))[:3] == [
        "lea rax,[0]", "add ecx,5", "movsd xmm0,qword ptr [13h]",
    ]  # fmt: skip


def test_the_first_instruction_of_a_function_that_data_name_stays_the_first() -> None:
    text = f"\t.type f, @function\nf:\n{A}{B}{A}\tret\n"
    for data, fixed in (("\t.data\n\t.quad f\n", True), ("\t.globl f\n", False)):
        (block,) = document(text + data).blocks
        assert [bool(mark & Mark.FIXED) for mark in block.marks] == [fixed, False, False]


def test_an_order_must_be_a_permutation() -> None:
    with pytest.raises(ValueError, match=r"lines 1-2: \[0, 0\] is no permutation of 2"):
        document(A + B).rewritten({0: [0, 0]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nop\nfoo %eax\n", "line 2: no such instruction"),
        ("mov eax, 5\nmov ebx, 6\nfoo eax\n", "line 3: no such instruction"),
        ("movl 4(%esp), %eax\n", "32 bits"),
        ("pushl %ebp\n", "`as --64` refuses"),
        ('\t.ascii "a\n\tnop\n"\n', "."),
    ],
)
def test_unreadable(text: str, message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        document(text)


def test_faults_name_lines_and_reasons() -> None:
    text = f"#APP\n\tnop\n#NO_APP\n{A}\tnop; nop\n\tfstcw (%rax)\n"
    assert [(fault.place, fault.reason.split()[0]) for fault in document(text).faults] == [
        ("lines 2", "inline"), ("lines 5-6", "a"),
    ]  # fmt: skip


def test_bytecode_of_link_time_optimisation_is_reported() -> None:
    file = document(f'{A}{B}\t.section .gnu.lto_.x,"e",@progbits\n\t.byte 1\n')
    assert len(file.blocks) == 1 and "-flto" in file.faults[0].remedy


# Proof


def test_a_wrong_block_is_left_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another text for one block: the others are still ordered."""
    text = f"f:\n{A}{B}\tret\n{A}{C}\tret\n{B}{A}\tret\n"
    file = document(text)
    write = assembly_file.text_with_orders

    def damaged(source: object, part: object, layout: object, orders: dict[int, list[int]]) -> str:
        result: str = write(source, part, layout, orders)
        return result.replace(f"{C}{A}", f"{C}\tmovl %eax, %esi\n")

    monkeypatch.setattr(assembly_file, "text_with_orders", damaged)
    assert file.rewritten(reversed_orders(file)).decode() == f"f:\n{B}{A}\tret\n{A}{C}\tret\n{A}{B}\tret\n"
    assert [(fault.place, fault.reason.split(":")[0]) for fault in file.faults] == [("lines 5-6", "defect")]


@pytest.mark.parametrize(
    "damage", ["\tnop\n", "\tfoo\n", "\t.globl g\n", "\t.data\n\t.byte 1\n\t.text\n", "\tcall z\n"]
)
def test_other_damage_is_found_by_halving(monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    """The text gets more where the third of six blocks is ordered: only that one is left as it was."""
    text = "f:\n" + "".join(f"\tmovl ${k}, %eax\n\tmovl ${k}, %ecx\n\tret\n" for k in range(6))
    file = document(text)
    write = assembly_file.text_with_orders

    def damaged(source: object, part: object, layout: object, orders: dict[int, list[int]]) -> str:
        result: str = write(source, part, layout, orders)
        return result + damage if 2 in orders else result

    monkeypatch.setattr(assembly_file, "text_with_orders", damaged)
    ordered = file.rewritten(reversed_orders(file)).decode()
    for k in range(6):
        pair = f"\tmovl ${k}, %eax\n\tmovl ${k}, %ecx\n" if k == 2 else f"\tmovl ${k}, %ecx\n\tmovl ${k}, %eax\n"
        assert pair in ordered
    assert [fault.place for fault in file.faults] == ["lines 8-9"]


# Source lines


def line_of_each(file: assembly_file.AssemblyFile, content: bytes, orders: dict[int, list[int]], after: bool) -> list:
    where = moves(file, orders)
    return lines(content, address(where.section, where.after if after else where.before))


LOC = '\t.file 1 "f.c"\nf:\n'


def test_an_instruction_keeps_its_line() -> None:
    text = f"{LOC}\t.loc 1 1\n{A}\t.loc 1 2 5 is_stmt 0 discriminator 3\n{B}{C}\tret\n"
    expected = (
        f"{LOC}\t.loc 1 2 5 is_stmt 0 discriminator 3\n{C}\t.loc 1 2 5 is_stmt 0 discriminator 3\n{B}"
        f"\t.loc 1 1 is_stmt 1\n{A}\t.loc 1 2 5 is_stmt 0 discriminator 3\n\tret\n"
    )
    assert backwards(text) == expected


@pytest.mark.parametrize("between", [".L1:\n", "\t.p2align 4\n", "\t.loc 1 3\n#APP\n\tnop\n#NO_APP\n", ""])
def test_lines_over_the_end_of_a_block(between: str) -> None:
    """The next block begins with the line at which the one before ended, and does not any more."""
    first, second = f"\t.loc 1 1\n{A}\t.loc 1 2\n{B}", f"\t.loc 1 2\n{A}{B}\t.loc 1 4\n\tjne .L1\n"
    text = f"{LOC}{first}{between}{second}" + ("" if "L1" in between else ".L1:\n")
    file = document(text)
    orders = reversed_orders(file)
    before, after = object_of(text.encode()), object_of(file.rewritten(orders))
    assert line_of_each(file, before, orders, False) == line_of_each(file, after, orders, True)


_VOCABULARY = (
    *("movl %eax, %ebx", "addl $5, %ecx", "movl x(%rip), %edx", "movq %rsp, %rdi", "imull %esi, %edi", "nop", "ret"),
    *("movsd .Lconstant(%rip), %xmm1", "leaq f(%rip), %rax", "jne .Lconstant", "call g", "addq $1, y(,%rax,8)"),
    *(".byte 0x90", ".p2align 4", ".cfi_def_cfa_offset 16", "nop; nop", "#APP", "#NO_APP", "# comment", ""),
    *(".loc 1 {n} 3", ".loc 1 {n} 3 is_stmt 0", ".loc 1 {n} 3 is_stmt 1", ".loc 1 {n} discriminator 2", ".loc 2 {n} 1"),
    *(".loc 1 {n} 3 view .LVU{k}", ".LVL{k}:", ".L{k}:", "label{k}:", '.section .text.unlikely,"ax"', ".text"),
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(_VOCABULARY) - 1), st.integers(1, 9)), min_size=1, max_size=60), st.data())
def test_any_text(choices: list[tuple[int, int]], data: st.DataObject) -> None:
    """Any permutations of the blocks of any text: the assembler takes it, each instruction keeps its line.

    The oracle is readelf, and the objects' bytes. No block may fail its proof.
    """
    body = "".join(f"\t{_VOCABULARY[choice].format(n=n, k=k)}\n" for k, (choice, n) in enumerate(choices))
    head = '\t.file 1 "f.c"\n\t.file 2 "g.c"\n\t.text\nf:\n\t.cfi_startproc\n'
    text = f"{head}{body}#NO_APP\n\t.text\n.Lconstant:\n\t.quad 7\n"
    if ".section .text.unlikely" in text:  # a frame must begin and end in one section
        text = text.replace("\t.cfi_startproc\n", "").replace("\t.cfi_def_cfa_offset 16\n", "")
    else:
        text += "\t.cfi_endproc\n"
    file = document(text)
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    orders = drawn_orders(file, rng)
    faults = len(file.faults)
    ordered = file.rewritten(orders)
    assert len(file.faults) == faults
    before, after = object_of(text.encode()), object_of(ordered)
    assert line_of_each(file, before, orders, False) == line_of_each(file, after, orders, True)
    assert section(before, ".eh_frame") == section(after, ".eh_frame")
    for number, block in enumerate(file.blocks):
        span = file.instructions[number]
        name = file.listing.object.sections[int(file.listing.section[span.start])].name
        first, last = int(file.listing.begin[span.start]), int(file.listing.end[span.stop - 1])
        instructions = disassembly(block.code)
        names = [instructions[index].split()[0] for index in orders[number]]
        assert [text.split()[0] for text in disassembly(section(after, name)[first:last])] == names


@pytest.mark.slow
@needs_gcc
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("mixed.c", ("-O0", "-g")),
        ("mixed.c", ("-O2", "-g", "-masm=intel", "-fcf-protection")),
        ("mixed.c", ("-O3", "-g", "-fPIC", "-fverbose-asm")),
        ("exceptions.cpp", ("-O2", "-g", "-pthread")),
    ],
)
def test_output_of_gcc(name: str, options: tuple[str, ...]) -> None:
    """Any permutations: the objects are equal but for the blocks, and readelf shows the same lines."""
    content = compiled(PROGRAMS / name, *options)
    file = document(content.decode("latin-1"))
    assert len(file.blocks) > 20
    orders = drawn_orders(file, np.random.default_rng(5))
    faults = len(file.faults)
    ordered = file.rewritten(orders)
    assert len(file.faults) == faults
    before, after = object_of(content), object_of(ordered)
    shown = line_of_each(file, before, orders, False)
    assert shown == line_of_each(file, after, orders, True)
    assert len({line for _, line in shown}) > 20
    for part in (".eh_frame", ".gcc_except_table", ".rodata", ".data"):
        assert section(before, part) == section(after, part)
    assert len(section(before, ".text")) == len(section(after, ".text"))


@needs_gcc
def test_thread_local_sequences_stay() -> None:
    text = compiled(PROGRAMS / "mixed.c", "-O2", "-fPIC")
    sequences = [line for line in text.splitlines() if b"@tls" in line or b"rex64" in line or b"0x6666" in line]
    file = document(text.decode("latin-1"))
    lines_of_blocks = {
        line for span in file.instructions for line in range(*(int(file.listing.line[k]) for k in (span[0], span[-1])))
    }
    all_lines = text.splitlines()
    assert sequences
    assert not any(all_lines[line] in sequences for line in lines_of_blocks)
