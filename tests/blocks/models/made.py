"""Small blocks of random instructions, for tests of networks and schedulers."""

from __future__ import annotations

import numpy as np

from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.blocks.models.pocsnet_settings import Training
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.token_blocks import Blocks, TokenTrie

SETTINGS = Training(
    operator="popocs",
    method="cyclic",
    proposal="sinkhorn",
    iterations=20,
    loss="cross_entropy",
    floor=0.02,
    optimiser="adam",
    learning_rate=0.01,
    decay="cosine",
    batch_size=16,
    steps=12,
    hidden=16,
)


def blocks(size: int, n: int = 5, seed: int = 0, n_tokens: int = 9) -> Blocks:
    """Random DAGs over instructions of one to four tokens, in ascending order of their first token."""
    rng = np.random.default_rng(seed)
    nodes: dict[tuple[int, int], int] = {}
    paths = np.full((size, n, 4), -1, np.int32)
    for instruction in paths.reshape(-1, 4):
        parent = -1
        for depth in range(rng.integers(1, 5)):
            parent = nodes.setdefault((parent, int(rng.integers(2, n_tokens))), len(nodes))
            instruction[depth] = parent
    first = np.array([token for _, token in nodes])[paths[:, :, 0]]
    paths = np.take_along_axis(paths, first.argsort(1, kind="stable")[:, :, None], 1)  # an order that can be learned
    precedes = np.triu(rng.random((size, n, n)) < 0.2, 1)
    kinds = rng.integers(1, 512, (size, n, n)).astype(np.uint16)
    instructions = np.arange(size * n, dtype=np.int32).reshape(size, n)
    latencies = rng.integers(1, 6, (size, n)).astype(np.int16)
    problems = Problems(precedes, latencies, np.where(precedes, kinds, 0).astype(np.uint16), instructions)
    order = random_ready(precedes, rng)
    trie = TokenTrie(paths.reshape(size * n, -1), np.array([token for _, token in nodes], np.int64), n_tokens)
    return Blocks([f"{i:032x}" for i in range(size)], problems, order, trie)
