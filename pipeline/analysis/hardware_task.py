"""Task `hardware`: orders timed on a machine against GCC's, and how well processor models rank the same orders."""

from __future__ import annotations

import sys
from collections import defaultdict

import numpy as np
import pandas as pd

from pipeline import tables
from pipeline.analysis import hardware
from pipeline.analysis.cycles import orders_of, ratios
from pipeline.analysis.evaluation import Evaluation
from pipeline.analysis.inputs import Cycles, Inputs, every
from pipeline.analysis.rows import Row, estimated, results
from pipeline.analysis.statistics import Bootstrap
from pipeline.blocks.latency.costs import processor
from pipeline.blocks.latency.modelled import modelled
from pipeline.places import place


def evaluate(given: Inputs) -> Evaluation:
    """Geometric means of ratios of cycles, rank correlations within blocks, and how well the timing repeats.

    A judge without a table (no llvm-mca) has no correlation; those of the fast models stand.
    """
    rows: list[Row] = []
    ends = []
    judged: dict[str, dict[str, Cycles]] = defaultdict(dict)
    for name, judge, cycles in given.judged():
        judged[name][f"llvm_mca_{judge}"] = cycles
    timed = {place(path, "timed_blocks")["set"]: tables.read("timed_blocks", path) for path in given.timed_blocks}
    for path in sorted(given.timings):
        name = place(path, "timings")["set"]
        timings, blocks = tables.read("timings", path), timed[name]
        whose = {"experiment": given.experiment, "set": name, "dependencies": given.mode(name), "seed": "all"}
        rows += _methods(given, whose, timings, blocks)
        rows += hardware.references(whose, timings, given.intervals)
        rows += hardware.quality(whose, timings, blocks, given.intervals)
        judges = _fast_models(given, timings[timings["random"]]) | judged[name]
        rows += hardware.correlations(whose, timings, judges, given.intervals)
        ends.append(hardware.outcomes(name, blocks))
        if not judged[name]:
            print(f"{name}: no order was judged by llvm-mca; how it ranks them is LEFT OUT", file=sys.stderr)
    return Evaluation(results(rows), outcomes=pd.concat(ends, ignore_index=True))


def _methods(given: Inputs, whose: dict[str, str], timings: pd.DataFrame, blocks: pd.DataFrame) -> list[Row]:
    """Cycles of each method's orders over those of GCC's. An order that is GCC's has ratio 1."""
    lengths = blocks[blocks["reason"] == ""].set_index("block_id")["n_instructions"]
    bootstrap = Bootstrap(len(lengths), given.intervals.bootstrap_samples, given.intervals.confidence)
    first = timings[~timings["control"]]
    pairs = zip(first["block_id"], (tuple(order) for order in first["order"]), strict=True)
    cycles: Cycles = dict(zip(pairs, first["cycles"], strict=True))
    scheduled = [one for one in given.scheduled() if one.set == whose["set"]]
    rows = []
    for target in sorted({one.target for one in scheduled}):
        orders = orders_of(one for one in scheduled if one.target == target)
        for (method, decoder), by_seed in ratios(cycles, lengths, orders, "gcc").items():
            numbers = {seed: np.log(found.ratio) for seed, found in by_seed.items()}
            of_method = whose | {"target": target, "method": method, "decoder": decoder}
            rows += estimated(of_method, hardware.RATIO, numbers, bootstrap, np.exp)
    return rows


def _fast_models(given: Inputs, drawn: pd.DataFrame) -> dict[str, Cycles]:
    """What this project's models of processors say of the orders `drawn`."""
    asked = drawn[["block_id", "order"]].assign(order=drawn["order"].map(tuple)).reset_index(drop=True)
    of_block = every("instructions", given.instructions, ["encodings"], asked["block_id"])["encodings"]
    numbers = {str(block): np.asarray(encodings) for block, encodings in of_block.items()}
    found: dict[str, Cycles] = {}
    for path in sorted(given.machine_instructions):
        table = tables.arrow("machine_instructions", path)
        if len(table):
            said = modelled(asked, numbers, processor(table))
            found[f"model_{place(path, 'machine_instructions')['machine']}"] = {
                (str(block), order): float(value)
                for block, own in asked.groupby("block_id")["order"]
                if str(block) in said
                for order, value in zip(own, said[str(block)], strict=True)
            }
    return found
