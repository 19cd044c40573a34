"""A trained POCSNet; its operator may run longer than in training (POCSNet, table 1)."""

from __future__ import annotations

import numpy as np
from safetensors.torch import load_file

from pipeline.blocks.models.pocsnet import POCSNet
from pipeline.blocks.models.pocsnet_training import assign
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.schedulers import Request
from pipeline.operators.decoding import best_order, expected_slots, hungarian, topological_fill
from pipeline.operators.orders import partial_orders


class Network:
    """Hungarian decoding as in the paper, and three decoders that are legal by construction."""

    def __init__(self, request: Request) -> None:
        if request.training is None or request.weights is None or request.blocks is None:
            raise ValueError("the scheduler `network` needs schedulers.<name>.model")
        blocks = request.blocks
        self.model = POCSNet(blocks.input_order.shape[1], blocks.trie.n_tokens, request.training)
        self.model.load_state_dict(load_file(request.weights))
        self.model.eval()
        self.iterations = request.settings.iterations or request.training.iterations
        self.trie = blocks.trie

    def schedule(self, problems: Problems, rng: np.random.Generator) -> dict[str, np.ndarray]:
        matrix = assign(self.model, problems, self.trie, self.iterations)
        orders = partial_orders(problems.precedes)
        return {
            "hungarian": hungarian(matrix),
            "topological": topological_fill(matrix, orders),
            "expected_slots": expected_slots(matrix, orders),
            "best": best_order(matrix, orders).order,
        }


make = Network
