"""Functions -> basic blocks: runs of instructions that execute together, first to last.

A block is a maximal run of plain instructions of one function that no direct branch of the file
leads into. Jump tables do not show in the code; a block may still hold one of their targets.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from pipeline.corpus.elf import CodeSection, Image
from pipeline.corpus.instructions import Instructions, decode, joined
from pipeline.corpus.leaks import masked


@dataclass(frozen=True)
class Cuts:
    """The blocks of one section; arrays of the same length, ascending."""

    begin: np.ndarray  # int64, address
    end: np.ndarray  # int64, address behind the last instruction
    n_instructions: np.ndarray  # int64


def cut(found: Instructions, targets: np.ndarray) -> Cuts:
    """Blocks of any length. `targets`: int64, the addresses that direct branches lead to, sorted."""
    plain = found.plain()
    if not plain.any():
        nothing = np.empty(0, dtype=np.int64)
        return Cuts(nothing, nothing, nothing)
    at = np.minimum(np.searchsorted(targets, found.address), max(len(targets) - 1, 0))
    is_target = targets[at] == found.address if len(targets) else np.zeros(len(plain), dtype=bool)
    follows = np.r_[False, plain[:-1]] & ~found.opens_function & ~is_target
    starts = np.flatnonzero(plain & ~follows)
    n_instructions = np.add.reduceat(plain, starts, dtype=np.int64)
    last = starts + n_instructions - 1
    return Cuts(found.address[starts], found.address[last] + found.length[last], n_instructions)


def _spaces(image: Image) -> list[list[CodeSection]]:
    """Sections that share an address space."""
    return [[section] for section in image.sections] if image.relocatable else [image.sections]


def blocks(
    image: Image, min_instructions: int, max_instructions: int, progress: tqdm[Any] | None = None
) -> Iterator[tuple[str, int, int, bytes, bytes]]:
    """Every block as (section, address, n_instructions, code, masked code), ascending within a section.

    `progress` counts bytes of code.
    """
    for space in _spaces(image):
        decoded = []
        for section in space:
            portions = []
            for portion in decode(section):
                portions.append(portion)
                if progress is not None:
                    progress.update(int(portion.length.sum()))
            decoded.append(joined(portions))
        targets = np.unique(np.concatenate([found.target[found.target > 0] for found in decoded]))
        for section, found in zip(space, decoded, strict=True):
            cuts = cut(found, targets)
            hidden = masked(section, found, image.absolute)
            wanted = (cuts.n_instructions >= min_instructions) & (cuts.n_instructions <= max_instructions)
            for begin, end, n in zip(
                (cuts.begin[wanted] - section.address).tolist(),
                (cuts.end[wanted] - section.address).tolist(),
                cuts.n_instructions[wanted].tolist(),
                strict=True,
            ):
                yield section.name, begin + section.address, n, section.code[begin:end], hidden[begin:end]


def block_id(masked_code: bytes) -> str:
    """32 hex digits: BLAKE2b of the masked bytes."""
    return hashlib.blake2b(masked_code, digest_size=16).hexdigest()


class Collection:
    """Blocks of many files, one of those that are equal after masking: the first that was added."""

    def __init__(self) -> None:
        self._row: dict[bytes, int] = {}
        self._rows: list[tuple[str, str, str, str, int, int, bytes, bytes]] = []
        self._occurrences: list[int] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, source: str, program: str, compiler: str, found: Iterator[tuple[str, int, int, bytes, bytes]]) -> int:
        """Take in the blocks of one file; returns how many there were, repeated ones included."""
        row, rows, occurrences = self._row, self._rows, self._occurrences
        count = 0
        for section, address, n, code, hidden in found:
            count += 1
            place = row.setdefault(hidden, len(rows))
            if place == len(rows):
                rows.append((source, program, compiler, section, address, n, code, hidden))
                occurrences.append(1)
            else:
                occurrences[place] += 1
        return count

    def frame(self) -> pd.DataFrame:
        """Table `blocks`, sorted by block_id."""
        columns = ["source", "program", "compiler", "section", "address", "n_instructions", "code", "masked_code"]
        frame = pd.DataFrame(self._rows, columns=columns)
        frame["block_id"] = [block_id(code) for code in frame["masked_code"]]
        frame["occurrences"] = self._occurrences
        return frame.sort_values("block_id", ignore_index=True)


def deduplicated(shards: list[pd.DataFrame]) -> pd.DataFrame:
    """One row per block_id: the first by (source, program, section, address), `occurrences` summed.

    Sorted by block_id; does not depend on how the files were dealt to shards.
    """
    frame = pd.concat(shards, ignore_index=True)
    occurrences = frame.groupby("block_id")["occurrences"].sum()
    frame = frame.sort_values(["block_id", "source", "program", "section", "address"])
    frame = frame.drop_duplicates("block_id", ignore_index=True)
    return frame.assign(occurrences=frame["block_id"].map(occurrences).to_numpy())
