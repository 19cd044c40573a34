"""Further decoders of a head's output, which no training needs. The decoder that measures a training is in its head.

Decoders of soft assignments (B, n, n), instruction x slot, are those of `operators`; `hungarian` may violate
dependencies. Decoders of a pointer's scores are a beam, and orders drawn from the network's distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from learned_schedulers.blocks.models import beam, greedy
from learned_schedulers.blocks.models.greedy import Scores
from learned_schedulers.blocks.models.heads import Head
from learned_schedulers.blocks.models.heads.pointer import Pointer
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.relations import Relations
from learned_schedulers.operators.greedy import expected_slots, topological_fill
from learned_schedulers.operators.matching import hungarian
from learned_schedulers.operators.orders import PartialOrders, partial_orders

# decode(head, output, problems, related, rng) returns orders (B, n); `output` is the result of `head.output`.
Decoder = Callable[[Any, Any, Problems, Relations, np.random.Generator], np.ndarray]


def _of_assignments(operator: Callable[[np.ndarray, PartialOrders], np.ndarray]) -> Decoder:
    def decode(
        head: object, matrix: torch.Tensor, problems: Problems, related: Relations, rng: np.random.Generator
    ) -> np.ndarray:
        return operator(matrix.cpu().numpy(), partial_orders(problems.precedes))

    return decode


def _beam(
    head: Pointer, scores: Scores, problems: Problems, related: Relations, rng: np.random.Generator
) -> np.ndarray:
    return beam.decode(problems, related, scores, head.beam)


def _sample(head: Head, scores: Scores, problems: Problems, related: Relations, rng: np.random.Generator) -> np.ndarray:
    size, n = scores.base.shape
    return greedy.decode(problems, related, scores, rng.gumbel(size=(size, n, n)))


_ASSIGNMENTS: dict[str, Decoder] = {
    "topological": _of_assignments(topological_fill),
    "expected_slots": _of_assignments(expected_slots),
    "hungarian": _of_assignments(lambda matrix, orders: hungarian(matrix)),
}
DECODERS: dict[str, dict[str, Decoder]] = {  # by the kind of the head
    "pairwise": {},
    "pointer": {"beam": _beam, "sample": _sample},
    "popocs": _ASSIGNMENTS,
    "sinkhorn": _ASSIGNMENTS,
}
