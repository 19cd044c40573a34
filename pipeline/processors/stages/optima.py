"""The best orders that a method finds for a set's blocks on a processor model."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from tqdm import tqdm

from learned_schedulers.blocks.method_settings import BlockEntry
from learned_schedulers.blocks.methods import OK, Budget, Method, make
from learned_schedulers.blocks.problems import store
from learned_schedulers.blocks.problems.batches import by_length
from learned_schedulers.blocks.problems.processors import supported
from learned_schedulers.blocks.problems.sample import Sample
from learned_schedulers.blocks.processors import llvm_mca, simulation
from learned_schedulers.blocks.processors.costs import Processor, processor
from learned_schedulers.blocks.processors.model import costs, makespans
from learned_schedulers.blocks.processors.settings import Judge
from learned_schedulers.section import section
from pipeline.corpus.tables import BLOCKS
from pipeline.lab import tables
from pipeline.lab.stages import options
from pipeline.lab.stored_blocks import load_sample, load_store
from pipeline.processors.tables import MACHINE_INSTRUCTIONS, OPTIMA

_INSTRUCTIONS = 2048  # of a batch: often enough for the progress bar


def main(
    settings: options.Settings,
    seed: options.Seed,
    chosen: options.Set,
    blocks: options.Blocks,
    instructions: options.Instructions,
    dags: options.Dags,
    machine: options.Machine,
    target: options.Name,
    judge: options.Settings,
    optima: options.Out,
    threads: options.Threads = 1,
) -> None:
    """Find the best order of every block on the processor model, and judge it and GCC's order by llvm-mca.

    If llvm-mca gives GCC's order fewer cycles, the table has GCC's order, not proven. A block that llvm-mca does not
    know is left out; the stage prints how many there are.
    """
    binary = llvm_mca.find()
    if binary is None:
        raise ValueError(f"llvm-mca {llvm_mca.VERSION} is needed: `{llvm_mca.INSTALL}` (as root), then run again")
    block_store = load_store(instructions, dags)
    sample = load_sample(chosen, block_store)
    chip = processor(tables.arrow(MACHINE_INSTRUCTIONS, machine))
    entry = section(BlockEntry, settings)
    method, budget = make(entry, {"machine": chip}), Budget.of(entry)
    judgeable = np.flatnonzero(supported(block_store, sample.rows, chip))
    frames = []
    batches = by_length(block_store.lengths[sample.rows[judgeable]], _INSTRUCTIONS)
    for number, items in enumerate(tqdm(batches, f"best orders, {target}", unit="batch", file=sys.stderr)):
        rng = np.random.default_rng([seed, number])
        frames.append(_best(method, budget, chip, block_store, sample, judgeable[items], rng))
    best = pd.concat(frames, ignore_index=True)
    gcc = best.assign(order=best["order"].map(lambda order: tuple(range(len(order)))))
    code = tables.read(BLOCKS, blocks, ["block_id", "masked_code"], tables.of_blocks(best["block_id"]))
    masked = dict(zip(code["block_id"], code["masked_code"], strict=True))
    model = section(Judge, judge)
    judged = [
        simulation.simulate(frame[["block_id", "order"]], masked, target, model, binary, threads)
        for frame in (best, gcc)
    ]
    best = best.assign(cycles=judged[0]["cycles"], gcc_cycles=judged[1]["cycles"])
    best = best[(judged[0]["status"] == "ok") & (judged[1]["status"] == "ok")]
    print(f"{len(sample.rows) - len(best)} of {len(sample.rows)} blocks are unsupported on {target}", file=sys.stderr)
    worse = best["cycles"] > best["gcc_cycles"]
    best.loc[worse, "order"] = gcc["order"]
    best.loc[worse, "cycles"] = best["gcc_cycles"]
    best.loc[worse, "proven"] = False
    tables.write(best.sort_values("block_id", ignore_index=True), OPTIMA, optima)


def _best(
    method: Method,
    budget: Budget,
    chip: Processor,
    block_store: store.BlockStore,
    sample: Sample,
    items: np.ndarray,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """The best orders of blocks of one length in GCC's numbers, their cycles and their bounds on the model.

    Raises ValueError for a method that gives no bounds.
    """
    rows = sample.rows[items]
    emitted = np.tile(np.arange(block_store.lengths[rows[0]], dtype=np.int16), (len(rows), 1))
    problems = block_store.problems(rows, emitted)
    solution = method.solve(problems, rng, budget)
    if "bound" not in solution.stats:
        raise ValueError("the method gives no bounds; take one whose solutions have a `bound`")
    solved = solution.status == OK
    order, bound = next(iter(solution.orders.values()))[solved], solution.stats["bound"][solved]
    problems, items = problems[solved], items[solved]
    cycles = makespans(costs(chip, problems.instructions), order[:, None])[:, 0]
    return pd.DataFrame(
        {
            "block_id": sample.block_ids.take(items).to_pylist(),
            "order": list(map(tuple, order.tolist())),
            "model_cycles": cycles,
            "bound": bound,
            "proven": cycles == bound,
        }
    )
