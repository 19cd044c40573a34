"""Further decoders of a pointer's scores, which no training needs: a beam, and orders drawn from the network.

The decoder that measures a training is the head's own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from learned_schedulers.blocks.models import beam, greedy
from learned_schedulers.blocks.models.greedy import Scores
from learned_schedulers.blocks.models.pointer import Pointer
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.relations import Relations

# decode(head, scores, problems, related, rng) returns orders (B, n); `scores` is the result of `head.output`.
Decoder = Callable[[Pointer, Scores, Problems, Relations, np.random.Generator], np.ndarray]


def _beam(
    head: Pointer, scores: Scores, problems: Problems, related: Relations, rng: np.random.Generator
) -> np.ndarray:
    return beam.decode(problems, related, scores, head.beam)


def _sample(
    head: Pointer, scores: Scores, problems: Problems, related: Relations, rng: np.random.Generator
) -> np.ndarray:
    size, n = scores.base.shape
    return greedy.decode(problems, related, scores, rng.gumbel(size=(size, n, n)))


DECODERS: dict[str, Decoder] = {"beam": _beam, "sample": _sample}
