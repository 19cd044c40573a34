"""C text of nine families of programs, drawn at random: straight-line code as it stands in inner loops.

All of it is ours, so that machine code made of it has no other licence.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

Family = Callable[[Random, str], str]  # the text of a function of this name


def polynomial(rng: Random, name: str) -> str:
    """Horner's and Estrin's schemes, a quotient of two of them now and then."""
    degree, lines = rng.randrange(4, 9), []
    for k in range(rng.randrange(1, 3)):
        lines.append(f"double x{k} = x[{k}], s{k} = x{k} * x{k};")
        if rng.random() < 0.5:
            terms = f"c[{degree}]"
            for i in reversed(range(degree)):
                terms = f"({terms} * x{k} + c[{i}])"
            lines.append(f"y[{k}] = {terms};")
        else:
            terms = f"(c[{degree - 1}] + c[{degree}] * x{k})"
            for i in reversed(range(0, degree - 2, 2)):
                terms = f"((c[{i}] + c[{i + 1}] * x{k}) + s{k} * {terms})"
            lines.append(f"y[{k}] = {terms};")
        if rng.random() < 0.4:
            lines.append(f"y[{k + 4}] = y[{k}] / (c[{rng.randrange(degree)}] + x{k});")
    return _function(name, "double *y, const double *x, const double *c", lines)


def hashing(rng: Random, name: str) -> str:
    """Rounds of multiplications, shifts and exclusive ors on words of 64 bits."""
    lanes = rng.randrange(2, 5)
    lines = [f"unsigned long h{k} = h[{k}];" for k in range(lanes)]
    for step in range(rng.randrange(2, 4)):
        for k in range(lanes):
            lines.append(f"h{k} ^= p[{step * lanes + k}] * {rng.randrange(1 << 31) | 1}u;")
            lines.append(f"h{k} = (h{k} << {rng.randrange(7, 29)}) + (h{(k + 1) % lanes} >> {rng.randrange(5, 33)});")
    lines += [f"h[{k}] = h{k};" for k in range(lanes)]
    return _function(name, "unsigned long *h, const unsigned long *p", lines)


def stencil(rng: Random, name: str) -> str:
    """Weighted sums of neighbours in a grid."""
    width, lines = rng.choice([16, 24, 40]), []
    for k in range(rng.randrange(1, 4)):
        near = [0, 1, -1, width, -width, width + 1][: rng.randrange(3, 7)]
        terms = " + ".join(f"w[{i % 3}] * g[{k + 50 + offset}]" for i, offset in enumerate(near))
        lines.append(f"out[{k}] = {terms};")
    return _function(name, "double *restrict out, const double *g, const double *w", lines)


def records(rng: Random, name: str) -> str:
    """Fields of records that are read, changed and stored."""
    lines = []
    for _ in range(rng.randrange(4, 8)):
        a, b, field = rng.choice("pq"), rng.choice("pq"), rng.choice(["count", "total", "first"])
        op = rng.choice(["+", "-", "^", "&"])
        lines.append(f"{a}->{field} = {b}->{rng.choice(['count', 'total', 'last'])} {op} {rng.randrange(2, 99)};")
    lines.append(f"p->rate = q->rate * {rng.randrange(2, 9)}.0 + (double)p->count;")
    head = f"struct record_{name} {{ long count, total; int first, last; double rate; }};\n"
    return head + _function(name, f"struct record_{name} *p, struct record_{name} *q", lines)


def butterfly(rng: Random, name: str) -> str:
    """Steps of a Fourier transform on complex numbers."""
    lines = []
    for k in range(rng.randrange(1, 4)):
        i, j, w = 2 * k, 2 * k + rng.choice([8, 16]), 2 * rng.randrange(4)
        lines += [
            f"double r{k} = z[{j}] * w[{w}] - z[{j + 1}] * w[{w + 1}];",
            f"double m{k} = z[{j}] * w[{w + 1}] + z[{j + 1}] * w[{w}];",
            f"z[{j}] = z[{i}] - r{k}; z[{j + 1}] = z[{i + 1}] - m{k}; z[{i}] += r{k}; z[{i + 1}] += m{k};",
        ]
    return _function(name, "double *restrict z, const double *restrict w", lines)


def digital_filter(rng: Random, name: str) -> str:
    """Filters of finite response on integers, with rounding."""
    taps, shift, lines = rng.randrange(3, 8), rng.randrange(3, 9), []
    for k in range(rng.randrange(1, 4)):
        terms = " + ".join(f"x[{k + i}] * t[{i}]" for i in range(taps))
        lines.append(f"y[{k}] = ({terms} + {1 << (shift - 1)}) >> {shift};")
    return _function(name, "int *restrict y, const int *x, const int *t", lines)


def cipher(rng: Random, name: str) -> str:
    """Additions, rotations and exclusive ors on words of 32 bits."""
    words, lines = "abcd", [f"unsigned {word} = s[{k}];" for k, word in enumerate("abcd")]
    for _ in range(rng.randrange(4, 9)):
        x, y, z = rng.sample(words, 3)
        turn = rng.choice([7, 8, 12, 16])
        lines.append(f"{x} += {y}; {z} ^= {x}; {z} = ({z} << {turn}) | ({z} >> {32 - turn});")
    lines += [f"s[{k}] = {word} + key[{rng.randrange(8)}];" for k, word in enumerate(words)]
    return _function(name, "unsigned *s, const unsigned *key", lines)


def matrix(rng: Random, name: str) -> str:
    """Small products of a matrix and a vector."""
    rows, columns, kind = rng.randrange(2, 4), rng.randrange(2, 5), rng.choice(["float", "double"])
    lines = []
    for i in range(rows):
        terms = " + ".join(f"a[{i * columns + k}] * x[{k}]" for k in range(columns))
        lines.append(f"y[{i}] {rng.choice(['=', '+='])} {terms};")
    return _function(name, f"{kind} *restrict y, const {kind} *a, const {kind} *x", lines)


def fixed_point(rng: Random, name: str) -> str:
    """Numbers with a fixed binary point: products, shifts, differences of bytes and words."""
    lines = []
    for k in range(rng.randrange(2, 5)):
        shift, op = rng.randrange(4, 15), rng.choice("+-")
        lines.append(f"int v{k} = (a[{k}] * (int)b[{k + rng.randrange(3)}]) >> {shift};")
        lines.append(f"o[{k}] = (short)(v{k} {op} (a[{k + 4}] << {rng.randrange(1, 4)}) + (v{k} >> 31));")
    return _function(name, "short *restrict o, const short *a, const unsigned char *b", lines)


def _function(name: str, arguments: str, lines: list[str]) -> str:
    return f"void {name}({arguments})\n{{\n    " + "\n    ".join(lines) + "\n}\n"


DEVELOPMENT: dict[str, Family] = {family.__name__: family for family in (polynomial, hashing, stencil, records)}
UNSEEN: dict[str, Family] = {
    family.__name__: family for family in (butterfly, digital_filter, cipher, matrix, fixed_point)
}
