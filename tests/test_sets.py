"""The sets of params.yaml: what is said to be fresh is read by nothing else."""

from __future__ import annotations

from itertools import product

import pandas as pd
import pytest

from pipeline.corpus.sets import members
from pipeline.lab.config import params

PARAMS = params.load()
FRESH = ["fresh_10_40", "fresh_programs_10_40"]
PROGRAMS = ["Core", "Gui", "Widgets", "WebEngineCore", "Qml"]


def universe() -> pd.DataFrame:
    """A block for each share, source, program and some lengths: ids begin with the share, in steps of 1/200."""
    rows = [
        (f"{share:08x}{number:08x}", source, f"opt/lib/libQt5{program}.so.5", length)
        for number, (share, source, program, length) in enumerate(
            product(range(200), ["qt56", "ffprobe"], PROGRAMS, [5, 10, 12, 40])
        )
    ]
    return pd.DataFrame(rows, columns=["block_id", "source", "program", "n_instructions"])


BLOCKS = universe()


def blocks_of(name: str) -> set[str]:
    """Of a set that is not held out: POCSNet's test blocks have five instructions, and so are in no fresh set."""
    return set(BLOCKS["block_id"].to_numpy()[members(BLOCKS, PARAMS.sets[name], pd.Series([], dtype=str))])


@pytest.mark.parametrize("fresh", FRESH)
def test_no_other_set_has_a_fresh_block(fresh: str) -> None:
    blocks = blocks_of(fresh)
    assert len(blocks) >= 6
    sources = {*PARAMS.sets[fresh].sources}
    for name, chosen in PARAMS.sets.items():
        if name != fresh and not chosen.held_out and sources & {*chosen.sources}:
            assert not blocks & blocks_of(name), f"{name} reads blocks of {fresh}"


@pytest.mark.parametrize("fresh", FRESH)
def test_one_experiment_alone_reads_a_fresh_set(fresh: str) -> None:
    readers = [name for name, chosen in PARAMS.experiments.items() if fresh in chosen.sets]
    assert readers == ["schedulers"]
    learned = [
        split
        for chosen in PARAMS.experiments.values()
        for model in getattr(chosen, "models", {}).values()
        for split in (getattr(model, "training", ""), getattr(model, "development", ""))
    ]
    assert fresh not in learned


def test_blocks_of_five_instructions_are_in_no_fresh_set() -> None:
    """POCSNet's splits draw from all shares, but blocks of this length alone."""
    for fresh in FRESH:
        low, high = PARAMS.sets[fresh].lengths
        assert not low <= PARAMS.split.n_instructions <= high
