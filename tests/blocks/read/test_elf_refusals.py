"""What cannot be proven stays as it is, with the reason; a twin without the obstacle is ordered."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from learned_schedulers.blocks.read import elf_functions
from learned_schedulers.blocks.read.elf_analysis import OVERLAP
from learned_schedulers.blocks.read.elf_file import ElfDocument, read
from learned_schedulers.blocks.read.unreadable import Unreadable
from tests.blocks.read.elf_builds import build, with_objcopy

BODY = "movq %rdi, %rax\naddq $1, %rsi\n"
BLOCK = bytes.fromhex("4889f8 4883c601")
OBJECT, PROGRAM, STRIPPED, SHARED = (
    ("-c",),
    ("-nostdlib", "-pie"),
    ("-nostdlib", "-pie", "-s"),
    ("-nostdlib", "-shared", "-Wl,-z,notext"),
)
START = ".text\n.globl _start\n.type _start,@function\n_start: .cfi_startproc\ncall f\nret\n.cfi_endproc\n"
TABLE = ".section .rodata\n.balign 4\n.Lt: .long .La-.Lt, .Lb-.Lt\n.text\n"
TO_TABLE = "leaq .Lt(%rip), %rdx\nmovslq (%rdx,%rdi,4), %rcx\naddq %rdx, %rcx\njmp *%rcx\n"
TWO_CASES = f".La: {BODY}ret\n.Lb: {BODY}ret\n"


def function(text: str, name: str = "f") -> str:
    return f".globl {name}\n.type {name}, @function\n{name}: .cfi_startproc\n{text}\n.cfi_endproc\n"


def document(folder: Path, options: Sequence[str], *functions: str) -> ElfDocument:
    return read(build(folder, START + "\n".join(functions) + "\n", ".s", *options), "f")


def reasons(elf: ElfDocument) -> list[str]:
    return [fault.reason for fault in elf.faults]


def blocks(elf: ElfDocument) -> list[bytes]:
    return [block.code for block in elf.blocks]


@pytest.mark.parametrize("options", [OBJECT, PROGRAM, STRIPPED, SHARED])
def test_a_plain_function_is_ordered(options: tuple[str, ...], tmp_path: Path) -> None:
    elf = document(tmp_path, options, function(f"{BODY}ret"))
    assert blocks(elf) == [BLOCK] and not elf.faults


@pytest.mark.parametrize("options", [OBJECT, PROGRAM])
@pytest.mark.parametrize(
    ("reason", "functions"),
    [
        (
            elf_functions.CATCHES,
            [
                function(f".cfi_personality 0x1b, f\n.cfi_lsda 0x1b, .Le\n{BODY}ret"),
                '.section .gcc_except_table,"a"\n.Le: .byte 255, 255, 1, 0',
            ],
        ),
        (elf_functions.INVALID, [function(f"{BODY}ret\n.byte 6, 7")]),
        (elf_functions.INVALID, [function(f"{BODY}.byte 0x48")]),
        (elf_functions.MIDDLE, [function(f"{BODY}jne 1f\n.byte 0xf0\n1: addq $1, (%rsi)\nret")]),
        (elf_functions.DATA, [function(f"{BODY}ret\n1: .quad 0"), function("movq 1b(%rip), %rax\nret", "g")]),
        (elf_functions.DATA, [function(f"{BODY}1: movl $5, %eax\nret"), function("leaq 1b+2(%rip), %rax\nret", "g")]),
        (elf_functions.PART, [function("jmp f.cold\n1: ret"), function(f"{BODY}jmp 1b", "f.cold")]),
        (elf_functions.WRITABLE, ['.section writable, "axw"', function(f"{BODY}ret")]),
    ],
)
def test_functions(reason: str, functions: list[str], options: tuple[str, ...], tmp_path: Path) -> None:
    elf = document(tmp_path, options, *functions)
    assert reason in reasons(elf), elf.faults
    assert BLOCK not in blocks(elf)
    assert all(fault.remedy for fault in elf.faults)


@pytest.mark.parametrize("jump", ["jmp *%rax", "jmp *8(%rax)", "jmp *table(,%rax,8)", "pushq %rax\nret"])
def test_indirect_jumps_of_linked_files(jump: str, tmp_path: Path) -> None:
    functions = [function(f"{BODY}{jump}"), ".data\ntable: .quad 0"]
    elf = document(tmp_path, ("-nostdlib", "-no-pie"), *functions)
    assert reasons(elf) == [elf_functions.INDIRECT] and blocks(elf) == []
    (block,) = blocks(document(tmp_path, OBJECT, *functions))
    assert block.startswith(BLOCK)


@pytest.mark.parametrize(
    "functions",
    [
        # a thunk: it returns to an address that it has written
        [function(f"{BODY}jmp g"), function("movq %rsi, (%rsp)\nret", "g")],
        # the part of the function that was moved away has the jump
        [function(f"jmp f.cold\n1: {BODY}ret"), function("je 1b\njmp *%rcx", "f.cold")],
        # code without unwinding rules and without a name
        [function(f"{BODY}jmp .Lg"), ".Lg: jmp *%rcx"],
    ],
)
def test_indirect_jumps_elsewhere(functions: list[str], tmp_path: Path) -> None:
    for options in (PROGRAM, STRIPPED):
        elf = document(tmp_path, options, *functions)
        assert elf_functions.INDIRECT in reasons(elf)
        assert BLOCK not in blocks(elf)


@pytest.mark.parametrize("thunk", ["__x86_indirect_thunk_rax", "__llvm_retpoline_r11"])
def test_thunks(thunk: str, tmp_path: Path) -> None:
    """A jump to a thunk goes anywhere; the labels that it may lead to are in the tables of an object."""
    refused = [function(f"leaq .Lx(%rip), %rax\n{BODY}jmp {thunk}\n.Lx: ret")]
    assert reasons(document(tmp_path, OBJECT, *refused)) == [elf_functions.INDIRECT]
    assert elf_functions.INDIRECT not in reasons(document(tmp_path, OBJECT, refused[0].replace(thunk, "g")))


def test_a_slot_that_the_loader_fills_with_a_symbol(tmp_path: Path) -> None:
    elf = document(tmp_path, SHARED, function(f"{BODY}jmp *outside@GOTPCREL(%rip)"))
    assert blocks(elf) == [BLOCK]


def test_an_address_in_the_linkers_table_is_no_data_in_code(tmp_path: Path) -> None:
    functions = [function(f"{BODY}ret", "g"), function("movq g@GOTPCREL(%rip), %rax\ncmpq $0, g@GOTPCREL(%rip)\nret")]
    elf = document(tmp_path, OBJECT, *functions)
    assert not elf.faults and len(elf.blocks) == 2


def test_jump_tables_of_objects(tmp_path: Path) -> None:
    elf = document(tmp_path, OBJECT, function(f"{BODY}{TO_TABLE}{TWO_CASES}"), TABLE)
    assert not elf.faults
    assert [code for code in blocks(elf) if code == BLOCK] == [BLOCK] * 2
    assert len(elf.blocks) == 3  # that of the jump has more instructions
    linked = document(tmp_path, PROGRAM, function(f"{BODY}{TO_TABLE}{TWO_CASES}"), TABLE)
    assert reasons(linked) == [elf_functions.INDIRECT]


@pytest.mark.parametrize(
    "functions",
    [
        # nothing refers to the table
        [function(f"{BODY}jmp *%rcx\n{TWO_CASES}"), TABLE],
        # its entries lead to another function
        [
            function(f"{TO_TABLE}{TWO_CASES}", "g"),
            function(f"{BODY}leaq .Lt(%rip), %rax\njmp *%rax"),
            TABLE.replace(".La-", "f-"),
        ],
        # distances between labels need no relocation, so nothing shows them
        [
            function(f"{BODY}leaq .La(%rip), %rdx\naddq .Lt(,%rdi,8), %rdx\njmp *%rdx\n{TWO_CASES}"),
            ".data\n.Lt: .quad 0, .Lb-.La",
        ],
        # into the middle of an instruction
        [function(f"{BODY}{TO_TABLE}{TWO_CASES}"), TABLE.replace(".Lb-", ".Lb+1-")],
    ],
)
def test_tables_that_cannot_be_understood(functions: list[str], tmp_path: Path) -> None:
    elf = document(tmp_path, OBJECT, *functions)
    assert elf_functions.INDIRECT in reasons(elf) or not elf.blocks  # guesses may leave nothing to order
    assert BLOCK not in blocks(elf)


def test_code_that_nothing_leads_to_may_be_data(tmp_path: Path) -> None:
    assert blocks(document(tmp_path, OBJECT, function(f"ret\n{BODY}ret"))) == []
    assert blocks(document(tmp_path, OBJECT, function(f"je 1f\nret\n1: {BODY}ret"))) == [BLOCK]


def test_functions_without_a_name_or_a_call_may_be_parts(tmp_path: Path) -> None:
    elf = document(tmp_path, STRIPPED, function("ret"), function(f"{BODY}ret", "g"))
    assert reasons(elf) == [elf_functions.PART]
    referred = document(tmp_path, STRIPPED, function("leaq g(%rip), %rax\nret"), function(f"{BODY}ret", "g"))
    assert blocks(referred) == [BLOCK]
    in_a_frame = function(f".cfi_adjust_cfa_offset 8\n{BODY}ret", "g")
    assert reasons(document(tmp_path, STRIPPED, function("leaq g(%rip), %rax\nret"), in_a_frame)) == [
        elf_functions.PART
    ]


def test_entries_that_overlap(tmp_path: Path) -> None:
    source = START + function(f"{BODY}ret") + ".balign 16\n" + function(f"{BODY}ret", "g")
    content = bytearray(build(tmp_path, source, ".s", "-c"))
    assert len(read(bytes(content), "f").blocks) == 2
    begin = content.index(struct.pack("<I", 6), content.index(b"zR\0"))  # the size of _start, which comes first
    content[begin] = 8
    elf = read(bytes(content), "f")
    assert reasons(elf) == [OVERLAP] * 2
    assert [block.place for block in elf.blocks] == [".text+0x10"]


@pytest.mark.parametrize(
    ("instruction", "name"),
    [
        (".byte 0x66\nleaq x@tlsgd(%rip), %rdi", "TLSGD"),
        ("leaq x@tlsld(%rip), %rdi", "TLSLD"),
        ("leaq x@dtpoff(%rax), %rcx", "DTPOFF32"),
        ("leaq x@tlsdesc(%rip), %rax", "GOTPC32_TLSDESC"),
        ("leaq _GLOBAL_OFFSET_TABLE_(%rip), %rbx", "GOTPC32"),
        ("movabsq $x@GOTOFF, %rbx", "GOTOFF64"),
        ("movb $x, %cl", "R_X86_64_8"),
        ("movw $x, %cx", "R_X86_64_16"),
    ],
)
def test_relocations_that_do_not_move(instruction: str, name: str, tmp_path: Path) -> None:
    elf = document(tmp_path, OBJECT, function(f"{BODY}{instruction}\nnop\n{BODY}ret"))
    (fault,) = elf.faults
    assert name in fault.reason and fault.place.startswith(".text+0x6")
    assert blocks(elf) == [BLOCK]


def test_relocations_by_the_loader(tmp_path: Path) -> None:
    elf = document(tmp_path, SHARED, function(f"{BODY}movabsq $f, %rbx\nnop\n{BODY}ret"))
    (fault,) = elf.faults
    assert "loader" in fault.reason and blocks(elf) == [BLOCK]


@pytest.mark.parametrize(("distance", "fits"), [((1 << 31) - 1, False), (-(1 << 31), False), (1 << 30, True)])
def test_distances_that_may_not_fit(distance: int, fits: bool, tmp_path: Path) -> None:
    source = START + function(f"{BODY}leaq _start(%rip), %rcx\nret")
    content = bytearray(build(tmp_path, source, ".s", *PROGRAM))
    at = content.index(BLOCK) + len(BLOCK) + 3
    content[at : at + 4] = struct.pack("<i", distance)
    elf = read(bytes(content), "f")
    assert bool(elf.blocks) == fits and bool(elf.faults) != fits
    if fits:
        moved = bytes.fromhex("488d0d") + struct.pack("<i", distance + len(BLOCK))
        assert elf.rewritten({0: [2, 1, 0]})[at - 10 : at - 3] == moved


PLAIN = START + function(f"{BODY}ret")


@pytest.mark.parametrize(
    ("options", "more", "reason"),
    [
        (("-c", "-m32"), "", "another architecture"),
        (("-c", "-g", "-gz=zlib"), "", "is compressed"),
        (("-nostdlib", "-pie", "-Wl,-q"), "", "relocations of linked code"),
        (("-c",), '.section .gnu.lto_.symtab,"e"\n.quad 1', "optimisation at link time"),
        (("-c",), '.section .llvmbc,"e"\n.quad 1', "optimisation at link time"),
        (("-c",), '.section __mcount_loc,"a"\n.quad f', "__mcount_loc"),
        (("-c",), '.section __ex_table,"a"\n.quad f', "__ex_table"),
        (("-c",), '.section .altinstructions,"a"\n.quad f', ".altinstructions"),
        (("-c",), '.section __jump_table,"aw"\n.quad f', "__jump_table"),
        (("-c",), '.section __patchable_function_entries,"aw"\n.quad f', "__patchable_function_entries"),
        (("-c",), '.section __rseq_cs,"aw"\n.quad f', "__rseq_cs"),
        (("-nostdlib", "-pie", "-Wl,--section-start=.far=0x9000000"), '.section .far,"ax"\nret', "far apart"),
    ],
)
def test_whole_files(options: tuple[str, ...], more: str, reason: str, tmp_path: Path) -> None:
    source = (PLAIN if "-m32" not in options else "f: ret\n") + more + "\n"
    with pytest.raises(Unreadable, match=reason) as error:
        read(build(tmp_path, source, ".s", *options), "f")
    assert error.value.remedy


def test_bytecode_of_gcc(tmp_path: Path) -> None:
    for options in (("-c", "-flto"), ("-c", "-flto", "-ffat-lto-objects")):
        with pytest.raises(Unreadable, match="optimisation at link time"):
            read(build(tmp_path, "int f(int x) { return x * 3; }", ".c", *options), "f.o")
    with pytest.raises(Unreadable, match="bitcode"):
        read(b"BC\xc0\xde" + bytes(100), "f.bc")


NASM = """
global f:function (f.end - f)
global g:function (.end - g)
global unsized
section .text
f:  mov rax, rdi
    add rsi, 1
    test rsi, rsi
    jz .out
    mov rax, rdi
    add rsi, 1
.out: ret
.end:
    dq 5
g:  mov rax, rdi
    add rsi, 1
    ret
.end:
unsized:
    mov rax, rdi
    add rsi, 1
    ret
"""


def test_without_unwinding_the_sizes_of_functions_count(tmp_path: Path) -> None:
    """As NASM writes objects, and compilers without tables of frames."""
    body = f"{BODY}ret\n"
    sized = f".globl f\n.type f,@function\nf: {BODY}ret\n.size f,.-f\n.quad 5\ng: {body}"
    elf = read(build(tmp_path, sized, ".s", "-c"), "f.o")
    assert blocks(elf) == [BLOCK] and not elf.faults
    elf = read(build(tmp_path, f"{sized}.globl g\n", ".s", "-c"), "f.o")
    assert blocks(elf) == [BLOCK] and reasons(elf) == ["nothing says where it ends"]
    assert elf.faults[0].place == ".text+0x10 g" and "its type and size" in elf.faults[0].remedy
    part = sized.replace("f,", "f.cold,").replace("f\n", "f.cold\n").replace("f:", "f.cold:")
    elf = read(build(tmp_path, part, ".s", "-c"), "f.o")
    assert not blocks(elf) and reasons(elf) == [elf_functions.PART]
    with pytest.raises(Unreadable, match=r"give each function its type and size"):  # rules of unwinding are hidden
        read(build(tmp_path, f"{sized}.section .debug_frame\n.long 20\n", ".s", "-c"), "f.o")
    with pytest.raises(Unreadable, match=r"give each function its type and size"):
        read(build(tmp_path, sized.replace(".size f,.-f\n", ""), ".s", "-c"), "f.o")


@pytest.mark.skipif(shutil.which("nasm") is None, reason="NASM is not installed")
def test_objects_of_nasm(tmp_path: Path) -> None:
    (tmp_path / "f.asm").write_text(NASM)
    for debug in ([], ["-g"]):
        subprocess.run(["nasm", "-f", "elf64", *debug, "f.asm", "-o", "f.o"], cwd=tmp_path, check=True)
        elf = read((tmp_path / "f.o").read_bytes(), "f.o")
        # With -g each instruction has a line of its own, which it keeps.
        assert [code.hex() for code in blocks(elf)] == ([] if debug else ["4889f84883c6014885f6", *[BLOCK.hex()] * 2])


def test_no_unwinding(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"no \.eh_frame"):
        read(build(tmp_path, ".globl f\nf: ret\n", ".s", "-c"), "f.o")
    with pytest.raises(Unreadable, match="no section of code"):
        read(build(tmp_path, ".data\n.quad 5\n", ".s", "-c"), "f.o")


@pytest.mark.parametrize(
    ("at", "value", "reason"),
    [
        (18, struct.pack("<H", 183), "another architecture"),
        (16, struct.pack("<H", 4), "neither program"),
        (40, struct.pack("<Q", 1 << 40), "section headers do not fit"),
        (60, struct.pack("<H", 60000), "section headers do not fit"),
        (58, struct.pack("<H", 8), "section headers do not fit"),
    ],
)
def test_headers(at: int, value: bytes, reason: str, tmp_path: Path) -> None:
    content = bytearray(build(tmp_path, PLAIN, ".s", "-c"))
    content[at : at + len(value)] = value
    with pytest.raises(Unreadable, match=reason):
        read(bytes(content), "f.o")


@pytest.mark.parametrize(
    ("field", "change", "reason"),
    [(24, 0x1000, "overlaps"), (16, 0x1000, "is in no segment"), (32, 1 << 40, "does not fit")],
)
def test_section_headers(field: int, change: int, reason: str, tmp_path: Path) -> None:
    """A section of code whose place in the file, address or size is another one."""
    content = bytearray(build(tmp_path, PLAIN, ".s", *PROGRAM))
    (headers,) = struct.unpack_from("<Q", content, 40)
    (count,) = struct.unpack_from("<H", content, 60)
    (at,) = (k for k in range(headers, headers + 64 * count, 64) if struct.unpack_from("<Q", content, k + 8) == (6,))
    (value,) = struct.unpack_from("<Q", content, at + field)
    struct.pack_into("<Q", content, at + field, value + change)
    with pytest.raises(Unreadable, match=reason):
        read(bytes(content), "f")


def test_damaged_lines_and_unwinding(tmp_path: Path) -> None:
    content = build(tmp_path, "int f(int x) { return x * 3; }", ".c", "-c", "-g", "-O1")
    assert read(content, "f.o").faults == []
    for section, damage in ((".debug_line", b"\xf0\xff\xff\x7f"), (".eh_frame", b"\x03\0\0\0\1\2\3")):
        (tmp_path / "damage").write_bytes(damage)
        broken = with_objcopy(tmp_path, content, f"--update-section={section}={tmp_path / 'damage'}")
        with pytest.raises(Unreadable, match="damaged"):
            read(broken, "f.o")
