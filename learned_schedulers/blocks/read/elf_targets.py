"""Where control, or a tool that reads addresses, may arrive in the code of an ELF file: blocks are cut there."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from elftools.elf.sections import NoteSection

from learned_schedulers.blocks.read.elf_code import Code, signed
from learned_schedulers.blocks.read.elf_image import Image
from learned_schedulers.blocks.read.elf_layout import NOWHERE
from learned_schedulers.blocks.read.elf_relocations import PC_RELATIVE, Relocations
from learned_schedulers.blocks.read.elf_symbols import Symbols
from learned_schedulers.blocks.read.forms import Forms

# Debuggers' tables are no arrivals, apart from lines, which are read from `.debug_line`.
_FOR_DEBUGGERS = (".debug", ".stab", ".gdb_index")
# Bytes from the begin of a distance to the end of its instruction: the field, and immediates of 0, 1, 2 and 4 bytes.
_TO_THE_END = (4, 5, 6, 8)
_SHORT, _NEAR_BYTES = 2, 4  # bytes of a short branch, and of a near one's distance


def possible_branches(code: np.ndarray, unread: np.ndarray) -> np.ndarray:
    """Targets of what could be direct branches or calls at any byte of code that is not understood, int64 positions.

    unread: (bytes,) bool. Data and code cannot be told apart there, so every byte may begin an instruction.
    """
    places = np.flatnonzero(unread)
    padded = np.r_[code, np.zeros(8, np.uint8)]
    opcode, following = padded[places], padded[places + 1]
    short = places[((opcode & 0xF0) == 0x70) | (opcode == 0xEB) | ((opcode & 0xFC) == 0xE0)]
    near = places[(opcode & 0xFE) == 0xE8]
    condition = places[((opcode == 0x0F) & ((following & 0xF0) == 0x80)) | ((opcode == 0xC7) & (following == 0xF8))]
    return np.concatenate(
        [
            short + _SHORT + signed(padded, short + 1, 1),
            near + 1 + _NEAR_BYTES + signed(padded, near + 1, 4),
            condition + 2 + _NEAR_BYTES + signed(padded, condition + 2, 4),
        ]
    )


def _of_relocations(image: Image, code: Code, relocations: Relocations) -> np.ndarray:
    """Positions that relocations lead to. Those of distances in instructions are in `Code` already."""
    debugging = [k for k, section in enumerate(image.sections) if section.name.startswith(_FOR_DEBUGGERS)]
    led = (relocations.target != NOWHERE) & ~np.isin(relocations.section, debugging)
    relative = np.isin(relocations.kind, PC_RELATIVE)
    in_unread_code = (relocations.place >= 0) & (relocations.place < len(image.code)) & (code.relocation < 0)
    unclear = relocations.target[led & relative & in_unread_code & image.relocatable]
    targets = relocations.target[led & ~(relative & (code.relocation >= 0))]
    return np.concatenate([targets, *(unclear + distance for distance in _TO_THE_END)])


def _of_constants(image: Image, code: Code, forms: Forms) -> np.ndarray:
    """Constants in instructions of a program that is loaded at a fixed address, as positions."""
    facts, positions = forms.facts[code.decoded.form], []
    for name in ("displacement", "immediate"):
        for size in (4, 8):
            rows = np.flatnonzero((facts[f"{name}_bytes"] == size) & (facts["branch_bytes"] == 0))
            numbers = signed(image.code, code.start[rows] + facts[f"{name}_at"][rows], size)
            positions.append(np.clip(numbers, -(1 << 62), 1 << 62) - image.address)
    return np.concatenate(positions)


def numbers_at_every_byte(content: bytes, offset: int, size: int, width: int) -> np.ndarray:
    """The little-endian signed numbers of `width` bytes that begin at each byte of a part of a file, int64.

    Tables are not always aligned: those that people write by hand, or packed structures.
    """
    count = max(size - width + 1, 0)
    numbers: np.ndarray = np.ndarray((count,), f"<i{width}", content, offset if count else 0, (1,)).astype(np.int64)
    return numbers


def _of_data(image: Image, content: bytes) -> np.ndarray:
    """Words in the data of a program that is loaded at a fixed address, as positions."""
    positions = [np.zeros(0, np.int64)]
    for section, base in zip(image.sections, image.bases.tolist(), strict=True):
        if base != NOWHERE and section["sh_type"] not in ("SHT_NOBITS", "SHT_NULL"):
            values = numbers_at_every_byte(content, section["sh_offset"], section["sh_size"], 8)
            positions.append(values[(values >= image.address) & (values - image.address < len(image.code))])
    return np.concatenate(positions) - image.address


def probe_places(image: Image) -> np.ndarray:
    """Places of static probes (`.note.stapsdt`), as positions, int64."""
    base_section = next((s for s in image.sections if s.name == ".stapsdt.base"), None)
    positions = []
    for section in image.sections:
        if isinstance(section, NoteSection) and section.name == ".note.stapsdt":
            for note in section.iter_notes():
                description = note["n_descdata"]
                if len(description) >= 16:
                    place, base = (int.from_bytes(description[k : k + 8], "little") for k in (0, 8))
                    moved = base_section["sh_addr"] - base if base_section is not None else 0
                    positions.append(place + moved - image.address)
    return np.array([position for position in positions if abs(position) < 1 << 62], np.int64)


def fixed_pointers(image: Image, content: bytes, code: Code, forms: Forms) -> np.ndarray:
    """Positions that constants of a program lead to which is loaded at a fixed address, int64; of others, none."""
    if image.movable:
        return np.zeros(0, np.int64)
    return np.concatenate([_of_constants(image, code, forms), _of_data(image, content)])


def arrivals(
    image: Image, code: Code, symbols: Symbols, relocations: Relocations, more: Iterable[np.ndarray]
) -> np.ndarray:
    """Whether control or a tool may arrive at each position, (bytes,) bool.

    more: further positions. Positions outside of the code are allowed everywhere.
    """
    sources = [code.to, code.refers, symbols.places, np.array([image.entry]), _of_relocations(image, code, relocations)]
    is_target = np.zeros(len(image.code), bool)
    for positions in [*sources, *more]:
        is_target[positions[(positions >= 0) & (positions < len(is_target))]] = True
    return is_target
