"""Named sets of blocks: for training, tuning and testing, by block and by program."""

from __future__ import annotations

from fnmatch import fnmatchcase

import numpy as np
import pandas as pd

from pipeline.lab.config.sets import BlockSet

_PARTS = 200


def share_of(block_ids: pd.Series) -> np.ndarray:
    """The position of each block in [0, 1), in steps of 1/200, from its id, which is a hash of its masked code.

    A block keeps its position when sources are added, and equal blocks have the same position.
    """
    return np.array([int(block_id[:8], 16) % _PARTS / _PARTS for block_id in block_ids])


def members(blocks: pd.DataFrame, block_set: BlockSet, held_out: pd.Series) -> np.ndarray:
    """Rows of table `blocks` (block_id, source, program, n_instructions) that belong to a set, in ascending order.

    held_out: ids of POCSNet's test blocks. Raises ValueError for an empty set.
    """
    low, high = block_set.share
    shortest, longest = block_set.lengths
    programs = blocks["program"].astype("category")
    in_set = [
        any(fnmatchcase(name, pattern) for pattern in block_set.programs)
        and not any(fnmatchcase(name, pattern) for pattern in block_set.without)
        for name in programs.cat.categories
    ]
    share = share_of(blocks["block_id"])
    rows = np.flatnonzero(
        blocks["source"].isin(block_set.sources)
        & np.array(in_set, bool)[programs.cat.codes]
        & blocks["n_instructions"].between(shortest, longest)
        & (share >= low)
        & (share < high)
        & (blocks["block_id"].isin(held_out) == block_set.held_out)
    )
    if not len(rows):
        raise ValueError(f"a set contains no block: {block_set}; widen its share, or name more sources and programs")
    return rows
