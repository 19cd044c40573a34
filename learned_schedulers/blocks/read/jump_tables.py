"""Jump tables of relocatable objects: the labels in code that they lead to.

GCC and Clang write tables of distances, `.long label - table`, into the data of position-independent code. The
relocation of entry k then leads to `label + 4 * k`: the begin of the table must be known, and the code that uses the
table refers to it. Tables of addresses, `.quad label`, show their labels directly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.read.elf_code import Code
from learned_schedulers.blocks.read.elf_image import Image
from learned_schedulers.blocks.read.elf_layout import NOWHERE
from learned_schedulers.blocks.read.elf_relocations import R_32, R_32S, R_64, R_PC32, R_PC64, Relocations
from learned_schedulers.blocks.read.unwinding import Functions


class Labels(NamedTuple):
    """What the data of an object says of places in its code."""

    positions: np.ndarray  # int64: places that tables lead to
    unknown: np.ndarray  # int64: positions of the sections of code that an entry leads to, but nobody knows where
    entries: np.ndarray  # (R,) bool: the relocation is an entry of a table of a switch in the function that it leads to


def function_at(functions: Functions, positions: np.ndarray) -> np.ndarray:
    """Index of the function that contains each position, int64; -1 for none."""
    if len(functions.begin) == 0:
        return np.full(len(positions), -1, np.int64)
    index = np.searchsorted(functions.begin, positions, "right") - 1
    return np.where((index >= 0) & (positions < functions.end[index]), index, -1)


def labels(
    image: Image, functions: Functions, code: Code, relocations: Relocations, component: np.ndarray, jumps: np.ndarray
) -> Labels:
    """Labels in the code of an object.

    component: (F,) int64, equal for functions that jump to each other's inside. jumps: (F,) bool, functions with an
    indirect jump.
    """
    size = len(image.code)
    skipped = [k for k, section in enumerate(image.sections) if section.name.startswith((".debug", ".eh_frame"))]
    in_data = (relocations.place >= size) & ~np.isin(relocations.section, skipped)
    in_data &= (relocations.symbol >= 0) & (relocations.symbol < size)
    by_address = in_data & np.isin(relocations.kind, (R_64, R_32, R_32S))
    by_distance = in_data & relocations.local & np.isin(relocations.kind, (R_PC32, R_PC64))
    bases, users = _references(code, relocations, size)
    switching = np.unique(component[jumps])

    def of_switch(targets: np.ndarray, base: np.ndarray) -> np.ndarray:
        """Whether a function that refers to the base of each entry is that of its target."""
        into = function_at(functions, targets)
        right = (base != NOWHERE) & (code.at(targets) >= 0)
        for k in np.flatnonzero(right).tolist():
            right[k] = any(component[f] == component[into[k]] for f in users[int(base[k])])
        return right

    entries = np.zeros(len(relocations.place), bool)
    rows, base = _with_bases(relocations, np.flatnonzero(by_address), bases)
    targets = relocations.target[rows]
    right = of_switch(targets, base)
    right &= np.isin(component[function_at(functions, targets)], switching)
    entries[rows[right]] = True
    pointers = relocations.target[by_address]

    rows, base = _with_bases(relocations, np.flatnonzero(by_distance), bases)
    label = relocations.target[rows] - (relocations.place[rows] - base)
    right = of_switch(label, base) & (relocations.kind[rows] == R_PC32)
    entries[rows[right]] = np.isin(component[function_at(functions, label[right])], switching)
    unknown = np.unique(relocations.symbol[rows[~right]])
    return Labels(np.r_[pointers, label[right]], unknown, entries)


def _with_bases(relocations: Relocations, rows: np.ndarray, bases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Entries by their places, and the place of the run of entries that code refers to; NOWHERE if there is none."""
    rows = rows[np.argsort(relocations.place[rows], kind="stable")]
    if len(rows) == 0:
        return rows, np.zeros(0, np.int64)
    place = relocations.place[rows]
    width = np.where(np.isin(relocations.kind[rows], (R_64, R_PC64)), 8, 4)
    begins = np.r_[True, np.diff(place) != width[:-1]]
    run = place[np.flatnonzero(begins)][np.cumsum(begins) - 1]  # where the run of entries of each one begins
    nearest = np.searchsorted(bases, place, "right") - 1
    base = np.where(nearest >= 0, bases[nearest.clip(min=0)] if len(bases) else NOWHERE, NOWHERE)
    return rows, np.where(base >= run, base, NOWHERE)


def _references(code: Code, relocations: Relocations, size: int) -> tuple[np.ndarray, dict[int, set[int]]]:
    """Places in data that code refers to, sorted int64, and the functions that refer to each."""
    near = np.flatnonzero(code.refers >= size)
    fixed = np.flatnonzero(
        (code.relocation >= 0) & (relocations.target >= size) & np.isin(relocations.kind, (R_64, R_32, R_32S))
    )
    places = np.r_[code.refers[near], relocations.target[fixed]]
    users: dict[int, set[int]] = {}
    functions = np.r_[code.function[near], code.function[code.relocation[fixed]]]
    for place, function in zip(places.tolist(), functions.tolist(), strict=True):
        users.setdefault(place, set()).add(function)
    return np.array(sorted(users), np.int64), users
