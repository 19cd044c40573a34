"""The random split of the blocks into training, development and test."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.lab.config.sets import Split


class TooFewBlocks(ValueError):
    """The corpus has fewer blocks than the splits need."""


def draw(block_ids: pa.StringArray, settings: Split) -> dict[str, list[str]]:
    """Disjoint random splits of distinct blocks: `test`, `development` and `training`, in that order.

    Block ids are hashes of the masked code, so no block has an equal one in another split. The result depends
    on the set of ids and the seed alone. Raises TooFewBlocks if the corpus is smaller than the splits together.
    """
    sizes = {"test": settings.test, "development": settings.development, "training": settings.training}
    if len(block_ids) < sum(sizes.values()):
        raise TooFewBlocks(
            f"split.* asks for {sum(sizes.values())} blocks of {settings.n_instructions} instructions, the corpus "
            f"has {len(block_ids)}; lower split.training, split.development or split.test, or name more split.sources"
        )
    ascending = pc.sort_indices(block_ids).to_numpy()
    # Numbers are shuffled, not the ids: eight bytes for each of millions of blocks, in place of an object.
    shuffled = ascending[np.random.default_rng(settings.seed).permutation(len(block_ids))]
    bounds = np.cumsum([0, *sizes.values()])
    return {
        name: sorted(block_ids.take(pa.array(shuffled[low:high])).to_pylist())
        for name, low, high in zip(sizes, bounds[:-1], bounds[1:], strict=True)
    }
