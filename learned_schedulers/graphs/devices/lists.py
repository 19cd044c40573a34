"""Devices as users list them, `h100:2,t4,cpu`, and links between pairs of them, by names such as `h100.0-h100.1`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from learned_schedulers.graphs.devices.settings import DEVICES, DeviceName, Link
from learned_schedulers.graphs.devices.targets import transfers_over
from learned_schedulers.graphs.problems.problem import Transfers

_MOST = 256  # devices of a list: a table of links has an entry for each pair


def kinds_of(devices: str | Sequence[str]) -> tuple[DeviceName, ...]:
    """The kind of each device: `h100:2,t4`, or the list of these, is h100, h100, t4.

    Raises ValueError that names the entry that is no kind of device, or has no number of devices behind its colon.
    """
    kinds: list[DeviceName] = []
    for entry in devices.split(",") if isinstance(devices, str) else devices:
        name, colon, count = entry.strip().partition(":")
        kind = next((known_kind for known_kind in DEVICES if known_kind == name), None)
        if kind is None:
            raise ValueError(f"there is no device {name!r}; there are {', '.join(DEVICES)}, as in h100:2,t4")
        number = int(count) if count.isdecimal() and len(count) < 9 else 0 if colon else 1
        if not 0 < number <= _MOST - len(kinds):
            raise ValueError(f"{entry}: write a number of devices, from 1 on and up to {_MOST} in all: {kind}:2")
        kinds += [kind] * number
    if not kinds:
        raise ValueError("the list of devices is empty; there must be at least one device")
    return tuple(kinds)


def names_of(kinds: Sequence[DeviceName]) -> tuple[str, ...]:
    """The kind of each device with its number among those of its kind: h100.0, h100.1, t4.0."""
    counts: dict[DeviceName, int] = {}
    names = []
    for kind in kinds:
        counts[kind] = counts.get(kind, -1) + 1
        names.append(f"{kind}.{counts[kind]}")
    return tuple(names)


def transfers_between(kinds: Sequence[DeviceName], link: Link, links: Mapping[str, Link]) -> Transfers:
    """Transfers over `link`, but over those of `links` between the pairs that these name.

    `h100.0-h100.1` is a pair of devices, in both directions, `h100-t4` are all pairs of these kinds; of several names
    of a pair the one with more numbers counts. Raises ValueError that names what is no pair of devices, and two names
    with equally many numbers that give a pair different links.
    """
    if not links:
        return transfers_over(link)
    names, m = names_of(kinds), len(kinds)
    slope, delay = np.full((m, m), 1 / link.bytes_per_second), np.full((m, m), link.seconds)
    chosen: dict[tuple[int, int], str] = {}
    for text in sorted(links, key=lambda text: text.count(".")):
        for pair in _pairs(text, kinds, names):
            before = chosen.setdefault(pair, text)
            if before.count(".") == text.count(".") and links[before] != links[text]:
                place = "-".join(names[device] for device in pair)
                raise ValueError(f"links {before} and {text} both name the pair {place}; leave one of them out")
            chosen[pair] = text
            for ends in (pair, pair[::-1]):
                slope[ends], delay[ends] = 1 / links[text].bytes_per_second, links[text].seconds
    different = {links[text] for text in chosen.values()} | ({link} if len(chosen) < m * (m - 1) // 2 else set())
    return transfers_over(different.pop()) if len(different) < 2 else Transfers(slope, delay)


def _pairs(text: str, kinds: Sequence[DeviceName], names: Sequence[str]) -> set[tuple[int, int]]:
    """The pairs of devices that `h100.0-t4` names, the lower number first."""
    words = text.split("-")
    if len(words) != 2:
        raise ValueError(f"link {text!r}: write the two devices that it joins, like {names[0]}-{names[-1]}")
    ends = [[i for i, name in enumerate(names) if word in (name, kinds[i])] for word in words]
    for word, devices in zip(words, ends, strict=True):
        if not devices:
            raise ValueError(f"link {text}: there is no device {word!r}; there are {', '.join(names)}")
    pairs = {(min(a, b), max(a, b)) for a in ends[0] for b in ends[1] if a != b}
    if not pairs:
        raise ValueError(f"link {text}: this is a single device; name two of {', '.join(names)}")
    return pairs
