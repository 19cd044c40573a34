"""Blocks as a network sees them that schedules for processors: what an instruction costs there is part of its bag.

So the same network serves one processor or several: an instruction on another processor is another instruction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from pipeline.models.instructions import Encodings
from pipeline.models.problems import Problems
from pipeline.models.sample import Sample
from pipeline.models.store import BlockStore, Edges


def cost_tokens(table: pd.DataFrame) -> list[tuple[str, ...]]:
    """What table `machine_instructions` says of each instruction, as tokens; of one it does not know, nothing."""
    columns = ("issue_width", "latency", "micro_ops", "units", "unit_cycles", "choice", "choice_cycles", "status")
    found = []
    for width, latency, micro_ops, units, cycles, choice, choice_cycles, status in zip(
        *(table[name] for name in columns), strict=True
    ):
        words = [f"width:{width}", f"latency:{latency}", f"micro_ops:{micro_ops}"]
        words += [f"unit:{unit}*{held}" for unit, held in zip(units, cycles, strict=True)]
        if len(choice):
            words.append(f"either:{','.join(map(str, choice))}*{choice_cycles}")
        found.append(tuple(words) if status == "ok" else ())
    return found


def with_tokens(encodings: Encodings, added: Sequence[tuple[str, ...]]) -> Encodings:
    """The same instructions, each with further tokens."""
    distinct = sorted(set(added))
    row_of = {words: row for row, words in enumerate(distinct)}
    which = np.fromiter((row_of[words] for words in added), np.int64, len(added))
    tokens = sorted({*encodings.tokens, *(word for words in distinct for word in words)})
    number = {token: row for row, token in enumerate(tokens)}
    own = np.array([number[token] for token in encodings.tokens], np.int32)[encodings.bags]
    lengths = np.array([len(words) for words in distinct], np.int64)
    starts = np.cumsum(lengths) - lengths
    flat = np.array([number[word] for words in distinct for word in words], np.int32)
    before, more = np.diff(encodings.bounds), lengths[which]
    bounds = np.r_[0, np.cumsum(before + more)]
    bags = np.empty(bounds[-1], np.int32)
    bags[_ranges(bounds[:-1], before)] = own
    bags[_ranges(bounds[:-1] + before, more)] = flat[_ranges(starts[which], more)]
    return Encodings(tokens, bags, bounds, encodings.compared)


def on_processor(problems: Problems, latencies: np.ndarray) -> Problems:
    """Blocks with a processor's latencies instead of nominal ones. latencies: (U,) of all instructions."""
    return replace(problems, latencies=latencies[problems.instructions].astype(np.int16))


def taught(
    store: BlockStore,
    encodings: Encodings,
    processors: Sequence[pd.DataFrame],
    samples: Sequence[Sample],
    orders: Sequence[Sequence[pd.Series]],
) -> tuple[BlockStore, Encodings, list[Sample]]:
    """Blocks on every processor, with the orders that are to be learned there.

    processors: P tables `machine_instructions`, rows as in `encodings`; orders: for each sample and processor a series
    block_id -> (n,) GCC's index of the instruction in slot t. A block without an order on a processor is left out.
    Returns a store of all of them, its instructions, and the samples with their targets.
    """
    rows: list[np.ndarray] = []
    targets: list[list[np.ndarray]] = []
    shown: list[list[np.ndarray]] = []
    ids: list[np.ndarray] = []
    machine: list[np.ndarray] = []
    for sample, by_processor in zip(samples, orders, strict=True):
        place = pd.Series(np.arange(len(sample.rows)), sample.block_ids.to_pylist())
        for number, order in enumerate(by_processor):
            items = place.loc[[block for block in order.index if block in place.index]].to_numpy()
            rows.append(sample.rows[items])
            shown.append([sample.orders[item] for item in items])
            targets.append([np.asarray(order[block], np.int16) for block in place.index[items]])
            ids.append(items)
            machine.append(np.full(len(items), number))
    every = np.concatenate(rows)
    of_machine = np.concatenate(machine)
    used, position = np.unique(store.instructions_of(every), return_inverse=True)
    part = _taken(store, every)
    counts = store.lengths[every]
    instruction_machine = np.repeat(of_machine, counts)
    latencies = np.stack([table.latency.to_numpy(np.int16)[used] for table in processors])
    costed = replace(
        part,
        instructions=(instruction_machine * len(used) + position).astype(np.int32),
        latencies=latencies[instruction_machine, position],
        following=np.full_like(part.following, -1),
    )
    repeated = _chosen(encodings, np.tile(used, len(processors)))
    added = [words for table in processors for words in cost_tokens(table.iloc[used])]
    ends = np.cumsum([len(one) for one in rows])
    found = []
    for number, sample in enumerate(samples):
        parts = range(number * len(processors), (number + 1) * len(processors))
        own = np.concatenate([np.arange(ends[k] - len(rows[k]), ends[k]) for k in parts])
        block_ids = sample.block_ids.take(np.concatenate([ids[k] for k in parts]))
        inputs = [one for k in parts for one in shown[k]]
        found.append(Sample(block_ids, own, inputs, [one for k in parts for one in targets[k]]))
    return costed, with_tokens(repeated, added), found


def _ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """starts[0] .. starts[0] + counts[0], and so on, one after the other."""
    return np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())


def _chosen(encodings: Encodings, rows: np.ndarray) -> Encodings:
    counts = np.diff(encodings.bounds)[rows]
    bags = encodings.bags[_ranges(encodings.bounds[rows], counts)]
    return Encodings(encodings.tokens, bags, np.r_[0, np.cumsum(counts)], encodings.compared[rows])


def _taken(store: BlockStore, rows: np.ndarray) -> BlockStore:
    counts = store.lengths[rows]
    inside = _ranges(store.first[rows], counts)
    return BlockStore(
        store.block_ids.take(rows),
        np.r_[0, np.cumsum(counts)],
        store.instructions[inside],
        store.latencies[inside],
        _taken_edges(store.reduced, rows),
        _taken_edges(store.implied, rows),
        store.following[rows],
    )


def _taken_edges(edges: Edges, rows: np.ndarray) -> Edges:
    counts = np.diff(edges.bounds)[rows]
    inside = _ranges(edges.bounds[rows], counts)
    return Edges(np.r_[0, np.cumsum(counts)], edges.before[inside], edges.after[inside], edges.kinds[inside])
