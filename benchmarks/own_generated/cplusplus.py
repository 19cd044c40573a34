"""C++ with exceptions, destructors and tail calls; with -fnon-call-exceptions, faults become exceptions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.own_generated.building import Program, runtime
from benchmarks.own_generated.compiling import compiled, options, position
from benchmarks.own_generated.straight import CELLS, Draw
from learned_schedulers.blocks.dag.memory_order import MemoryOrder

_NON_CALL = "-fnon-call-exceptions"
_START = """\
#include <typeinfo>
struct Fault { int number; };
struct Guard { word *place, value; ~Guard() { *place = *place * 31 + value; } };
struct Base { word number; virtual word turned(word x) { return x * 3 + number; } virtual ~Base() {} };
struct Derived : Base { word turned(word x) override { if (x % 6 == 2) throw Fault{3}; return x ^ number; } };
__attribute__((noinline)) word risky(word x) {
    if (x % 7 == 3) throw x;
    if (x % 5 == 1) throw Fault{7};
    return x * 3 + 1;
}
__attribute__((noinline)) word calm(word x, word *memory) noexcept {
    memory[x & 31] += x;
    return x * 5 + memory[x & 7];
}
template <int N> word unrolled(word x, word *memory) { return unrolled<N - 1>(x * N + memory[N], memory) ^ N; }
template <> word unrolled<0>(word x, word *) { return x; }
"""
_RAISING = 'extern "C" void raise_fault() { throw Fault{11}; }\n'
HEADER = """\
typedef unsigned long word;
struct entry { word code, name, mask, faults; };
#define ENTRY(f, number_of_faults) \\
    struct entry entry_##f __attribute__((used, section("entries"), aligned(8))) = \\
        {(word)&f, (word)#f, 1, number_of_faults};
"""
LOCALS = ("a", "b", "c", "t", "u")


class CText:
    """Writes statements. A kind of programs adds its own ones in `special`."""

    def __init__(self, draw: Draw) -> None:
        self.draw, self.constructs = draw, set[str]()
        self.special: tuple[Callable[[], str], ...] = ()  # statements, each drawn as often as another

    def expression(self, depth: int = 3) -> str:
        """An unsigned expression."""
        draw = self.draw
        if depth == 0 or draw.chance(0.2):
            return draw.pick(*LOCALS, *LOCALS, f"{draw.number(0, 1 << 30)}ul", f"memory[{draw.number(0, CELLS)}]")
        x, y = self.expression(depth - 1), self.expression(depth - 1)
        return draw.pick(
            f"({x} {draw.pick('+', '-', '*', '^', '&', '|')} {y})",
            f"({x} {draw.pick('+', '-', '*', '^', '&', '|')} {y})",
            f"({x} {draw.pick('<<', '>>')} {draw.number(1, 40)})",
            f"({x} {draw.pick('/', '%')} ({y} | 1))",
            f"({x} {draw.pick('<', '==', '>=')} {y} ? {self.expression(depth - 1)} : {y})",
            f"memory[{x} & {CELLS - 1}]",
            f"(word)({draw.pick('int', 'short', 'signed char', 'unsigned')})({x})",
        )

    def target(self) -> str:
        """What can be assigned to."""
        draw = self.draw
        return draw.pick(*LOCALS, f"memory[{draw.number(0, CELLS)}]", f"memory[{self.expression(1)} & {CELLS - 1}]")

    def statement(self, depth: int = 2) -> str:
        """A statement, perhaps with others inside."""
        draw = self.draw
        if self.special and draw.chance(0.4):
            return self.special[draw.number(0, len(self.special))]()
        kind = draw.pick("assign", "assign", "assign", *(("if", "for", "switch") if depth else ()))
        if kind == "assign":
            return f"{self.target()} {draw.pick('=', '+=', '^=', '*=')} {self.expression()};"
        if kind == "if":
            return f"if ({self.expression(2)} {draw.pick('<', '==', '>')} {self.expression(1)}) {self.block(depth - 1)}"
        if kind == "for":
            name = f"i{draw.number(0, 1 << 30)}"
            return f"for (int {name} = 0; {name} < {draw.number(2, 9)}; {name}++) {self.block(depth - 1)}"
        self.constructs.add("c_switch")
        cases = [f"case {k}: {self.block(0, 2)} {draw.pick('break;', 'break;', '')}" for k in range(draw.number(4, 9))]
        return f"switch ({self.expression(2)} & 7) {{ {' '.join(cases)} }}"

    def block(self, depth: int = 2, most: int = 4) -> str:
        """Statements in braces."""
        return "{ " + "\n".join(self.statement(depth) for _ in range(self.draw.number(1, most))) + " }"


def function(text: CText, name: str, faults: bool, before: str = "", after: str = "") -> str:
    """A function of runtime.c's form. before, after: text around its statements."""
    statements = "\n".join(text.statement() for _ in range(text.draw.number(2, 6)))
    pointer = "word *pointer" if faults else "word s"
    start = f"word t = {'1' if faults else 's'}, u = a ^ b;"
    head = f"word {name}(word *memory, {pointer}, word a, word b, word c)"
    end = after or "return t ^ u ^ a ^ b ^ c;"
    return f"{head} {{\n{start}\n{before}\n{statements}\n{end}\n}}\nENTRY({name}, {int(faults)})\n"


class Throwing(CText):
    """Statements that throw, catch, clean up and call. faults: accesses of `pointer` may throw."""

    def __init__(self, draw: Draw, faults: bool) -> None:
        super().__init__(draw)
        self._faults = faults
        self.special = (self.caught, self.guarded, self.virtual, self.unrolled, self.caught)

    def _risk(self) -> str:
        """A statement that may throw."""
        draw = self.draw
        if self._faults and draw.chance(0.6):
            self.constructs.add("cpp_fault_throws")
            place = f"pointer[{draw.number(0, CELLS)}]"
            return draw.pick(f"t += {place};", f"{place} = {self.expression(1)};", f"u = a / (b & 1 ? b : {place});")
        return f"{draw.pick('t', 'u')} ^= risky({self.expression(2)});"

    def caught(self) -> str:
        self.constructs.add("cpp_try_catch")
        inside = "\n".join(
            [self.statement(0), self._risk(), f"t = t * 7 + {self.expression(2)};", self.draw.pick("", self._risk())]
        )
        handlers = [
            "catch (word e) { t ^= e; }",
            "catch (const Fault &fault) { u += fault.number; }",
            "catch (...) { t++; }",
        ]
        return f"try {{ {inside} }} {' '.join(handlers[: self.draw.number(2, 4)])}"

    def guarded(self) -> str:
        self.constructs.add("cpp_destructor")
        guard = f"Guard guard{{memory + {self.draw.number(0, CELLS)}, {self.expression(1)}}};"
        return f"try {{ {guard} {self.statement(0)} {self._risk()} {self.statement(0)} }} catch (...) {{ u ^= t; }}"

    def virtual(self) -> str:
        self.constructs.add("cpp_virtual")
        kind = self.draw.pick("Base", "Derived")
        setup = f"{kind} item; item.number = {self.expression(1)}; Base *volatile seen = &item;"
        return f"try {{ {setup} t += seen->turned({self.expression(2)}); }} catch (const Fault &) {{ t = 5; }}"

    def unrolled(self) -> str:
        self.constructs.add("cpp_template")
        return f"u += unrolled<{self.draw.number(1, 12)}>({self.expression(2)}, memory);"


def generate(draw: Draw, folder: Path, memory: MemoryOrder) -> Program:
    """A program. Raises Unbuilt if the compiler fails."""
    linked = position(draw)
    words = options(draw, linked)
    non_call = words[0] == "gcc" and draw.chance(0.5)
    words = [word for word in words if word != _NON_CALL] + [_NON_CALL] * non_call
    functions: list[str] = []
    constructs: set[str] = set()
    for number in range(draw.number(5, 14)):
        faults = non_call and draw.chance(0.7)
        text = Throwing(draw, faults)
        after = ""
        if draw.chance(0.5):
            text.constructs.add("cpp_tail_call")
            after = f"return {draw.pick('calm(t ^ u, memory)', 'unrolled<3>(t + u, memory)')};"
        whole = function(
            text, f"f{number}", faults, "try {", "} catch (...) { t += 77; }\n" + (after or "return t ^ u;")
        )
        functions.append(f'extern "C" {{ {whole} }}\n')
        constructs |= text.constructs
    source = HEADER + _START + _RAISING * non_call + "\n".join(functions)
    (folder / "source.cpp").write_text(source)
    result = compiled(folder / "source.cpp", words, [])
    link = ("g++", str(runtime(folder)), linked)
    described = " ".join(result.words)
    return Program(
        "cplusplus",
        result.text,
        link,
        memory,
        result.constructs | constructs,
        described,
        {"source.cpp": source},
    )
