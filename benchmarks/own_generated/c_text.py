"""C at random: expressions and statements over a function's arguments and the memory, without undefined behaviour."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.own_generated.straight import CELLS, Draw

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
