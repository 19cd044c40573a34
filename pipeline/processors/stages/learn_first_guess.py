"""Learn the first guess, one network for several processors, with one seed."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import torch

from learned_schedulers.blocks.methods.on_machine import guessing
from learned_schedulers.blocks.methods.on_machine.guess_learning import courses, drawn_processor, learn
from learned_schedulers.blocks.processors.costs import processor
from learned_schedulers.blocks.processors.settings import Guessing
from learned_schedulers.section import section
from pipeline.lab import tables
from pipeline.lab.stages import options
from pipeline.lab.stored_blocks import load_sample, load_store
from pipeline.processors.tables import GUESS_HISTORY, MACHINE_INSTRUCTIONS


def main(
    settings: options.Settings,
    seed: options.Seed,
    machine: options.Tables,
    instructions: options.Instructions,
    dags: options.Dags,
    training: options.Training,
    development: options.Table,
    weights: options.Out,
    history: options.Out,
) -> None:
    """Learn from seeded draws of blocks with several legal orders, and write the weights and the history.

    Tables of `machine` (machine_instructions) are in the sequence of settings.machines. A block with an instruction
    that a processor's model does not know is left out on that processor. The blocks, the trials and the network's first
    weights depend on the seed.
    """
    chosen = section(Guessing, settings)
    torch.set_num_threads(1)
    store, rng = load_store(instructions, dags), np.random.default_rng(seed)
    rows = [load_sample(path, store).rows for path in (training, development)]
    learned, measured = (part[store.has_choice(part)] for part in rows)
    learned = np.sort(rng.permutation(learned)[: chosen.blocks])
    learned_courses, measured_courses = [], []
    for name, path in zip(chosen.machines, machine, strict=True):
        chip = processor(tables.arrow(MACHINE_INSTRUCTIONS, path))
        learned_courses += courses(store, learned, chip, chosen.evaluations, rng)
        for share in np.array_split(rng.permutation(learned), chosen.drawn) if chosen.drawn else []:
            made_up = drawn_processor(chip, rng)
            learned_courses += courses(store, np.sort(share), made_up, chosen.evaluations, rng)
        measured_courses += courses(store, measured, chip, chosen.evaluations, rng)
        print(f"{name}: best orders are searched", file=sys.stderr)
    learned_weights, rounds = learn(learned_courses, measured_courses, chosen, seed)
    guessing.save(learned_weights, weights)
    tables.write(pd.DataFrame(rounds), GUESS_HISTORY, history)
