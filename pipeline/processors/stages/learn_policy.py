"""Learn a greedy policy for one processor from rollouts on blocks of a set."""

from __future__ import annotations

import sys

import numpy as np

from learned_schedulers.blocks.methods import policy
from learned_schedulers.blocks.methods.on_machine.refinement import refine
from learned_schedulers.blocks.methods.on_machine.rollouts import batch, learn
from learned_schedulers.blocks.problems.batches import by_length
from learned_schedulers.blocks.problems.processors import supported
from learned_schedulers.blocks.processors.costs import processor
from learned_schedulers.blocks.processors.settings import Rollouts
from learned_schedulers.section import section
from pipeline.lab import tables
from pipeline.lab.stages import options
from pipeline.lab.stored_blocks import load_sample, load_store
from pipeline.processors.tables import MACHINE_INSTRUCTIONS

_INSTRUCTIONS = 8192  # of a batch


def main(
    settings: options.Settings,
    seed: options.Seed,
    machine: options.Machine,
    instructions: options.Instructions,
    dags: options.Dags,
    training: options.Training,
    weights: options.Out,
) -> None:
    """Write the weights of the method `policy`, learned from a seeded draw of blocks with several legal orders.

    Settings: the policy's `learning`. A block with an instruction that the processor model does not know is left out.
    """
    chosen = section(Rollouts, settings)
    chip = processor(tables.arrow(MACHINE_INSTRUCTIONS, machine))
    block_store = load_store(instructions, dags)
    rng = np.random.default_rng(seed)
    rows = load_sample(training, block_store).rows
    rows = rng.permutation(rows[block_store.has_choice(rows)])[: chosen.blocks]
    usable = np.sort(rows[supported(block_store, rows, chip)])
    print(f"{len(usable)} blocks; {len(rows) - len(usable)} have an unknown instruction", file=sys.stderr)
    if not len(usable):
        raise ValueError("no block to learn from")
    batches = by_length(block_store.lengths[usable], _INSTRUCTIONS)
    blocks = [batch(chip, block_store.as_emitted(usable[items])) for items in batches]
    refined = refine(blocks, learn(blocks, chosen, rng), chosen.changes, rng)
    for name, weight in zip(policy.FEATURES, refined, strict=True):
        print(f"{name:14}{weight:9.4f}", file=sys.stderr)
    policy.save(refined, weights)
