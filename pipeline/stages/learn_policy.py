"""Learn a greedy policy for one machine from rollouts on blocks of a set."""

from __future__ import annotations

import sys

import numpy as np

from pipeline import tables
from pipeline.blocks.latency.costs import processor
from pipeline.blocks.problems import store
from pipeline.blocks.problems.batches import by_length
from pipeline.blocks.problems.processors import supported
from pipeline.blocks.problems.sample import load
from pipeline.blocks.schedulers import policy
from pipeline.blocks.schedulers.on_machine.refinement import refine
from pipeline.blocks.schedulers.on_machine.rollouts import batch, learn
from pipeline.config.methods.policy import Rollouts
from pipeline.config.section import section
from pipeline.stages import options

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
    """Write the weights of the method `policy`, from a seeded draw of those blocks that have several legal orders.

    Settings: the policy's `learning`. Blocks with an instruction that the machine does not know are left out.
    """
    chosen = section(Rollouts, settings)
    chip = processor(tables.arrow("machine_instructions", machine))
    held = store.load(instructions, dags)
    rng = np.random.default_rng(seed)
    rows = load(training, held).rows
    rows = rng.permutation(rows[held.has_choice(rows)])[: chosen.blocks]
    usable = np.sort(rows[supported(held, rows, chip)])
    print(
        f"{len(usable)} blocks; {len(rows) - len(usable)} have an instruction unknown to the machine", file=sys.stderr
    )
    if not len(usable):
        raise ValueError("no block to learn from")
    batches = [held.as_emitted(usable[items]) for items in by_length(held.lengths[usable], _INSTRUCTIONS)]
    blocks = [batch(chip, one) for one in batches]
    found = refine(blocks, learn(blocks, chosen, rng), chosen.changes, rng)
    for name, weight in zip(policy.FEATURES, found, strict=True):
        print(f"{name:14}{weight:9.4f}", file=sys.stderr)
    policy.save(found, weights)
