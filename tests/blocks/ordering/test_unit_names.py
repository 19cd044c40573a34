"""Names of units are llvm-mca's."""

from __future__ import annotations

import json
import subprocess

import pytest

from pipeline.blocks.ordering.targets import TARGETS, Target
from pipeline.blocks.ordering.unit_names import UNIT_NAMES, unit_names


@pytest.mark.parametrize("target", TARGETS)
def test_they_are_those_of_llvm_mca(target: Target, binary: str) -> None:
    command = [binary, f"-mcpu={target}", "-mtriple=x86_64-unknown-unknown", "-json"]
    output = subprocess.run(command, input="nop\n", capture_output=True, text=True, check=True).stdout
    names = json.loads(output)["TargetInfo"]["Resources"]
    # LLVM numbers units of one name by a last byte that is not printable.
    assert list(UNIT_NAMES[target]) == ["".join(c if c.isprintable() else str(ord(c)) for c in name) for name in names]


@pytest.mark.parametrize(
    ("target", "units", "text"),
    [
        ("haswell", 0, ""),
        ("haswell", 0b100, "HWPort0"),
        ("haswell", 0b10_1100, "HWPort{0,1,3}"),
        ("haswell", 0b101, "HWDivider, HWPort0"),
        ("znver4", 0b11 << 12 | 1 << 3, "Zn4ALU0, Zn4FP45.{0,1}"),
    ],
)
def test_sets_are_short(target: Target, units: int, text: str) -> None:
    assert unit_names(target, units) == text
