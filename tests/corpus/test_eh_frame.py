from __future__ import annotations

from pathlib import Path

import pytest
from elftools.dwarf.callframe import FDE
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from pipeline.corpus.eh_frame import EhFrameError, function_ranges

TINY = Path(__file__).parents[1] / "tiny"


@pytest.mark.parametrize("name", ["tiny1.so", "tiny2.so"])
def test_agrees_with_pyelftools(name: str) -> None:
    with (TINY / name).open("rb") as file:
        elf = ELFFile(file)
        entries = elf.get_dwarf_info().EH_CFI_entries()
        section = elf.get_section_by_name(".eh_frame")
        found = function_ranges(section.data(), section["sh_addr"])
    expected = [
        [e["initial_location"], e["initial_location"] + e["address_range"]] for e in entries if isinstance(e, FDE)
    ]
    assert found.tolist() == expected


@given(st.binary(max_size=80))
def test_random_bytes(data: bytes) -> None:
    try:
        assert function_ranges(data, 0).shape[1] == 2
    except EhFrameError as error:
        assert str(error)


def test_absolute_pointers() -> None:
    common = bytes.fromhex("0c000000 00000000 01 00 01 78 10 000000".replace(" ", ""))  # no augmentation
    entry = bytes.fromhex("14000000 14000000 0010000000000000 2000000000000000".replace(" ", ""))
    assert function_ranges(common + entry, 0x5000).tolist() == [[0x1000, 0x1020]]
