"""Example blocks with their matrices before and after the operator, as in POCSNet's appendix."""

from __future__ import annotations

import numpy as np
import torch

from learned_schedulers.blocks.dag.topology import count_violations
from learned_schedulers.blocks.models.pocsnet import POCSNet, assign
from learned_schedulers.blocks.read import assembly
from learned_schedulers.operators.matching import hungarian
from pipeline.corpus.tables import BLOCKS
from pipeline.lab import tables
from pipeline.lab.stages import options
from pipeline.lab.stored_token_blocks import load_set
from pipeline.reproduction.tables import EXAMPLES

ITERATIONS = 20  # of the operator, as in the paper's appendix


def pick(exact: dict[str, np.ndarray], valid: dict[str, np.ndarray], loose: np.ndarray, count: int) -> list[int]:
    """Items to show, in turn: both networks reproduce it; POPOCS alone gives a legal order; both networks miss it.

    exact, valid: method -> (B,) bool; loose: (B,) bool, more than one legal order.
    """
    kinds = [
        loose & exact["sinkhorn"] & exact["popocs_20"],
        loose & ~valid["sinkhorn"] & valid["popocs_20"],
        loose & ~exact["sinkhorn"] & ~exact["popocs_20"],
    ]
    queues = [list(np.flatnonzero(kind)) for kind in kinds]
    chosen: list[int] = []
    while len(chosen) < count and any(queues):
        for queue in queues:
            candidates = [item for item in queue if item not in chosen]
            if candidates and len(chosen) < count:
                chosen.append(int(candidates[0]))
            queue[:] = candidates[1:]
    return chosen


def main(
    n_blocks: options.Shown,
    sinkhorn: options.Weights,
    popocs: options.Weights,
    chosen: options.Set,
    blocks: options.Blocks,
    dags: options.Dags,
    instructions: options.Instructions,
    tokens: options.Tokens,
    vocabulary: options.Vocabulary,
    examples: options.Out,
) -> None:
    """Write matrices before and after the operator, and the matched orders, for a few test blocks."""
    torch.set_num_threads(1)
    test = load_set(chosen, instructions, dags, tokens, vocabulary)
    shown = test.problems
    networks, matrices, exact, valid = {}, {}, {}, {}
    for name, weights in (("sinkhorn", sinkhorn), ("popocs_20", popocs)):
        networks[name] = POCSNet.load(weights)
        matrices[name] = assign(networks[name], shown, test.trie, ITERATIONS)
        order = hungarian(matrices[name]).astype(np.int64)
        exact[name] = (np.take_along_axis(test.input_order, order, 1) == np.arange(order.shape[1])).all(1)
        valid[name] = count_violations(shown.precedes, order) == 0
    # A block with fewer edges than a chain certainly has more than one legal order.
    items = pick(exact, valid, shown.precedes.sum((1, 2)) < test.input_order.shape[1] - 1, n_blocks)
    members = tables.of_blocks(test.block_ids[item] for item in items)
    code = tables.read(BLOCKS, blocks, ["block_id", "masked_code"], members).set_index("block_id").masked_code
    rows = []
    for item in items:
        block = test.block_ids[item]
        text = assembly.intel(code[block])
        before, after = shown.precedes[item].nonzero()
        for name, network in networks.items():
            with torch.no_grad():
                logits = network.logits(shown[item : item + 1], test.trie)
                proposal = network.proposal(logits) if name != "sinkhorn" else logits.softmax(-1)
            rows.append(
                {
                    "block_id": block,
                    "scheduler": name,
                    "instructions": [text[i] for i in test.input_order[item]],
                    "proposal": proposal.double().flatten().tolist(),
                    "projected": matrices[name][item].astype(float).flatten(),
                    "order": hungarian(matrices[name][item : item + 1])[0],
                    "gcc_order": np.argsort(test.input_order[item]).astype(np.int16),
                    "before": before,
                    "after": after,
                }
            )
    tables.write_rows(rows, EXAMPLES, examples)
