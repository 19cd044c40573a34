from __future__ import annotations

import io

from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from pipeline.corpus.eh_frame import EhFrameError, function_ranges, relocated_functions
from tests.corpus.conftest import build

FUNCTIONS = [(0, 4), (8, 12), (12, 16)]


def test_ranges_are_virtual_addresses() -> None:
    section = ELFFile(io.BytesIO(build(b"\x90" * 16, FUNCTIONS))).get_section_by_name(".eh_frame")
    found = function_ranges(section.data(), section["sh_addr"])
    assert found.tolist() == [[0x401000 + begin, 0x401000 + end] for begin, end in FUNCTIONS]


def test_an_object_file_leaves_the_begin_to_relocations() -> None:
    elf = ELFFile(io.BytesIO(build(b"\x90" * 16, FUNCTIONS, kind="rel")))
    found = relocated_functions(elf.get_section_by_name(".eh_frame").data())
    relocated = [r["r_offset"] for r in elf.get_section_by_name(".rela.eh_frame").iter_relocations()]
    assert found == [(place, end - begin) for place, (begin, end) in zip(relocated, FUNCTIONS, strict=True)]


@given(st.binary(max_size=80))
def test_random_bytes(data: bytes) -> None:
    try:
        assert function_ranges(data, 0).shape[1] == 2
    except EhFrameError as error:
        assert str(error)
