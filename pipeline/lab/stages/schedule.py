"""Order the blocks of a set with one method and one seed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from tqdm import tqdm

from learned_schedulers.blocks.dag.topology import count_violations
from learned_schedulers.blocks.method_settings import BlockEntry
from learned_schedulers.blocks.methods import OK, UNSUPPORTED, Budget, Solution, make
from learned_schedulers.blocks.problems.batches import by_length
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.processors import unknown_instructions
from learned_schedulers.blocks.processors.costs import processor
from learned_schedulers.section import section
from pipeline.lab import tables
from pipeline.lab.shared_tables import CONFIDENCE, SCHEDULES
from pipeline.lab.stages import options
from pipeline.lab.stored_blocks import load_encodings, load_sample, load_store
from pipeline.lab.stored_token_blocks import with_tokens
from pipeline.processors.tables import MACHINE_INSTRUCTIONS


def main(
    settings: options.Settings,
    seed: options.Seed,
    chosen: options.Set,
    dags: options.Dags,
    instructions: options.Instructions,
    encodings: options.Encodings,
    schedules: options.Out,
    confidence: options.Out,
    tokens: options.SomeTables = None,
    vocabulary: options.SomeTables = None,
    weights: Annotated[list[Path] | None, typer.Option(help="A trained network or policy, safetensors.")] = None,
    machine: options.SomeTables = None,
    batch: Annotated[int, typer.Option(min=0, help="Instructions of a batch; 0: all blocks of one length.")] = 8192,
) -> None:
    """Write a method's orders of the blocks of a set, in GCC's numbering of the instructions, and a status for each.

    A block with an instruction that the processor model does not know is unsupported by every method: methods are
    compared on the same blocks.
    """
    entry = section(BlockEntry, settings)
    needs = entry.needs | entry.uses
    store = load_store(instructions, dags)
    sample = load_sample(chosen, store)
    reasons = np.full(len(sample.rows), "", object)
    resources: dict[str, object] = {}
    for path in machine or []:
        table = tables.arrow(MACHINE_INSTRUCTIONS, path)
        resources["machine"] = chip = processor(table)
        unknown = unknown_instructions(store, sample.rows, chip)
        reasons[unknown >= 0] = [_reason(table.slice(row, 1).to_pylist()[0]) for row in unknown[unknown >= 0].tolist()]
    for path in weights or []:
        resources["weights"] = path
    if "encodings" in needs:
        resources["encodings"] = load_encodings(encodings)
    if "tokens" in needs and tokens and vocabulary:
        store, resources["tokens"] = with_tokens(store, sample, tokens[0], vocabulary[0])
    possible = np.flatnonzero(reasons == "")
    print(f"{len(reasons) - len(possible)} of {len(reasons)} blocks are unsupported", file=sys.stderr)
    method = None if "label" in needs else make(entry, resources)
    budget, rng = Budget.of(entry), np.random.default_rng(seed)
    frames, beliefs = [], []
    batches = by_length(store.lengths[sample.rows[possible]], batch or sys.maxsize)
    for part in tqdm(batches, "scheduling", unit="batch", file=sys.stderr):
        items = possible[part]
        shown = np.stack([sample.orders[item] for item in items])
        problems = store.problems(sample.rows[items], shown)
        solver = method or make(entry, {**resources, "label": np.argsort(shown, axis=1)})
        solution = solver.solve(problems, rng, budget)
        ids = sample.block_ids.take(items).to_pylist()
        frames.append(_schedules(ids, shown, problems, solution))
        if "confidence" in solution.stats:
            beliefs.append(_confidence(ids, shown, solution))
    impossible = np.flatnonzero(reasons != "")
    unsupported = {"status": UNSUPPORTED, "message": reasons[impossible], "order": [[] for _ in impossible]}
    for decoder in frames[0]["decoder"].unique() if frames else ["none"]:
        ids = sample.block_ids.take(impossible).to_pylist()
        frames.append(pd.DataFrame({"block_id": ids, "decoder": decoder, **unsupported}))
    rows = pd.concat(frames).sort_values(["decoder", "block_id"], ignore_index=True)
    tables.write(rows, SCHEDULES, schedules)
    certain = pd.concat([*beliefs, pd.DataFrame(columns=CONFIDENCE.schema.names)])
    tables.write(certain.sort_values("block_id"), CONFIDENCE, confidence)


def _schedules(ids: list[str], shown: np.ndarray, problems: Problems, solution: Solution) -> pd.DataFrame:
    """Rows of table schedules. shown: (B, n) GCC's index of the instruction in slot t of the problems."""
    solved, frames = solution.status == OK, []
    for decoder, order in solution.orders.items():
        emitted = np.take_along_axis(shown, order.astype(np.int64), 1)
        violations = np.zeros(len(ids), np.int64)
        violations[solved] = count_violations(problems.precedes[solved], order[solved])
        columns = {
            "block_id": ids,
            "decoder": decoder,
            "order": [row if ok else [] for row, ok in zip(emitted, solved, strict=True)],
            "status": np.where(violations > 0, "violates", solution.status),
            "message": np.where(violations > 0, [f"{n} dependencies violated" for n in violations], solution.message),
        }
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames)


def _confidence(ids: list[str], shown: np.ndarray, solution: Solution) -> pd.DataFrame:
    """Rows of table confidence, for the orders of the first decoder."""
    order = next(iter(solution.orders.values())).astype(np.int64)
    exact = (np.take_along_axis(shown, order, 1) == np.arange(shown.shape[1])).all(1).astype(float)
    rows = pd.DataFrame({"block_id": ids, "confidence": solution.stats["confidence"], "exact_match": exact})
    return rows[solution.status == OK]


def _reason(instruction: dict[str, object]) -> str:
    """Message for a block that a row of table machine_instructions makes unsupported."""
    code = instruction["code"]
    assert isinstance(code, bytes)
    return f"{instruction['machine']}: {code.hex()}: {instruction['message']}"
