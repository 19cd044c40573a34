"""Decoders of soft assignments (B, n, n), instruction x slot; `hungarian` may violate dependencies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from pipeline.blocks.models.decoders import Decoder
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.problems.relations import Relations
from pipeline.operators.greedy import expected_slots, topological_fill
from pipeline.operators.matching import hungarian
from pipeline.operators.orders import PartialOrders, partial_orders


def _decoder(operator: Callable[[np.ndarray, PartialOrders], np.ndarray]) -> Decoder:
    def decode(
        head: object, matrix: torch.Tensor, problems: Problems, related: Relations, rng: np.random.Generator
    ) -> np.ndarray:
        return operator(matrix.cpu().numpy(), partial_orders(problems.precedes))

    return decode


DECODERS: dict[str, Decoder] = {
    "topological": _decoder(topological_fill),
    "expected_slots": _decoder(expected_slots),
    "hungarian": _decoder(lambda matrix, orders: hungarian(matrix)),
}
