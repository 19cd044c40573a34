"""Writes the C of the tiny corpus: many short branches, each some statements on memory, integers, floats and globals.

Usage: python generate.py SEED FUNCTIONS > tiny.c (see README.md). Same seed, same text.
"""

import random
import sys

OPERATORS = ["+", "-", "*", "^", "&", "|"]


def operand(rng: random.Random) -> str:
    return rng.choice(["x", "y", f"p[{rng.randrange(16)}]", f"counter[{rng.randrange(8)}]", str(rng.randrange(2, 99))])


def statement(rng: random.Random) -> str:
    kind = rng.randrange(6)
    op = rng.choice(OPERATORS)
    if kind == 0:
        return f"p[{rng.randrange(16)}] = {operand(rng)} {op} x;"
    if kind == 1:
        return f"x {op}= {operand(rng)};"
    if kind == 2:
        return f"y {op}= (int)({operand(rng)} >> {rng.randrange(1, 8)});"
    if kind == 3:
        return f"d[{rng.randrange(16)}] = d[{rng.randrange(16)}] {rng.choice('+-*')} d[{rng.randrange(16)}];"
    if kind == 4:
        return f"counter[{rng.randrange(8)}] += y;"
    return f"weight[{rng.randrange(8)}] = d[{rng.randrange(16)}] * {rng.randrange(2, 9)}.0;"


def branch(rng: random.Random) -> str:
    condition = f"{rng.choice('xy')} {rng.choice(['<', '>', '==', '!='])} {operand(rng)}"
    body = " ".join(statement(rng) for _ in range(rng.randrange(1, 4)))
    if rng.random() < 0.3:
        body += f" x += outside(p + {rng.randrange(16)}, y);"
    return f"    if ({condition}) {{ {body} }}"


def function(rng: random.Random, number: int) -> str:
    branches = "\n".join(branch(rng) for _ in range(rng.randrange(4, 9)))
    head = f"__attribute__((used)) static long f{number}(long *p, double *d, long x, int y)"
    return f"{head}\n{{\n{branches}\n    return x + y;\n}}\n"


def main() -> None:
    rng = random.Random(int(sys.argv[1]))
    print("extern long outside(long *, int);\nstatic long counter[8];\nstatic double weight[8];\n")
    print("\n".join(function(rng, number) for number in range(int(sys.argv[2]))))


if __name__ == "__main__":
    main()
