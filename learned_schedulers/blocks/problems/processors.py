"""Blocks as seen by a network that schedules for processors: the costs of an instruction are tokens of its bag.

So one network can serve several processors: the same instruction on another processor is another instruction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from learned_schedulers.blocks.problems.instructions import Encodings
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.sample import Sample
from learned_schedulers.blocks.problems.store import BlockStore, Edges
from learned_schedulers.blocks.processors.costs import Processor

if TYPE_CHECKING:  # the console command starts without it
    import pandas as pd


def with_costs(encodings: Encodings, processors: Sequence[Processor]) -> Encodings:
    """The U instructions of `encodings` on each of P processors, P * U in all: costs become tokens.

    An instruction that a processor's model does not support gets no further tokens.
    """
    words: list[tuple[str, ...]] = []
    kinds = []
    for chip in processors:
        distinct, kind = _distinct_costs(chip)
        kinds.append(kind + len(words))
        words += distinct
    repeated = np.tile(np.arange(len(encodings.compared)), len(processors))
    return _with_tokens(_selected_encodings(encodings, repeated), words, np.concatenate(kinds))


def _distinct_costs(chip: Processor) -> tuple[list[tuple[str, ...]], np.ndarray]:
    """Tokens of all distinct costs of instructions, and the row among them of each instruction, (U,)."""
    n_choices = chip.choices.shape[1]
    columns = (chip.is_supported, chip.latencies, chip.micro_ops, chip.read_advance)
    distinct, kinds = np.unique(
        np.column_stack([*columns, chip.choices, chip.choice_cycles, chip.unit_cycles]), axis=0, return_inverse=True
    )
    # Tokens of the processor as a whole; a retire width of 0 stands for issue in order.
    machine_words = [f"width:{chip.issue_width}", f"retire:{chip.retire_width}"]
    words_of_costs = []
    for is_supported, latency, micro_ops, advance, *lists in distinct.tolist():
        choices, cycles, unit_cycles = lists[:n_choices], lists[n_choices : 2 * n_choices], lists[2 * n_choices :]
        words = [*machine_words, f"latency:{latency}", f"micro_ops:{micro_ops}"]
        words += [f"advance:{advance}"] if advance else []
        words += [f"unit:{unit}*{busy}" for unit, busy in enumerate(unit_cycles) if busy]
        groups = [(int(chip.groups[group]), busy) for group, busy in zip(choices, cycles, strict=True) if group >= 0]
        words += [f"either:{units:b}*{busy}" for units, busy in groups]
        words_of_costs.append(tuple(words) if is_supported else ())
    return words_of_costs, kinds.ravel()


def _with_tokens(encodings: Encodings, words: Sequence[tuple[str, ...]], kinds: np.ndarray) -> Encodings:
    """The same instructions, each with further tokens: words[kinds[u]]."""
    tokens = sorted({*encodings.tokens, *(word for group in words for word in group)})
    number = {token: row for row, token in enumerate(tokens)}
    old_bags = np.array([number[token] for token in encodings.tokens], np.int32)[encodings.bags]
    lengths = np.array([len(group) for group in words], np.int64)
    starts = np.cumsum(lengths) - lengths
    new_words = np.array([number[word] for group in words for word in group], np.int32)
    old_counts, new_counts = np.diff(encodings.bounds), lengths[kinds]
    bounds = np.r_[0, np.cumsum(old_counts + new_counts)]
    bags = np.empty(bounds[-1], np.int32)
    bags[_ranges(bounds[:-1], old_counts)] = old_bags
    bags[_ranges(bounds[:-1] + old_counts, new_counts)] = new_words[_ranges(starts[kinds], new_counts)]
    return Encodings(tokens, bags, bounds, encodings.compared)


def unknown_instructions(store: BlockStore, rows: np.ndarray, chip: Processor) -> np.ndarray:
    """The first instruction of each block that a processor's model does not support, -1 for none; (B,) int64.

    rows: (B,), of the store. Instructions are rows of the processor's table.
    """
    places = np.r_[np.flatnonzero(~chip.is_supported[store.instructions]), len(store.instructions)]
    first = places[np.searchsorted(places, store.first[rows])]
    inside = first < store.first[rows + 1]
    return np.where(inside, store.instructions[np.where(inside, first, 0)], -1).astype(np.int64)


def supported(store: BlockStore, rows: np.ndarray, chip: Processor) -> np.ndarray:
    """Whether a processor's model supports all instructions of each block, (B,) bool. rows: (B,), of the store."""
    return unknown_instructions(store, rows, chip) < 0


def on_processor(problems: Problems, latencies: np.ndarray) -> Problems:
    """Blocks with the latencies of a processor instead of nominal ones. latencies: (U,), of all instructions."""
    return replace(problems, latencies=latencies[problems.instructions].astype(np.int16))


def with_targets(
    store: BlockStore,
    encodings: Encodings,
    processors: Sequence[Processor],
    samples: Sequence[Sample],
    orders: Sequence[Sequence[pd.Series]],
) -> tuple[BlockStore, Encodings, list[Sample]]:
    """Blocks on every processor, with the orders to learn there.

    processors: P, with the rows of `encodings`; orders: for each sample and processor a series
    block_id -> (n,) GCC's index of the instruction in slot t. A block without an order on a processor is left out.
    Returns a store of all these blocks, its instructions, and the samples with their targets.
    """
    import pandas as pd

    # One entry for each sample and processor.
    rows: list[np.ndarray] = []
    targets: list[list[np.ndarray]] = []
    shown: list[list[np.ndarray]] = []
    sample_items: list[np.ndarray] = []
    machines: list[np.ndarray] = []
    for sample, by_processor in zip(samples, orders, strict=True):
        place = pd.Series(np.arange(len(sample.rows)), sample.block_ids.to_pylist())
        for number, order in enumerate(by_processor):
            items = place.loc[[block for block in order.index if block in place.index]].to_numpy()
            rows.append(sample.rows[items])
            shown.append([sample.orders[item] for item in items])
            targets.append([np.asarray(order[block], np.int16) for block in place.index[items]])
            sample_items.append(items)
            machines.append(np.full(len(items), number))
    all_rows = np.concatenate(rows)
    block_machine = np.concatenate(machines)
    used, position = np.unique(store.instructions_of(all_rows), return_inverse=True)
    emitted = _selected(store, all_rows)
    counts = store.lengths[all_rows]
    instruction_machine = np.repeat(block_machine, counts)
    latencies = np.stack([chip.latencies[used].astype(np.int16) for chip in processors])
    costed = replace(
        emitted,
        instructions=(instruction_machine * len(used) + position).astype(np.int32),
        latencies=latencies[instruction_machine, position],
        following=np.full_like(emitted.following, -1),
    )
    costed_encodings = with_costs(
        _selected_encodings(encodings, used), [chip.restricted_to(used) for chip in processors]
    )
    ends = np.cumsum([len(part) for part in rows])
    costed_samples = []
    for number, sample in enumerate(samples):
        parts = range(number * len(processors), (number + 1) * len(processors))
        costed_rows = np.concatenate([np.arange(ends[k] - len(rows[k]), ends[k]) for k in parts])
        block_ids = sample.block_ids.take(np.concatenate([sample_items[k] for k in parts]))
        inputs = [order for k in parts for order in shown[k]]
        costed_samples.append(Sample(block_ids, costed_rows, inputs, [order for k in parts for order in targets[k]]))
    return costed, costed_encodings, costed_samples


def _ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Concatenation of the ranges starts[k] .. starts[k] + counts[k] - 1."""
    return np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())


def _selected_encodings(encodings: Encodings, rows: np.ndarray) -> Encodings:
    counts = np.diff(encodings.bounds)[rows]
    bags = encodings.bags[_ranges(encodings.bounds[rows], counts)]
    return Encodings(encodings.tokens, bags, np.r_[0, np.cumsum(counts)], encodings.compared[rows])


def _selected(store: BlockStore, rows: np.ndarray) -> BlockStore:
    counts = store.lengths[rows]
    inside = _ranges(store.first[rows], counts)
    return BlockStore(
        store.block_ids.take(rows),
        np.r_[0, np.cumsum(counts)],
        store.instructions[inside],
        store.latencies[inside],
        _selected_edges(store.reduced, rows),
        _selected_edges(store.implied, rows),
        store.following[rows],
    )


def _selected_edges(edges: Edges, rows: np.ndarray) -> Edges:
    counts = np.diff(edges.bounds)[rows]
    inside = _ranges(edges.bounds[rows], counts)
    return Edges(np.r_[0, np.cumsum(counts)], edges.before[inside], edges.after[inside], edges.kinds[inside])
