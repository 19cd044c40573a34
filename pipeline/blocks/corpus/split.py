"""The random split of the blocks into training, development and test."""

from __future__ import annotations

import numpy as np

from pipeline.config.sets import Split


class TooFewBlocks(ValueError):
    """The corpus has fewer blocks than the splits need."""


def draw(block_ids: list[str], settings: Split) -> dict[str, list[str]]:
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
    shuffled = np.random.default_rng(settings.seed).permutation(sorted(block_ids))
    bounds = np.cumsum([0, *sizes.values()])
    return {name: sorted(shuffled[a:b]) for name, a, b in zip(sizes, bounds[:-1], bounds[1:], strict=True)}
