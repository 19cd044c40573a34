"""Named sets of blocks: by share, source, program and length."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pipeline.corpus.sets import members, share_of
from pipeline.lab.config.sets import BlockSet

RNG = np.random.default_rng(0)
BLOCKS = pd.DataFrame(
    {
        "block_id": [RNG.bytes(16).hex() for _ in range(4000)],
        "source": np.where(np.arange(4000) % 2, "qt", "ff"),
        "program": np.where(np.arange(4000) % 3, "lib/libGui.so", "lib/libCore.so"),
        "n_instructions": RNG.integers(2, 65, 4000),
    }
)
NO_IDS = pd.Series([], dtype=str)


def ids(held_out_ids: pd.Series = NO_IDS, **settings: object) -> set[str]:
    rows = members(BLOCKS, BlockSet.model_validate({"sources": ["qt"], **settings}), held_out_ids)
    return set(BLOCKS.block_id.iloc[rows])


def test_shares_partition_the_blocks() -> None:
    low, high = ids(share=[0.0, 0.3]), ids(share=[0.3, 1.0])
    assert not low & high
    assert low | high == set(BLOCKS.block_id[BLOCKS.source == "qt"])
    assert len(low) / 2000 == pytest.approx(0.3, abs=0.04)


def test_the_share_of_a_block_does_not_depend_on_other_blocks() -> None:
    share_of_block = dict(zip(BLOCKS.block_id, share_of(BLOCKS.block_id), strict=True))
    some_ids = BLOCKS.block_id[100:110]
    assert [share_of_block[block_id] for block_id in some_ids] == list(share_of(some_ids))


def test_sources_programs_and_lengths() -> None:
    selected = BLOCKS[BLOCKS.block_id.isin(ids(sources=["ff", "qt"], without=["*Gui*"], lengths=[4, 40]))]
    assert set(selected.source) == {"ff", "qt"}
    assert set(selected.program) == {"lib/libCore.so"}
    assert selected.n_instructions.between(4, 40).all()
    assert ids(programs=["*Gui*"]) | ids(without=["*Gui*"]) == ids()


def test_held_out_blocks_are_in_their_own_sets_alone() -> None:
    held_out = pd.Series(sorted(ids())[:50])
    assert ids(held_out, held_out=True) == set(held_out)
    assert not ids(held_out) & set(held_out)


def test_an_empty_set_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a set contains no block: .*; widen its share"):
        ids(programs=["*Quick*"])
