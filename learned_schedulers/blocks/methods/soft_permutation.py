"""A trained POCSNet. Its operator may run for more iterations than in training (POCSNet, table 1)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from learned_schedulers.blocks.method_settings import SoftPermutation as Settings
from learned_schedulers.blocks.methods import Budget, Solution
from learned_schedulers.blocks.models.pocsnet import POCSNet, assign
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.token_blocks import TokenTrie
from learned_schedulers.operators.decoding import best_order, expected_slots, hungarian, topological_fill
from learned_schedulers.operators.orders import partial_orders


class SoftPermutation:
    """Hungarian decoding as in the paper, and three decoders that are legal by construction."""

    def __init__(self, settings: Settings, weights: Path, tokens: TokenTrie) -> None:
        self._model, self._trie = POCSNet.load(weights), tokens
        self._iterations = settings.iterations or self._model.settings.iterations

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        n = problems.latencies.shape[1]
        if n != self._model.n:
            message = f"the network takes blocks of {self._model.n} instructions, not of {n}"
            return Solution.unsupported(problems, [message] * len(problems))
        matrix = assign(self._model, problems, self._trie, self._iterations)
        orders = partial_orders(problems.precedes)
        return Solution.of(
            {
                "hungarian": hungarian(matrix),
                "topological": topological_fill(matrix, orders),
                "expected_slots": expected_slots(matrix, orders),
                "best": best_order(matrix, orders).order,
            }
        )


make = SoftPermutation
