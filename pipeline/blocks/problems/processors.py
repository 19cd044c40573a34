"""Blocks as a network sees them that schedules for processors: what an instruction costs there is part of its bag.

So the same network serves one processor or several: an instruction on another processor is another instruction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from pipeline.blocks.latency.costs import Processor
from pipeline.blocks.problems.instructions import Encodings
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.problems.sample import Sample
from pipeline.blocks.problems.store import BlockStore, Edges


def with_costs(encodings: Encodings, processors: Sequence[Processor]) -> Encodings:
    """The U instructions of `encodings` on each of P processors, P * U: costs become tokens.

    Of an instruction that a processor's model does not know, nothing is added.
    """
    words: list[tuple[str, ...]] = []
    which = []
    for chip in processors:
        distinct, number = _distinct_costs(chip)
        which.append(number + len(words))
        words += distinct
    repeated = np.tile(np.arange(len(encodings.compared)), len(processors))
    return _with_tokens(_chosen(encodings, repeated), words, np.concatenate(which))


def _distinct_costs(chip: Processor) -> tuple[list[tuple[str, ...]], np.ndarray]:
    """Tokens of all kinds of instructions by their costs, and the kind of each, (U,)."""
    n_choices = chip.choices.shape[1]
    columns = (chip.known, chip.latencies, chip.micro_ops, chip.read_advance)
    kinds, which = np.unique(
        np.column_stack([*columns, chip.choices, chip.choice_cycles, chip.held]), axis=0, return_inverse=True
    )
    # What tells processors apart as a whole; a retire width of 0 stands for issue in order.
    machine = [f"width:{chip.issue_width}", f"retire:{chip.retire_width}"]
    found = []
    for known, latency, micro_ops, advance, *rest in kinds.tolist():
        choices, cycles, held = rest[:n_choices], rest[n_choices : 2 * n_choices], rest[2 * n_choices :]
        words = [*machine, f"latency:{latency}", f"micro_ops:{micro_ops}"]
        words += [f"advance:{advance}"] if advance else []
        words += [f"unit:{unit}*{busy}" for unit, busy in enumerate(held) if busy]
        groups = [(int(chip.groups[group]), busy) for group, busy in zip(choices, cycles, strict=True) if group >= 0]
        words += [f"either:{units:b}*{busy}" for units, busy in groups]
        found.append(tuple(words) if known else ())
    return found, which.ravel()


def _with_tokens(encodings: Encodings, words: Sequence[tuple[str, ...]], which: np.ndarray) -> Encodings:
    """The same instructions, each with further tokens: words[which[u]]."""
    tokens = sorted({*encodings.tokens, *(word for group in words for word in group)})
    number = {token: row for row, token in enumerate(tokens)}
    own = np.array([number[token] for token in encodings.tokens], np.int32)[encodings.bags]
    lengths = np.array([len(group) for group in words], np.int64)
    starts = np.cumsum(lengths) - lengths
    flat = np.array([number[word] for group in words for word in group], np.int32)
    before, more = np.diff(encodings.bounds), lengths[which]
    bounds = np.r_[0, np.cumsum(before + more)]
    bags = np.empty(bounds[-1], np.int32)
    bags[_ranges(bounds[:-1], before)] = own
    bags[_ranges(bounds[:-1] + before, more)] = flat[_ranges(starts[which], more)]
    return Encodings(tokens, bags, bounds, encodings.compared)


def unknown_instructions(store: BlockStore, rows: np.ndarray, chip: Processor) -> np.ndarray:
    """The first instruction of each block that a processor's model does not know, -1 for none. rows: (B,); (B,) int64.

    It is a row of the processor's table.
    """
    places = np.r_[np.flatnonzero(~chip.known[store.instructions]), len(store.instructions)]
    first = places[np.searchsorted(places, store.first[rows])]
    inside = first < store.first[rows + 1]
    return np.where(inside, store.instructions[np.where(inside, first, 0)], -1).astype(np.int64)


def supported(store: BlockStore, rows: np.ndarray, chip: Processor) -> np.ndarray:
    """Whether a processor's model knows all instructions of each block, (B,) bool. rows: (B,), of the store."""
    return unknown_instructions(store, rows, chip) < 0


def on_processor(problems: Problems, latencies: np.ndarray) -> Problems:
    """Blocks with a processor's latencies instead of nominal ones. latencies: (U,) of all instructions."""
    return replace(problems, latencies=latencies[problems.instructions].astype(np.int16))


def taught(
    store: BlockStore,
    encodings: Encodings,
    processors: Sequence[Processor],
    samples: Sequence[Sample],
    orders: Sequence[Sequence[pd.Series]],
) -> tuple[BlockStore, Encodings, list[Sample]]:
    """Blocks on every processor, with the orders that are to be learned there.

    processors: P, their rows as in `encodings`; orders: for each sample and processor a series
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
    latencies = np.stack([chip.latencies[used].astype(np.int16) for chip in processors])
    costed = replace(
        part,
        instructions=(instruction_machine * len(used) + position).astype(np.int32),
        latencies=latencies[instruction_machine, position],
        following=np.full_like(part.following, -1),
    )
    known = with_costs(_chosen(encodings, used), [chip.of(used) for chip in processors])
    ends = np.cumsum([len(one) for one in rows])
    found = []
    for number, sample in enumerate(samples):
        parts = range(number * len(processors), (number + 1) * len(processors))
        own = np.concatenate([np.arange(ends[k] - len(rows[k]), ends[k]) for k in parts])
        block_ids = sample.block_ids.take(np.concatenate([ids[k] for k in parts]))
        inputs = [one for k in parts for one in shown[k]]
        found.append(Sample(block_ids, own, inputs, [one for k in parts for one in targets[k]]))
    return costed, known, found


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
