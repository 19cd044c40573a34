"""Random small blocks on random processors, in order and not, and their optima by trying every legal order."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from learned_schedulers.blocks.dag.topology import count_violations
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.processors import model, packing
from learned_schedulers.blocks.processors.in_order import Costs


def random_costs(rng: np.random.Generator, n: int, size: int = 1) -> Costs:
    """Two or three units, one or two groups of them; instructions that occupy none, one, several, or any of a group.

    Some have more micro-ops than the processor issues in a cycle; results come before, with or long after others.
    """
    units = int(rng.integers(2, 4))
    groups = np.array([0b11, 0b110][: units - 1], np.int64)
    latencies = rng.choice([0, 1, 1, 2, 3, 5, 9], (size, n)).astype(np.int32)
    unit_cycles = (rng.integers(0, 4, (size, n, units)) * (rng.random((size, n, units)) < 0.4)).astype(np.int32)
    choice = np.where(unit_cycles.any(2), -1, rng.integers(-1, len(groups), (size, n))).astype(np.int32)
    return Costs(
        micro_ops=rng.choice([1, 1, 1, 2, 3, 6], (size, n)).astype(np.int32),
        latencies=latencies,
        unit_cycles=unit_cycles,
        choice=choice,
        choice_cycles=np.where(choice >= 0, rng.integers(1, 4, (size, n)), 0).astype(np.int32),
        delays=(rng.random((size, n, n)) * (latencies[:, :, None] + 1) * (rng.random((size, n, n)) < 0.3)).astype(
            np.int16
        ),
        groups=groups,
        issue_width=int(rng.integers(1, 4)),
    )


def random_precedes(rng: np.random.Generator, n: int, size: int = 1) -> np.ndarray:
    """DAGs (size, n, n), from empty to dense, in no particular numbering."""
    density = rng.random((size, 1, 1)) * 0.6
    upper = np.triu(rng.random((size, n, n)) < density, 1)
    shuffle = rng.permuted(np.tile(np.arange(n), (size, 1)), axis=1)
    rows = np.arange(size)[:, None, None]
    return upper[rows, shuffle[:, :, None], shuffle[:, None, :]]


def random_problems(rng: np.random.Generator, n: int, size: int) -> Problems:
    """Blocks of instructions of latency 1, with the same dependencies as `random_precedes`."""
    precedes = random_precedes(rng, n, size)
    return Problems(precedes, np.ones((size, n), np.int16), precedes.astype(np.uint16), np.zeros((size, n), np.int32))


def legal_orders(precedes: np.ndarray) -> np.ndarray:
    """All legal orders of one DAG (n, n), (K, n)."""
    every = np.array(list(permutations(range(len(precedes)))))
    return every[count_violations(np.broadcast_to(precedes, (len(every), *precedes.shape)), every) == 0]


def random_out_of_order_costs(rng: np.random.Generator, n: int, size: int = 1) -> packing.Costs:
    """Three units in two groups, a short reorder buffer and queue; a few registers that are read early and late.

    Some instructions have no units, no latency, or more micro-ops than the processor dispatches in a cycle.
    """
    registers = 3
    latencies = rng.choice([0, 1, 1, 2, 3, 5, 9], (size, n)).astype(np.int32)
    unit_cycles = (rng.integers(1, 4, (size, n, 3)) * (rng.random((size, n, 3)) < 0.25)).astype(np.int32)
    choices = np.where(rng.random((size, n, 2)) < 0.5, np.arange(2), -1).astype(np.int32)
    choices = np.where((choices[..., :1] < 0), choices[..., ::-1], choices)  # lists end with -1
    choices = np.where(unit_cycles.any(2, keepdims=True), -1, choices)  # all units that it needs must be free at once
    sources = np.sort(np.where(rng.random((size, n, registers)) < 0.4, np.arange(registers), -1), axis=2)[..., ::-1]
    targets = np.where(rng.random((size, n, 1)) < 0.7, rng.integers(0, registers, (size, n, 1)), -1)
    facts = packing.Facts(
        micro_ops=rng.choice([0, 1, 1, 1, 2, 5], (size, n)).astype(np.int32),
        latencies=latencies,
        unit_cycles=unit_cycles,
        choices=choices,
        choice_cycles=np.where(choices >= 0, rng.integers(1, 4, choices.shape), 0).astype(np.int32),
        sources=sources.astype(np.int8),
        is_late=rng.random(sources.shape) < 0.3,
        counts=np.ones(sources.shape, np.int8),
        targets=targets.astype(np.int8),
        advances=rng.integers(-1, 4, (size, n)).astype(np.int32),
        memory=rng.choice([0, 0, packing.LOAD, packing.STORE], (size, n)).astype(np.int8),
        pool_entries=np.ones((size, n, 1), np.int32),
        buffer_entries=np.ones((size, n, 1), np.int32),
    )
    width, retired = (int(many) for many in rng.integers(1, 4, 2))
    pool, queue = rng.integers(2, 7, (2, 1))
    return packing.pack(facts, np.array([0b11, 0b110]), pool, queue, width, retired)


def part(costs: model.Costs, b: int) -> model.Costs:
    """A batch that has block b alone."""
    rows = slice(b, b + 1)
    if isinstance(costs, packing.Costs):
        return costs._replace(instructions=costs.instructions[rows])
    return costs._replace(
        micro_ops=costs.micro_ops[rows],
        latencies=costs.latencies[rows],
        unit_cycles=costs.unit_cycles[rows],
        choice=costs.choice[rows],
        choice_cycles=costs.choice_cycles[rows],
        delays=costs.delays[rows],
    )


def optima(costs: model.Costs, precedes: np.ndarray) -> np.ndarray:
    """Fewest cycles of each block over all its legal orders, (B,)."""
    return np.array(
        [
            model.makespans(part(costs, b), legal_orders(dependencies)[None]).min()
            for b, dependencies in enumerate(precedes)
        ]
    )
