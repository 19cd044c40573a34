"""A sample of the ten thousand damaged inputs of `benchmarks/malformed.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.malformed import batch
from tests.blocks.corpus.malformed import ELF_FAULTS, inputs, sound_files


@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_inputs_are_used_or_named(tmp_path: Path, seed: int) -> None:
    outcomes, slowest = batch(list(inputs(seed, 150, sound_files())), tmp_path)
    assert slowest < 60  # seconds: no hang; the first input may wait for numba's compiler
    # The sample is meaningful: most faults are detected, for several reasons, and some do no harm.
    assert outcomes["used"] > 20 and len(outcomes) > 8
    assert outcomes["truncated or damaged ELF file"] > 20


def test_every_fault_is_among_them() -> None:
    faults = {fault for _, fault, _ in inputs(0, 100, sound_files()[2:])}
    assert faults == {"wrong_csv", *(fault.__name__ for fault in ELF_FAULTS)}
