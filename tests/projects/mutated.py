"""Sound files of instances in all forms, and damaged copies of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np

from tests.projects import drawn

_NUMBERS = (
    b"0",
    b"-1",
    b"1",
    b"2",
    b"99999",
    b"1000000000",
    b"18446744073709551616",
    b"9" * 5000,
    b"1e9",
    b"nan",
    b"x",
)
_LINES = (
    b"",
    b"#",
    b"2 2",
    b"* * *",
    b"PRECEDENCE RELATIONS:",
    b"REQUESTS/DURATIONS:",
    b"1 1 1 1",
    b"- renewable : 9 R",
    b"\0\xff",
)

Damage = Callable[[np.random.Generator, bytes], bytes]


def sound() -> list[bytes]:
    """Small sound files."""
    rng = np.random.default_rng(11)
    projects = [drawn.psplib_text(drawn.project(rng, n, resources)) for n, resources in ((3, 1), (8, 2), (20, 4))]
    shops = [drawn.job_shop_text(drawn.job_shop(rng, jobs, machines)) for jobs, machines in ((1, 1), (3, 2), (6, 6))]
    tables = ["instance,best_known\na,43\nb,82..87\n", "instance,lower_bound,upper_bound\nta01,3,5\nta02,,9\n"]
    return [text.encode() for text in (*projects, *shops, "name\n# comment\n" + shops[1], *tables)]


def _flipped(rng: np.random.Generator, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 9)) if data else 0):
        changed[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _truncated(rng: np.random.Generator, data: bytes) -> bytes:
    return data[: int(rng.integers(len(data) + 1))]


def _other_number(rng: np.random.Generator, data: bytes) -> bytes:
    numbers = list(re.finditer(rb"\d+", data))
    if not numbers:
        return data
    number = numbers[int(rng.integers(len(numbers)))]
    return data[: number.start()] + _NUMBERS[int(rng.integers(len(_NUMBERS)))] + data[number.end() :]


def _swapped_numbers(rng: np.random.Generator, data: bytes) -> bytes:
    numbers = list(re.finditer(rb"\d+", data))
    if len(numbers) < 2:
        return data
    first, second = sorted(rng.choice(len(numbers), 2, replace=False).tolist())
    a, b = numbers[first], numbers[second]
    return data[: a.start()] + b[0] + data[a.end() : b.start()] + a[0] + data[b.end() :]


def _other_lines(rng: np.random.Generator, data: bytes) -> bytes:
    """A line is deleted, doubled, swapped with another one, or a strange one is put in."""
    lines = data.split(b"\n")
    first, second = rng.integers(len(lines), size=2).tolist()
    match int(rng.integers(4)):
        case 0:
            del lines[first]
        case 1:
            lines.insert(second, lines[first])
        case 2:
            lines[first], lines[second] = lines[second], lines[first]
        case _:
            lines.insert(first, _LINES[int(rng.integers(len(_LINES)))])
    return b"\n".join(lines)


_DAMAGES: tuple[Damage, ...] = (_flipped, _truncated, _other_number, _other_number, _swapped_numbers, _other_lines)


def inputs(seed: int, count: int) -> Iterator[bytes]:
    """So many damaged files. The same seed gives the same damage."""
    rng = np.random.default_rng(seed)
    files = sound()
    for _ in range(count):
        content = files[int(rng.integers(len(files)))]
        for _ in range(int(rng.choice([1, 1, 2, 3]))):
            content = _DAMAGES[int(rng.integers(len(_DAMAGES)))](rng, content)
        yield content
