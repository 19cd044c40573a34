"""C with inline assembly whose tables name its instructions, as kernels and tracers have it; and signal handlers."""

from __future__ import annotations

from pathlib import Path

from benchmarks.own_generated.building import WHOLE, Program, runtime
from benchmarks.own_generated.c_text import HEADER, CText, function
from benchmarks.own_generated.compiling import compiled, options, position
from benchmarks.own_generated.straight import CELLS, Draw
from pipeline.blocks.dag.memory_order import MemoryOrder

_MACROS = r"""
#include <setjmp.h>
extern sigjmp_buf *recovery;
#define TABLE(name, rows) ".pushsection " name ",\"aw\"\n.balign 4\n" rows "\n.popsection\n"
#define LOAD(value, pointer, failed) asm volatile("1: movq %2, %0\n2:\n" \
    ".pushsection .fixup,\"ax\"\n3: movq $-14, %1\n xorl %k0, %k0\n jmp 2b\n.popsection\n" \
    TABLE("exceptions", ".quad 1b, 3b") : "=&r"(value), "+&r"(failed) : "m"(*(pointer)))
#define LOAD_RELATIVE(value, pointer) asm volatile("1: addq %1, %0\n2:\n" \
    TABLE("exceptions_rel", ".long 1b - ., 2b - .") \
    : "+r"(value) : "m"(*(pointer)) : "cc")
#define STORE(value, pointer, label) asm goto("1: movq %0, %1\n" TABLE("exceptions", ".quad 1b, %l2") \
    : : "r"(value), "m"(*(pointer)) : "memory" : label)
#define KEY(on, label) asm goto("1: .byte 0x0f,0x1f,0x44,0,0\n" \
    TABLE("jump_labels", ".long 1b - ., %l0 - .\n.quad " #on) \
    : : : : label)
#define CONSTANT(value, number) asm("movl $0x1020304, %k0\n1:\n" \
    TABLE("patches", ".quad 1b - 4\n.long " #number ", 4") \
    : "=r"(value))
#define ALTERNATIVE(value, other, on) asm("661: addq %1, %0\n662:\n" TABLE("alternatives", \
    ".long 661b - ., 663f - .\n.short " #on "\n.byte 662b-661b, 664f-663f") \
    ".pushsection .altinstr_replacement,\"ax\"\n663: subq %1, %0\n664:\n.popsection" : "+r"(value) : "r"(other) : "cc")
#define KPROBE(value, other) asm("1: leaq 5(%1), %0\n2:\n" \
    TABLE("kprobes", ".quad 1b, 2b-1b") : "=r"(value) : "r"(other))
#define PROBE(x, y, n) asm volatile("990: nop\n.pushsection .note.stapsdt,\"?\",\"note\"\n.balign 4\n" \
    ".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n993: .8byte 990b\n.8byte 0\n.8byte 0\n" \
    ".asciz \"c\"\n.asciz \"probe\"\n.asciz \"8@%0 8@%1 -4@$" #n "\"\n994: .balign 4\n.popsection" : : "r"(x), "r"(y))
"""


class InlineAssembly(CText):
    """Statements of inline assembly. faults: whether `pointer` may not be readable.

    Keys and alternatives are not in all programs, because for their tables a reader may leave a whole file alone.
    """

    def __init__(self, draw: Draw, faults: bool, with_keys: bool, with_alternatives: bool) -> None:
        super().__init__(draw)
        plain = (self.constant, self.kprobe, self.probe, self.computed_goto, self.labels_as_values)
        self.special = (self.load, self.load_relative, self.store, self.recovered, *plain) if faults else plain
        self.special += (self.key,) * with_keys + (self.alternative,) * with_alternatives
        self._labels = 0

    def _count(self, construct: str) -> str:
        """Count a construct; a new label."""
        self.constructs.add(construct)
        self._labels += 1
        return f"label_{self._labels}"

    def _pointed(self) -> str:
        return f"pointer + {self.draw.number(0, CELLS)}"

    def load(self) -> str:
        self._count("asm_exception_table")
        return f"{{ word x, failed = 0; LOAD(x, {self._pointed()}, failed); t = t * 3 + x; u += failed; }}"

    def load_relative(self) -> str:
        self._count("asm_exception_relative")
        return f"{{ word x = {self.expression(2)}; LOAD_RELATIVE(x, {self._pointed()}); t ^= x; }}"

    def store(self) -> str:
        label = self._count("asm_goto_exception")
        stored = f"STORE({self.expression(2)}, {self._pointed()}, {label})"
        return f"{{ {stored}; t += 5; }} if (0) {{ {label}: u ^= 9; }}"

    def recovered(self) -> str:
        """A handler that jumps back sees the stores before the fault, and none behind it; volatile variables stay."""
        self._count("handler_longjmp")
        before, behind = (
            " ".join(f"*(volatile word *)(memory + {self.draw.number(0, CELLS)}) = {k};" for k in range(2))
            for _ in "ab"
        )
        return (
            f"{{ {self.draw.pick('', 'static ')}sigjmp_buf buffer; volatile word stage = 1; recovery = &buffer;\n"
            f"if (!sigsetjmp(buffer, 0)) {{ {before} stage = 2; u = *(volatile word *)({self._pointed()}); stage = 3; "
            f"{behind} }}\nrecovery = 0; return stage; }}"
        )

    def key(self) -> str:
        label = self._count("asm_goto_jump_label")
        number = self.draw.number(0, 2)
        return (
            f"KEY({number}, {label}); {self.target()} = {self.expression(2)}; {label}: t += {self.draw.number(1, 99)};"
        )

    def computed_goto(self) -> str:
        """GNU C's labels as values: a table of distances between labels, as interpreters have them."""
        label = self._count("c_computed_goto")
        places = [f"{label}_{k}" for k in range(4)]
        rows = ", ".join(f"&&{place} - &&{places[0]}" for place in places)
        index = f"{self.expression(1)} & 3"
        cases = " ".join(f"{place}: {self.target()} = {self.expression(2)};" for place in places)
        return f"{{ static const int table[] = {{{rows}}}; goto *(&&{places[0]} + table[{index}]); {cases} }}"

    def labels_as_values(self) -> str:
        label = self._count("c_labels_as_values")
        places = [f"{label}_{k}" for k in range(3)]
        rows = ", ".join(f"&&{place}" for place in (*places, places[0]))
        cases = " ".join(f"{place}: {self.target()} ^= {self.expression(2)};" for place in places)
        return f"{{ static void *const table[] = {{{rows}}}; goto *table[{self.expression(1)} & 3]; {cases} }}"

    def constant(self) -> str:
        self._count("asm_patched_constant")
        return f"{{ word x; CONSTANT(x, {self.draw.number(1, 1 << 30)}); t = t * x + {self.expression(2)}; }}"

    def alternative(self) -> str:
        self._count("asm_alternative")
        other, number = self.draw.pick("a", "b", "u"), self.draw.number(0, 2)
        return f"{{ word x = {self.expression(2)}; ALTERNATIVE(x, {other}, {number}); u ^= x; }}"

    def kprobe(self) -> str:
        self._count("asm_kprobe")
        return f"{{ word x; KPROBE(x, {self.draw.pick('a', 'b', 't')}); c += x; }}"

    def probe(self) -> str:
        self._count("asm_usdt")
        return f"PROBE({self.expression(2)}, {self.draw.pick('a', 't')}, {self.draw.number(0, 99)});"


def generate(draw: Draw, folder: Path, memory: MemoryOrder) -> Program:
    """A program. Raises Unbuilt if the compiler fails."""
    functions: list[str] = []
    with_keys, with_alternatives = draw.chance(0.25), draw.chance(0.15)
    constructs: dict[str, frozenset[str]] = {}
    for number in range(draw.number(5, 14)):
        faults = draw.chance(0.5)
        text = InlineAssembly(draw, faults, with_keys, with_alternatives)
        functions.append(function(text, f"f{number}", faults))
        constructs[f"f{number}"] = frozenset(text.constructs)
    source = HEADER + _MACROS + "\n".join(functions)
    (folder / "source.c").write_text(source)
    linked = position(draw)
    result = compiled(folder / "source.c", options(draw, linked, intel=False), [])
    words = ("gcc", str(runtime(folder)), linked)
    described = " ".join(result.words)
    return Program(
        "inline_assembly",
        result.text,
        words,
        memory,
        constructs | {WHOLE: result.constructs},
        described,
        {"source.c": source},
    )
