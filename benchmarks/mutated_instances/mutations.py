"""Damage to files of instances: of bytes, of lines and numbers, and of the values of JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Mutation = Callable[[bytes, np.random.Generator], bytes]
Place = tuple[Any, Any]  # a list or a dictionary, and an index or a key of it

_TIMES = (1, 1, 1, 2, 3)  # how often a file is damaged
_OF_VALUES = 0.7  # share of the files of JSON
_DEEP = 100_000  # brackets
_NUMBERS = (
    *(b"0", b"-1", b"1", b"2", b"99999", b"1000000000", b"18446744073709551616", b"9" * 5000, b"1e9", b"1e999"),
    *(b"1.5", b"nan", b"x", b"", b"null", b'"a"', b"[]", b"{}", b"true", b"\xd9\xa3"),  # the last is an Arabic digit
)
_LINES = (
    *(b"", b"#", b"2 2", b"* * *", b"1 1 1 1", b"PRECEDENCE RELATIONS:", b"REQUESTS/DURATIONS:", b"- renewable : 9 R"),
    *(b"\0\xff", b"}", b'{"nodes": [],', b"a,9..3", b"\x1b[31m"),
)
_VALUES: tuple[Any, ...] = (
    *(-1, 0, 1, 3.5, 2**31, 2**63, 10**30, 1e308, -1e-308, 1e-300, float("nan"), float("inf")),
    *(None, True, False, "", "0", "x" * 1000, "\0\ud800", "two\nlines\x1b[31m", [], {}, [[]], {"id": 1}),
)


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """A damaged copy; the same generator gives the same damage. JSON mostly stays JSON, with other values."""
    kinds = _JSON if content.lstrip().startswith(b"{") and rng.random() < _OF_VALUES else _ANY
    for _ in range(int(rng.choice(_TIMES))):
        content = kinds[int(rng.integers(len(kinds)))](content, rng)
    return content


def flipped(content: bytes, rng: np.random.Generator) -> bytes:
    """Bits are others."""
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 9)) if content else 0):
        changed[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def truncated(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: int(rng.integers(len(content) + 1))]


def noise(content: bytes, rng: np.random.Generator) -> bytes:
    """Nothing at all, or bytes that mean nothing, alone or before the file."""
    drawn = rng.bytes(int(rng.integers(300)))
    return (b"", drawn, drawn + content)[int(rng.integers(3))]


def moved(content: bytes, rng: np.random.Generator) -> bytes:
    """A piece is missing, repeated, or elsewhere."""
    begin, end, to = np.sort(rng.integers(0, len(content) + 1, 3)).tolist()
    piece = content[begin : min(end, begin + 500)]
    without = content[:begin] + content[begin + len(piece) : to]
    return (without + content[to:], content[:to] + piece + content[to:], without + piece + content[to:])[
        int(rng.integers(3))
    ]


def numbered(content: bytes, rng: np.random.Generator) -> bytes:
    """A number is another one, or none, or changes its place with another one."""
    numbers = list(re.finditer(rb"\d+", content))
    if not numbers:
        return content
    first, second = sorted(int(rng.integers(len(numbers))) for _ in range(2))
    a, b = numbers[first], numbers[second]
    if first < second and rng.random() < 0.3:
        return content[: a.start()] + b[0] + content[a.end() : b.start()] + a[0] + content[b.end() :]
    return content[: a.start()] + _NUMBERS[int(rng.integers(len(_NUMBERS)))] + content[a.end() :]


def lined(content: bytes, rng: np.random.Generator) -> bytes:
    """A line is deleted, doubled, exchanged or put in; or many lines change their place with those behind them."""
    lines = content.split(b"\n")
    first, second, third = np.sort(rng.integers(len(lines), size=3)).tolist()
    match int(rng.integers(5)):
        case 0:
            del lines[first]
        case 1:
            lines.insert(second, lines[first])
        case 2:
            lines[first], lines[second] = lines[second], lines[first]
        case 3:
            lines = lines[:first] + lines[second:third] + lines[first:second] + lines[third:]
        case _:
            lines.insert(first, _LINES[int(rng.integers(len(_LINES)))])
    return b"\n".join(lines)


def _of_values(change: Callable[[Place, list[Place], np.random.Generator], None]) -> Mutation:
    """A mutation of JSON at some places; of what is no JSON any more, of its bytes."""

    def mutation(content: bytes, rng: np.random.Generator) -> bytes:
        try:
            whole = json.loads(content)
        except (ValueError, RecursionError):
            return flipped(content, rng)
        places = list(_places(whole))
        for _ in range(int(rng.integers(1, 3))):
            if places:
                change(places[int(rng.integers(len(places)))], places, rng)
        return json.dumps(whole).encode()

    return mutation


def _places(value: Any) -> Iterator[Place]:
    """Every place of every part, the outer ones first. A part that was put in twice is there twice."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    for key in keys:
        yield value, key
    for key in keys:
        yield from _places(value[key])


def removed(place: Place, places: list[Place], rng: np.random.Generator) -> None:
    """A key, or an element of a list, is missing."""
    part, key = place
    if isinstance(part, dict):
        part.pop(key, None)
    elif key < len(part):
        del part[key]


def replaced(place: Place, places: list[Place], rng: np.random.Generator) -> None:
    """A value is an odd one."""
    _put(place, _VALUES[int(rng.integers(len(_VALUES)))])


def exchanged(place: Place, places: list[Place], rng: np.random.Generator) -> None:
    """A value is a copy of one elsewhere: parts that repeat, wrong types, edges that close cycles."""
    part, key = places[int(rng.integers(len(places)))]
    if key in part if isinstance(part, dict) else key < len(part):
        _put(place, json.loads(json.dumps(part[key])))


def _put(place: Place, value: Any) -> None:
    part, key = place
    if isinstance(part, dict) or key < len(part):
        part[key] = value


def nested(content: bytes, rng: np.random.Generator) -> bytes:
    """A value is in so many brackets that a parser that calls itself ends."""
    colons = [match.end() for match in re.finditer(rb":", content)]
    if not colons:
        return content
    at = colons[int(rng.integers(len(colons)))]
    opening, closing = ((b"[", b"]"), (b'{"a":', b"}"))[int(rng.integers(2))]
    return content[:at] + opening * _DEEP + (b"0" + closing * _DEEP if rng.random() < 0.5 else b"") + content[at:]


_OF_JSON = (removed, replaced, replaced, exchanged)
_ANY: tuple[Mutation, ...] = (flipped, truncated, noise, moved, *[numbered] * 4, lined, lined)
_JSON: tuple[Mutation, ...] = (*(_of_values(each) for each in [*_OF_JSON] * 3), *[numbered] * 4, nested)
