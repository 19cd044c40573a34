from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from learned_schedulers.blocks.read import eh_frame
from learned_schedulers.blocks.read.eh_frame import EhFrameError, function_ranges
from tests.blocks.read.conftest import build

TINY = Path(__file__).parents[2] / "tiny"
FUNCTIONS = [(0, 4), (8, 12), (12, 16)]


def test_ranges_are_virtual_addresses() -> None:
    section = ELFFile(io.BytesIO(build(b"\x90" * 16, FUNCTIONS))).get_section_by_name(".eh_frame")
    ranges = function_ranges(section.data(), section["sh_addr"])
    assert ranges.tolist() == [[0x401000 + begin, 0x401000 + end] for begin, end in FUNCTIONS]


@given(st.binary(max_size=80))
def test_random_bytes(data: bytes) -> None:
    try:
        assert function_ranges(data, 0).shape[1] == 2
    except EhFrameError as error:
        assert str(error)


def compiled(name: str) -> tuple[bytes, int]:
    section = ELFFile((TINY / name).open("rb")).get_section_by_name(".eh_frame")
    return section.data(), section["sh_addr"]


def by_pyelftools(monkeypatch: pytest.MonkeyPatch, data: bytes, address: int) -> np.ndarray:
    with monkeypatch.context() as patch:
        patch.setattr(eh_frame, "_usual_entries", lambda _: None)
        return function_ranges(data, address)


@pytest.mark.parametrize("name", ["tiny1.so", "tiny2.so"])
def test_the_short_way_agrees_with_pyelftools(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    data, address = compiled(name)
    assert eh_frame._usual_entries(data) is not None
    ranges = by_pyelftools(monkeypatch, data, address)
    assert function_ranges(data, address).tolist() == ranges.tolist()
    assert len(ranges) > 100


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.integers(0, 399), st.integers(0, 255)), max_size=3), length=st.integers(0, 400))
def test_the_short_way_agrees_on_damaged_data(
    monkeypatch: pytest.MonkeyPatch, changes: list[tuple[int, int]], length: int
) -> None:
    """Both agree if pyelftools reads the data; it also reads the unwinding instructions and may fail on them."""
    data, address = bytearray(compiled("tiny1.so")[0][:400]), 0x1000
    for offset, value in changes:
        data[offset] = value
    shortened = bytes(data[:length])
    try:
        ranges = by_pyelftools(monkeypatch, shortened, address)
    except EhFrameError:
        return
    assert function_ranges(shortened, address).tolist() == ranges.tolist()


def test_other_encodings_are_left_to_pyelftools() -> None:
    # Version 1, "zR", code alignment 1, data alignment -8, return address 16, encoding: absolute, 64 bits.
    common = struct.pack("<II", 16, 0) + b"\x01zR\0\x01\x78\x10\x01\x00" + bytes(3)
    data = common + struct.pack("<IIQQ", 24, len(common) + 4, 0x401000, 0x20) + bytes(4)
    assert eh_frame._usual_entries(data) is None
    assert function_ranges(data, 0x500000).tolist() == [[0x401000, 0x401020]]
