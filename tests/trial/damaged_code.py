"""Small sound files of all formats, compiled here, and damaged copies of them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.read import cut
from learned_schedulers.blocks.read.elf import read_image
from learned_schedulers.blocks.read.forms import Forms
from tests.trial.damage import flipped, spliced, truncated

BOUNDARY_VALUES = [
    0, 1, 2, 7, 8, 0x7F, 0xFF, 0xFFFF, 1 << 31, (1 << 32) - 1, 1 << 40, 1 << 62, (1 << 63) - 1,
    (1 << 64) - 1,
]  # fmt: skip
Rng = np.random.Generator
Damage = Callable[[bytes, Rng], bytes]
SUFFIXES = {"assembly": ".s", "object": ".o", "archive": ".a", "csv": ".csv"}
TEXTS = {"assembly", "csv"}

_C = r"""
typedef struct { int a; long b; double c; char name[16]; } Part;
extern int outside(int, Part *);
static const char *const names[] = {"first", "second", "third"};
int table[64];
long sums(Part *parts, int n) {
    long sum = 0; double product = 1;
    for (int i = 0; i < n; i++) { sum += parts[i].a * parts[i].b; product *= parts[i].c + i; parts[i].a = i; }
    table[n & 63] = (int)product; return sum + (long)product;
}
int choice(int x, Part *part) {
    switch (x) {
        case 0: return outside(1, part); case 1: part->a = 5; part->b = 7; return 3; case 2: return names[x][0];
        case 3: part->c = part->a * 0.5; return 9; case 4: return table[part->a & 63]; case 5: return x * 31 + part->a;
        default: return -1;
    }
}
unsigned mixed(unsigned *state, unsigned a, unsigned b, unsigned c) {
    a ^= b << 7; b += c >> 3; c ^= a * 2654435761u; state[0] = a; state[1] = b; state[2] = c; a += state[3];
    b ^= state[4] + a; c -= b; state[5] = a ^ c; return a + b + c;
}
"""
_CPP = r"""
struct Guard { int *count; explicit Guard(int *c) : count(c) { ++*count; } ~Guard() { --*count; } };
int risky(int, int *);
struct Point { long x, y, z; long dot(const Point &o) const; Point cross(const Point &o) const; };
long Point::dot(const Point &o) const { return x * o.x + y * o.y + z * o.z; }
Point Point::cross(const Point &o) const { return {y * o.z - z * o.y, z * o.x - x * o.z, x * o.y - y * o.x}; }
int guarded(int a, int b, int *count) {
    Guard guard(count);
    try { return risky(a, count) + risky(b, count) * 3; } catch (int error) { return error - a * b; }
}
"""


def pick(rng: Rng, end: int) -> int:
    """A number from 0 to below `end`, or 0."""
    return int(rng.integers(max(end, 1)))


class Damaged(NamedTuple):
    """A damaged file."""

    kind: str  # a key of SUFFIXES
    damage: str  # names of what was done to it
    content: bytes


def _compiled(folder: Path, compiler: str, source: str, *options: str) -> bytes:
    path = folder / ("a.c" if compiler == "gcc" else "a.cc")
    path.write_text(source)
    command = [compiler, *options, "-w", path.name, "-o", "out"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return (folder / "out").read_bytes()


def sound_files(folder: Path) -> dict[str, list[bytes]]:
    """Sound files of each kind, from a C and a C++ source that GCC compiles in `folder`."""
    assembly = [
        _compiled(folder, "gcc", _C, "-S", "-O2"),
        _compiled(folder, "gcc", _C, "-S", "-O1", "-g", "-fno-asynchronous-unwind-tables"),
        _compiled(folder, "gcc", _C, "-S", "-O2", "-fPIC", "-masm=intel"),
        _compiled(folder, "g++", _CPP, "-S", "-O2"),
    ]
    objects = [
        _compiled(folder, "gcc", _C, "-c", "-O2"),
        _compiled(folder, "gcc", _C, "-c", "-O1", "-g", "-fPIC"),
        _compiled(folder, "g++", _CPP, "-c", "-O2"),
        _compiled(folder, "gcc", _C, "-shared", "-O2", "-fPIC", "-nostdlib"),
    ]
    archives = []
    for number, names in enumerate([(0, 1), (2,), (0, 2, 1)]):
        members = []
        for position, name in enumerate(names):
            path = folder / f"a_member_with_a_long_name_{position}.o"
            path.write_bytes(objects[name])
            members.append(path.name)
        archive = f"archive{number}.a"
        subprocess.run(["ar", "rcs", archive, *members], cwd=folder, check=True, capture_output=True)
        archives.append((folder / archive).read_bytes())
    blocks = [
        section.code[begin:end].tobytes()
        for section in cut.blocks(read_image(objects[0], "", ""), 2, 64, Forms())
        for begin, end in zip(section.begin, section.end, strict=True)
    ]
    return {"assembly": assembly, "object": objects, "archive": archives, "csv": _csv(blocks)}


def _csv(blocks: list[bytes]) -> list[bytes]:
    rows = [f"{block.hex()},{37.5 * k:f}" for k, block in enumerate(blocks)]
    return [
        "".join(f"{row}\n" for row in rows).encode(),
        ("\ufeffhex,throughput\r\n" + "".join(f"{row},{k}\r\n" for k, row in enumerate(rows))).encode(),
        "".join(f"{block.hex(' ').upper()}\n" for block in blocks).encode().rstrip(),
    ]


_NUMBERS = [
    b"0", b"-1", b"65536", b"4294967296", b"18446744073709551616", b"9" * 40, b"0x" + b"f" * 17, b"1e308", b"9" * 5000,
]  # fmt: skip


def huge_number(data: bytes, rng: Rng) -> bytes:
    numbers = list(re.finditer(rb"\d+", data))
    if not numbers:
        return data
    number = numbers[pick(rng, len(numbers))]
    return data[: number.start()] + _NUMBERS[pick(rng, len(_NUMBERS))] + data[number.end() :]


def moved_lines(data: bytes, rng: Rng) -> bytes:
    """Lines go, stand twice, or change places."""
    lines = data.splitlines(keepends=True)
    for _ in range(1 + pick(rng, 3) if lines else 0):
        a, b = pick(rng, len(lines)), pick(rng, len(lines))
        match pick(rng, 3):
            case 0:
                del lines[a : a + 1]
            case 1:
                lines[a:a] = lines[b : b + 1]
            case _:
                lines[a : a + 1], lines[b : b + 1] = lines[b : b + 1], lines[a : a + 1]
    return b"".join(lines)


STRANGE: dict[str, list[str]] = {
    "assembly": [
        ".rept 1000000000", ".rept 3", ".endr", '.incbin "/etc/passwd"', '.include "/dev/zero"', "jmp *%rax", "ret",
        "lock addl $1, (%rdi)", ".byte 0x0f, 0x0b", ".p2align 60", ".p2align 4", ".org .+1000000000", ".cfi_startproc",
        ".cfi_endproc", ".cfi_def_cfa_offset 16", ".text", ".data", '.section .text.x,"ax",@progbits', "#APP",
        "#NO_APP", ".code32", ".intel_syntax noprefix", ".att_syntax", "1:", "jmp 1b", "jmp 1f", ".macro x", ".endm",
        "x",
        ".fill 4000000000,8,0", ".L2: .L3:", "nop; nop", "rep stosb", "syscall", ".zero 99999999999", ".if 1", ".else",
        ".endif", ".set a, b", "/*", "*/", '"', "mov %rax, %gs:0", ".quad .-4", ".uleb128 0xffffffffffffffffffff",
        "xbegin .L2", ".popsection", ".pushsection .data", ".loc 1 999999999999", ".skip 0x7fffffffffffffff", "a = .",
        ".subsection 1", ".previous", ".globl f", "call f", "leaq f(%rip), %rax", "mov .L2(%rip), %eax", ".lto_section",
        "movq foo@gottpoff(%rip), %rax", "addq %fs:0, %rax", "# LLVM-MCA-BEGIN", "# LLVM-MCA-END", "movl $111, %ebx",
        "movl $222, %ebx", ".byte 0x64, 0x67, 0x90", "\ufffd", "endbr64", ".irp r,a,b", ".rept -1", ".end", ".err",
        ".line 5", ".file 1 \"x\"", ".string \"a;b#c\"", "{disp32} nop", ".value 1", "\tnop # a comment", "vzeroupper",
    ],
    "csv": [
        "hex,throughput", ",0.0531", "0x4889d8,1", '"4889d8",1', "4889d8e8,1", "e800000000,1", "4889d8c3,1",
        "4889d8ff,1", "", "#", "4889d8\r", "48 89 d8,7", "4889d8\u00e9,1", "=1+1", "4889d8" * 5000 + ",1", "90" * 70, 
        "f30f1efa,1",
        "\ufeff4889d8", "4889d8,", ",,,,", "0f0b,1", "66,1", "4889d8;4801d8", "\t4889d8 ,\t1",
    ],
}  # fmt: skip


def _strange_line(kind: str) -> Damage:
    def strange_line(data: bytes, rng: Rng) -> bytes:
        lines = data.splitlines(keepends=True)
        lines.insert(pick(rng, len(lines)), STRANGE[kind][pick(rng, len(STRANGE[kind]))].encode() + b"\n")
        return b"".join(lines)

    return strange_line


def _set_field(rng: Rng, data: bytes, begin: int, end: int) -> bytes:
    """A boundary value, or a number near the old one, in an aligned field of [begin, end)."""
    size = int(rng.choice([1, 2, 4, 8]))
    offset = begin + size * pick(rng, (min(end, len(data)) - begin) // size)
    if not 0 <= offset <= len(data) - size:
        return data
    near = int.from_bytes(data[offset : offset + size], "little") + pick(rng, 33) - 16
    value = BOUNDARY_VALUES[pick(rng, len(BOUNDARY_VALUES))] if rng.random() < 0.6 else near
    return data[:offset] + (value % (1 << 8 * size)).to_bytes(size, "little") + data[offset + size :]


def field(data: bytes, rng: Rng) -> bytes:
    return _set_field(rng, data, 0, len(data))


def _elf_begin(rng: Rng, data: bytes) -> int:
    """Where an ELF file begins, in an object or an archive; -1 without any."""
    begins = [match.start() for match in re.finditer(rb"\x7fELF", data)]
    return begins[pick(rng, len(begins))] if begins else -1


def elf_header(data: bytes, rng: Rng) -> bytes:
    begin = _elf_begin(rng, data)
    return _set_field(rng, data, begin, begin + 64) if begin >= 0 else data


def section_table(data: bytes, rng: Rng) -> bytes:
    begin = _elf_begin(rng, data)
    table = begin + int.from_bytes(data[begin + 40 : begin + 48], "little")
    count = int.from_bytes(data[begin + 60 : begin + 62], "little")
    return _set_field(rng, data, table, table + 64 * count) if 0 <= begin < table else data


def section_content(data: bytes, rng: Rng) -> bytes:
    """A field in a section: code, relocations, symbols, names, line table or unwinding table."""
    begin = _elf_begin(rng, data)
    table = begin + int.from_bytes(data[begin + 40 : begin + 48], "little")
    count = int.from_bytes(data[begin + 60 : begin + 62], "little")
    header = data[table + 64 * pick(rng, count) :][:64]
    first = begin + int.from_bytes(header[24:32], "little")
    return _set_field(rng, data, first, first + int.from_bytes(header[32:40], "little")) if begin >= 0 else data


def member_header(data: bytes, rng: Rng) -> bytes:
    """Another character in the header of a member of an archive."""
    ends = [match.start() for match in re.finditer(rb"`\n", data)]
    if not ends:
        return data
    place = ends[pick(rng, len(ends))] - pick(rng, 58)
    return data[: max(place, 0)] + bytes([b"0123456789 /-x\0\xff"[pick(rng, 16)]]) + data[max(place, 0) + 1 :]


_OF_TEXT = [moved_lines, moved_lines, huge_number]
_OF_ELF = [elf_header, section_table, section_table, section_content, section_content, section_content, field]


def damages(kind: str) -> list[Damage]:
    """What may happen to a file of a kind."""
    every = [flipped, truncated, spliced, spliced]
    if kind in TEXTS:
        return [*every, *_OF_TEXT, *[_strange_line(kind)] * 3]
    return [*every, *_OF_ELF, *([member_header] * 3 if kind == "archive" else [])]


def inputs(seed: int, count: int, sound: dict[str, list[bytes]]) -> Iterator[Damaged]:
    """`count` damaged files, of each kind in turn. The same seed gives the same damage."""
    rng = np.random.default_rng(seed)
    kinds = list(sound)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        content = sound[kind][pick(rng, len(sound[kind]))]
        names = []
        for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
            choices = damages(kind)
            damage = choices[pick(rng, len(choices))]
            names.append(damage.__name__)
            content = damage(content, rng)
        yield Damaged(kind, "+".join(names), content)
