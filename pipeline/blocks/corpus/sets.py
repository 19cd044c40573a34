"""Named sets of blocks: for training, tuning and testing, by block and by program."""

from __future__ import annotations

from fnmatch import fnmatchcase

import numpy as np
import pandas as pd

from pipeline.config.sets import BlockSet

_PARTS = 200


def share_of(block_ids: pd.Series) -> np.ndarray:
    """Where each block stands in [0, 1), in steps of 1/200: its id is a hash of its masked code.

    So a block keeps its place when sources are added, and equal blocks, which are one, cannot be torn apart.
    """
    return np.array([int(block_id[:8], 16) % _PARTS / _PARTS for block_id in block_ids])


def members(blocks: pd.DataFrame, chosen: BlockSet, held_out: pd.Series) -> np.ndarray:
    """Rows of table `blocks` (block_id, source, program, n_instructions) that belong to a set, rising.

    held_out: ids of POCSNet's test blocks. Raises ValueError for an empty set.
    """
    low, high = chosen.share
    shortest, longest = chosen.lengths
    programs = blocks["program"].astype("category")
    wanted = [
        any(fnmatchcase(name, p) for p in chosen.programs) and not any(fnmatchcase(name, p) for p in chosen.without)
        for name in programs.cat.categories
    ]
    share = share_of(blocks["block_id"])
    rows = np.flatnonzero(
        blocks["source"].isin(chosen.sources)
        & np.array(wanted, bool)[programs.cat.codes]
        & blocks["n_instructions"].between(shortest, longest)
        & (share >= low)
        & (share < high)
        & (blocks["block_id"].isin(held_out) == chosen.held_out)
    )
    if not len(rows):
        raise ValueError(f"a set has no block: {chosen}; widen its share, or name more sources and programs")
    return rows
