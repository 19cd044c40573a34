"""Frames of real functions, compiled by gcc: what the analysis calls closed never shows a pointer while it runs.

The oracle is an emulator: it runs every function, step by step, and looks for addresses of the frame in all registers
but rsp and rbp, and in all that is stored.
"""

from __future__ import annotations

import io
import shutil
import struct
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import unicorn
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from iced_x86 import Decoder, Instruction, InstructionInfoFactory, OpAccess
from unicorn import x86_const as x86

from learned_schedulers.blocks.dag.frames import frame_marks
from learned_schedulers.blocks.dag.memory_order import Mark
from learned_schedulers.blocks.run.machine_code import assemble

SOURCE = """
long global; long *shared; volatile long word;
__attribute__((noinline)) void sink(void *p) { __asm__ volatile("" :: "r"(p) : "memory"); }
__attribute__((noinline)) long call(long a) { return a * 3; }
__attribute__((noinline)) long many(long a, long b, long c, long d, long e, long f, long g, long h) {
    return a + h - g;
}
typedef struct { long w[6]; } wide;
__attribute__((noinline)) wide make(long a) { wide r = {{a, a, a, a, a, a}}; return r; }

long closed_leaf(long a, long b) { long x = a + b, y = a * b; return x ^ y; }
long closed_calls(long a, long b) { long x = call(a), y = call(b); word = x; return x + y + a; }
long closed_slots(long a, long b) {
    volatile long x = a, y = b; long z = call(a);
    x += y; y = x * z; return x - y;
}
long closed_many(long a, long b) { return many(a, b, 1, 2, 3, 4, a + b, b) + a; }
long closed_array(long a, long b) { volatile long x[4]; x[0] = a; x[1] = b; x[3] = a; return x[a & 1] + x[3]; }
long closed_pressure(long a, long b) {
    long v0 = call(a), v1 = call(b), v2 = call(a + b), v3 = call(a - b), v4 = call(a ^ b), v5 = call(a & b);
    long v6 = call(a | b), v7 = call(~a);
    return v0 + 2 * v1 + 3 * v2 + 5 * v3 + 7 * v4 + 11 * v5 + 13 * v6 + 17 * v7 + a + b;
}
double closed_floats(long a, long b) { volatile double x = a, y = b; x = x * y; return x + y + call(a); }
long closed_vectors(long a, long b) {
    typedef long v4 __attribute__((vector_size(32)));
    volatile v4 x = {a, b, a, b}; v4 y = x + x; return y[0] + y[3] + call(a);
}
long closed_aligned(long a, long b) { _Alignas(64) volatile long x = a; x += b; return x * call(a); }
long closed_loop(long a, long b) {
    volatile long sum = 0;
    for (long i = 0; i < (a & 15); i++) { if (i & 1) sum += call(i); else sum ^= b; }
    return sum;
}

long open_passed(long a, long b) { long x = a; sink(&x); return x + b; }
long open_stored(long a, long b) { long x = a; shared = &x; word = b; return x + call(b); }
long open_in_a_slot(long a, long b) { long x = a; long *volatile p = &x; *p = b; return x; }
long open_number(long a, long b) { long x = a; global = (long)&x; return x + b; }
long open_array(long a, long b) { long x[8]; for (int i = 0; i < 8; i++) x[i] = a + i; sink(x + 2); return x[b & 7]; }
long open_variable_length(long a, long b) { long x[(a & 7) + 1]; x[0] = b; sink(x); return x[0]; }
long open_alloca(long a, long b) { long *x = __builtin_alloca((a & 63) + 8); *x = b; sink(x); return *x; }
long open_returned(long a, long b) { wide w = make(a); return w.w[b & 3] + call(b); }
long open_frame_address(long a, long b) { global = (long)__builtin_frame_address(0); return a + b; }
long open_nested(long a, long b) {
    long x = a; __attribute__((noinline)) long inner(long c) { return x += c; }
    return inner(b) + inner(a) + x;
}
long open_variadic(long a, ...) {
    __builtin_va_list list; __builtin_va_start(list, a); sink(&list); long r = __builtin_va_arg(list, long);
    __builtin_va_end(list); return r + a;
}
long open_argument(long a, long b, long c, long d, long e, long f, wide g) { sink(&g); return g.w[0]; }
"""
OPTIONS = (
    "-O0", "-O0 -fomit-frame-pointer", "-Og", "-O1", "-O2", "-O2 -fno-omit-frame-pointer", "-O3", "-Os",
    "-O2 -mstackrealign", "-O2 -fstack-protector-all",
)  # fmt: skip
CLOSED = [name for name in SOURCE.replace("(", " ").split() if name.startswith("closed_")]
OPEN = [name for name in SOURCE.replace("(", " ").split() if name.startswith("open_")]
_STACK, _STACK_BYTES, _RETURN, _TLS = 0x7F00_0000_0000, 1 << 16, 0x6000_0000, 0x5000_0000
_GENERAL = [
    getattr(x86, f"UC_X86_REG_{n}")
    for n in ("RAX", "RCX", "RDX", "RBX", "RSI", "RDI", *(f"R{i}" for i in range(8, 16)))
]
_info_factory = InstructionInfoFactory()


class Program(NamedTuple):
    elf: ELFFile
    functions: dict[str, tuple[int, bytes]]  # address and code


@cache
def compiled(options: str, folder: Path) -> Program:
    path = folder / options.replace(" ", "_").replace("=", "")
    flags = [*options.split(), "-w", "-static", "-nostdlib", "-fcf-protection=none", "-fno-asynchronous-unwind-tables"]
    stubs = "void __stack_chk_fail(void) { for (;;); } void _start(void) {}"
    command = ["gcc", "-x", "c", "-", *flags, "-Wl,-z,noexecstack", "-o", str(path)]
    subprocess.run(command, input=(SOURCE + stubs).encode(), check=True)
    elf = ELFFile(io.BytesIO(path.read_bytes()))
    text, symbols = elf.get_section_by_name(".text"), elf.get_section_by_name(".symtab")
    assert text is not None and isinstance(symbols, SymbolTableSection)
    functions = {}
    for symbol in symbols.iter_symbols():
        if symbol["st_info"]["type"] == "STT_FUNC":
            begin = symbol["st_value"] - text["sh_addr"]
            functions[symbol.name] = (symbol["st_value"], text.data()[begin : begin + symbol["st_size"]])
    return Program(elf, functions)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    yield tmp_path_factory.mktemp("frames")
    compiled.cache_clear()


def decoded(address: int, code: bytes) -> list[Instruction]:
    return list(Decoder(64, code, ip=address))


def leaves(instructions: list[Instruction]) -> bool:
    """Whether a jump leads out of the function: a tail call."""
    begin, end = instructions[0].ip, instructions[-1].next_ip
    return any(i.is_jmp_short_or_near and not begin <= i.near_branch_target < end for i in instructions)


@pytest.mark.parametrize("options", OPTIONS)
def test_a_frame_is_closed_where_no_address_is_taken(options: str, folder: Path) -> None:
    program = compiled(options, folder)
    slots = 0
    for name in CLOSED:
        instructions = decoded(*program.functions[name])
        if leaves(instructions):
            continue
        marks = frame_marks(instructions, leaves=False)
        assert all(mark & Mark.CLOSED for mark in marks), name
        slots += sum(mark & Mark.PRIVATE > 0 for mark in marks)
    assert slots > 20


@pytest.mark.parametrize("options", OPTIONS)
def test_a_frame_is_open_where_an_address_is_taken(options: str, folder: Path) -> None:
    program = compiled(options, folder)
    for name in OPEN:
        assert not any(frame_marks(decoded(*program.functions[name]), leaves=False)), name


@pytest.mark.parametrize("options", OPTIONS)
def test_while_a_closed_function_runs_nothing_points_into_its_frame(options: str, folder: Path) -> None:
    program = compiled(options, folder)
    n_closed = n_pointing = 0
    for name in (*CLOSED, *OPEN, "many", "call"):
        address, code = program.functions[name]
        instructions = decoded(address, code)
        marks = frame_marks(instructions, leaves=False)
        private = {i.ip: mark & Mark.PRIVATE > 0 for i, mark in zip(instructions, marks, strict=True)}
        pointing, outside = watched(program, address, len(code), private)
        assert not outside, f"{name}: a private access outside of the frame, by {outside}"
        if marks[0] & Mark.CLOSED:
            n_closed += 1
            assert not pointing, f"{name}: {pointing}"
        n_pointing += bool(pointing)
    assert n_closed >= 8 and n_pointing >= 5, "the oracle sees pointers, and not everywhere"


def watched(program: Program, address: int, size: int, private: dict[int, bool]) -> tuple[list[str], list[str]]:
    """What points into the frame of a function while it runs, and its private accesses elsewhere.

    The frame: from the return address, which is above it, down to the lowest rsp, and the red zone.
    """
    machine = unicorn.Uc(unicorn.UC_ARCH_X86, unicorn.UC_MODE_64)
    for segment in program.elf.iter_segments("PT_LOAD"):
        begin = segment["p_vaddr"] // 4096 * 4096
        end = -(-(segment["p_vaddr"] + segment["p_memsz"]) // 4096) * 4096
        machine.mem_map(begin, end - begin)
        machine.mem_write(segment["p_vaddr"], segment.data())
    for place, room in ((_STACK, _STACK_BYTES), (_RETURN, 4096), (_TLS, 4096)):
        machine.mem_map(place, room)
    top = _STACK + _STACK_BYTES - 4096 + 8
    machine.mem_write(top, struct.pack("<9Q", _RETURN, *range(11, 19)))
    for register, value in zip(_GENERAL, range(1001, 1100), strict=False):
        machine.reg_write(register, value)
    machine.reg_write(x86.UC_X86_REG_RDI, 5)
    machine.reg_write(x86.UC_X86_REG_RSI, 9)
    machine.reg_write(x86.UC_X86_REG_RAX, 0)
    machine.reg_write(x86.UC_X86_REG_RBP, 77)
    machine.reg_write(x86.UC_X86_REG_FS_BASE, _TLS)
    machine.reg_write(x86.UC_X86_REG_RSP, top)
    pointing: list[str] = []
    outside: list[str] = []
    frame = range(top - 1024, top + 8)

    def inspect(uc: Any, ip: int, _size: int, _data: object) -> None:
        if not address <= ip < address + size:
            return
        low = uc.reg_read(x86.UC_X86_REG_RSP) - 128
        for register in _GENERAL:
            if low <= uc.reg_read(register) < top + 8:
                pointing.append(f"{ip:#x}: a register holds an address of the frame")

    def inspect_access(uc: Any, access: int, place: int, width: int, value: int, _data: object) -> None:
        ip = uc.reg_read(x86.UC_X86_REG_RIP)
        if private.get(ip) and not (place in frame or top + 8 <= place < top + 72):
            outside.append(f"{ip:#x}")
        stores = access == unicorn.UC_MEM_WRITE and width == 8 and address <= ip < address + size
        if stores and value % (1 << 64) in frame:
            pointing.append(f"{ip:#x}: an address of the frame is stored")

    machine.hook_add(unicorn.UC_HOOK_CODE, inspect)
    machine.hook_add(unicorn.UC_HOOK_MEM_READ | unicorn.UC_HOOK_MEM_WRITE, inspect_access)
    machine.emu_start(address, _RETURN, count=20000)
    assert machine.reg_read(x86.UC_X86_REG_RIP) == _RETURN, "the function returns"
    return pointing, outside


def marks_of(text: str, elsewhere: bool = False) -> bytes:
    return frame_marks(decoded(0, assemble(text).code), elsewhere)


FUNCTION = "push %rbp\n mov %rsp, %rbp\n sub $32, %rsp\n mov %rdi, -8(%rbp)\n {}\n mov -8(%rbp), %rax\n leave\n ret"


@pytest.mark.parametrize(
    "line",
    [
        *("lea -8(%rbp), %rax", "mov %rsp, %rdi", "mov %rbp, %rdi", "push %rsp", "push %rbp", "mov %rbp, (%rdi)"),
        *("mov %rsp, -16(%rbp)", "add %rsp, %rax", "lea (%rax, %rbp), %rcx", "xchg %rsp, %rax", "movq %rsp, %xmm0"),
        *("mov %esp, %eax", "lea 8(%esp), %eax", "cmp %rsp, %rax", "mov %rax, %rbp", "xor %ebp, %ebp", "pop %rsp"),
        *(
            "enter $16, $0",
            "mov (%rdi), %rsp",
            "cmovz %rsp, %rax",
            "sub %rsp, %rax",
            "imul $1, %rbp, %rax",
            "bswap %rbp",
        ),
        *("mov %spl, %al", "mov %bp, %ax", "xadd %rbp, %rax", "add %rax, %rbp", "movq %rbp, %mm0", "mov %rdi, %rsp"),
    ],
)
def test_what_may_show_an_address_opens_the_frame(line: str) -> None:
    assert not any(marks_of(FUNCTION.format(line)))


@pytest.mark.parametrize(
    ("line", "private"),
    [
        ("mov -16(%rbp), %rcx", True),
        ("add %rcx, 8(%rsp)", True),
        ("push %rbx", True),
        ("call .+16", True),
        ("mov (%rdi), %rcx", False),
        ("push (%rdi)", False),
        ("mov -32(%rbp, %rax, 8), %rcx", False),
        ("mov %fs:40, %rax", False),
        ("mov %rcx, %rdx", False),
        ("lea -64(%rbp), %rsp", False),
        ("sub $16, %rsp", False),
        ("and $-32, %rsp", False),
        ("sub %rax, %rsp", False),
        ("movups %xmm0, -32(%rbp)", True),
        ("rep stosq", False),
    ],
)
def test_slots_of_a_closed_frame_are_private(line: str, private: bool) -> None:
    marks = marks_of(FUNCTION.format(line))
    assert all(mark & Mark.CLOSED for mark in marks)
    assert bool(marks[4] & Mark.PRIVATE) == private
    assert marks[3] & Mark.PRIVATE and not marks[1] & Mark.PRIVATE


def test_nothing_is_known_of_a_part_of_a_function() -> None:
    assert any(marks_of(FUNCTION.format("mov %rax, %rcx")))
    assert not any(marks_of(FUNCTION.format("mov %rax, %rcx"), elsewhere=True))
    assert frame_marks([], False) == b""


def test_rbp_is_a_frame_pointer_only_if_it_is_copied_from_rsp() -> None:
    marks = marks_of("mov %rdi, %rbp\n mov 8(%rbp), %rax\n mov %rax, -8(%rsp)\n ret")
    assert [bool(mark & Mark.PRIVATE) for mark in marks] == [False, False, True, True]


def test_private_accesses_are_slots_alone(folder: Path) -> None:
    """No private access has an index, a segment or another base; all accesses of the instruction are slots."""
    for options in OPTIONS:
        for address, code in compiled(options, folder).functions.values():
            instructions = decoded(address, code)
            for instruction, mark in zip(instructions, frame_marks(instructions, False), strict=True):
                used = [u for u in _info_factory.info(instruction).used_memory() if u.access != OpAccess.NO_MEM_ACCESS]
                if mark & Mark.PRIVATE:
                    assert used and all(u.index == 0 and "SP" not in str(u.segment) for u in used)
