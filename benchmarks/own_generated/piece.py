"""A function of a generated assembly program while it is written: its lines, its tables, what is to be called."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.own_generated.straight import GENERAL, SCRATCH, Draw, part, straight

ALL_REGISTERS = (1 << 17) - 1 & ~(1 << GENERAL.index("rsp")) & ~(1 << GENERAL.index("rdi"))  # bit 16: vectors


@dataclass
class Piece:
    """Lines are appended by segments, each of which is one construct among straight code."""

    name: str
    draw: Draw
    table_flags: str  # of the sections of tables: "a" or "aw"
    body: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)  # lines behind the function: other sections, code out of line
    symbols: list[str] = field(default_factory=list)  # expressions of code to be called besides the function itself
    constructs: set[str] = field(default_factory=set)
    faults: int = 0  # of runtime.c's entry: 1 if rsi is a pointer that some calls cannot read, 2 if no table says more
    unobserved: set[str] = field(default_factory=set)  # registers that may hold addresses at the end, or "vectors"
    number: int = 0  # of labels

    def label(self) -> str:
        """A new local label."""
        self.number += 1
        return f".L{self.name}_{self.number}"

    def add(self, *lines: str) -> None:
        self.body += lines

    def without(self, *registers: str) -> Draw:
        """The generator for code that does not use some registers, such as those that hold addresses."""
        return Draw(self.draw.rng, [register for register in SCRATCH if register not in registers])

    def fill(self, low: int = 2, high: int = 7, without: tuple[str, ...] = (), red_zone: bool = False) -> None:
        """Straight code of `low` to `high` - 1 instructions that does not use the registers `without`."""
        self.body += straight(self.without(*without), self.draw.number(low, high), red_zone)

    def count(self, *constructs: str) -> None:
        """Say that constructs occur."""
        self.constructs.update(constructs)

    def clear(self, *registers: str) -> None:
        """Zero registers that hold addresses."""
        self.body += [f"xorl %{part(register, 4)}, %{part(register, 4)}" for register in registers]

    def row(self, section: str, *lines: str) -> None:
        """A row of a table in another section, written where the function stands or behind it."""
        pushed = self.draw.chance(0.4)
        self.count("pushsection" if pushed else "section_behind")
        if pushed:
            self.body += [f'.pushsection {section},"{self.table_flags}"', *lines, ".popsection"]
        else:
            self.elsewhere += [f'.section {section},"{self.table_flags}"', *lines]

    @property
    def mask(self) -> int:
        """Which registers are observed at the end: bits by their numbers, bit 16 for vectors."""
        if self.faults == 2:
            return 0  # they are lost when the handler jumps
        mask = ALL_REGISTERS
        for register in self.unobserved | ({"rsi"} if self.faults else set()):
            mask &= ~(1 << (16 if register == "vectors" else GENERAL.index(register)))
        return mask


def of_length(draw: Draw, length: int) -> str:
    """An instruction of straight code of 2, 3, 4, 5, 7 or 10 bytes."""
    low = "%" + draw.pick("rax", "rcx", "rdx")
    if length == 2:
        return f"{draw.pick('addl', 'xorl', 'subl', 'movl')} %{draw.pick('eax', 'ecx')}, %edx"
    if length == 3:
        return draw.pick(f"addq {draw.register()}, {low}", f"notq {draw.register()}", f"movq {draw.register()}, {low}")
    if length == 4:
        name, register = draw.pick("addq", "subq", "xorq", "orq", "andq"), draw.register()
        return draw.pick(
            f"{name} ${draw.number(1, 100)}, {register}",
            f"imulq {draw.register()}, {register}",
            f"leaq {draw.number(1, 100)}({draw.register()}), {register}",
            f"rolq ${draw.number(2, 60)}, {register}",
        )
    if length == 5:
        return f"movl ${draw.number(1, 1 << 30)}, %{draw.pick('eax', 'ecx', 'edx')}"
    if length == 7:
        return draw.pick(f"movq ${draw.number(1, 1 << 30)}, {low}", f"addq {8 * draw.number(16, 64)}(%rdi), {low}")
    if length == 10:
        return f"movabsq ${draw.number(1 << 40, 1 << 60)}, {low}"
    raise ValueError(f"no instruction of {length} bytes is written here")


def some_length(draw: Draw) -> tuple[str, int]:
    """An instruction and its length in bytes."""
    length = (2, 3, 4, 4, 5, 7)[draw.number(0, 6)]
    return of_length(draw, length), length
