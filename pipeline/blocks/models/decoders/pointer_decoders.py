"""Decoders of a pointer's scores: a beam, and orders drawn from the network's distribution."""

from __future__ import annotations

import numpy as np

from pipeline.blocks.models import greedy
from pipeline.blocks.models.decoders import Decoder, beam
from pipeline.blocks.models.greedy import Scores
from pipeline.blocks.models.heads.pointer import Pointer
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.problems.relations import Relations


def _beam(
    head: Pointer, scores: Scores, problems: Problems, related: Relations, rng: np.random.Generator
) -> np.ndarray:
    return beam.decode(problems, related, scores, head.beam)


def _sample(
    head: Pointer, scores: Scores, problems: Problems, related: Relations, rng: np.random.Generator
) -> np.ndarray:
    size, n = scores.base.shape
    return greedy.decode(problems, related, scores, rng.gumbel(size=(size, n, n)))


def draws(
    head: Pointer, scores: Scores, problems: Problems, related: Relations, rng: np.random.Generator, count: int
) -> np.ndarray:
    """The greedy order, then count - 1 orders drawn from the network's distribution, (B, count, n)."""
    drawn = [_sample(head, scores, problems, related, rng) for _ in range(count - 1)]
    return np.stack([head.decode(scores, problems, related), *drawn], axis=1)


DECODERS: dict[str, Decoder] = {"beam": _beam, "sample": _sample}
