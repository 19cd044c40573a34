"""The cycles in which the instructions of one sequence become ready and issue, by a model and by llvm-mca."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.blocks.latency import in_order, llvm_mca, model, out_of_order
from pipeline.blocks.latency.costs import Processor
from pipeline.blocks.latency.llvm_mca import LlvmMcaError
from pipeline.blocks.latency.packing import (
    ADVANCE,
    BYTE,
    FIRST_LIST,
    LATENCY,
    MEMORY,
    N_BUFFERS,
    N_CHOICES,
    N_OCCUPIED,
    N_POOLS,
    N_SOURCES,
    N_TARGETS,
    STORE,
    Block,
)
from pipeline.config.processors import Judge

_OPTIONS = [
    *("-mtriple=x86_64-unknown-unknown", "-iterations=1", "-json", "-timeline", "-timeline-max-cycles=0"),
    *("-instruction-info=false", "-resource-pressure=false"),
]


@dataclass(frozen=True)
class Timeline:
    """Cycles of a sequence of n instructions, (n,) each."""

    ready: np.ndarray | None  # when everything that it waits for is available; None if issue is in order
    issued: np.ndarray


@dataclass(frozen=True)
class Simulated:
    """The cycles by llvm-mca."""

    dispatched: np.ndarray
    ready: np.ndarray  # never before it is dispatched
    issued: np.ndarray


def simulated(regions: Sequence[Sequence[str]], judge: Judge, binary: str) -> list[Simulated]:
    """Timelines of regions by llvm-mca. Raises LlvmMcaError if it fails."""
    timelines: list[Simulated] = []
    for start in range(0, len(regions), llvm_mca.BATCH):
        part = regions[start : start + llvm_mca.BATCH]
        process = subprocess.run(
            [binary, f"-mcpu={judge.cpu}", *_OPTIONS],
            input="\n".join(line for region in part for line in ("# LLVM-MCA-BEGIN", *region, "# LLVM-MCA-END")) + "\n",
            capture_output=True,
            text=True,
            check=False,
        )
        if process.returncode != 0:
            raise LlvmMcaError(f"{binary} ended with code {process.returncode}: {process.stderr.strip()[-2000:]}")
        views = [region["TimelineView"]["TimelineInfo"] for region in json.loads(process.stdout)["CodeRegions"]]
        timelines += [_simulated(view) for view in views]
    return timelines


def _simulated(view: list[dict[str, int]]) -> Simulated:
    return Simulated(
        *(np.array([line[f"Cycle{event}"] for line in view]) for event in ("Dispatched", "Ready", "Issued"))
    )


def modelled(chip: Processor, sequence: np.ndarray) -> Timeline:
    """Timeline of one sequence (n,), rows of the processor's table."""
    costs, order = model.costs(chip, sequence[None]), np.arange(len(sequence))
    if isinstance(costs, in_order.Costs):
        return Timeline(None, in_order.simulate(costs, order[None, None]).issue[0, 0])
    memory = out_of_order.scratch()
    out_of_order.makespan_of(Block(costs.instructions[0], costs.machine), order, memory)
    issued = out_of_order.issues(memory, len(sequence)).copy()
    return Timeline(_ready(costs.instructions[0], costs.machine, issued), issued)


def _ready(facts: np.ndarray, machine: np.ndarray, issued: np.ndarray) -> np.ndarray:
    """(n,) cycle in which the operands of each instruction are there and, before a store, all accesses have issued."""
    sources = FIRST_LIST + machine[N_POOLS] + machine[N_BUFFERS] + machine[N_OCCUPIED] + machine[N_CHOICES]
    targets = sources + machine[N_SOURCES]
    ready = np.zeros(len(issued), np.int64)
    writers: dict[int, int] = {}  # register -> the last instruction that wrote it
    accessed = 0
    for t, fact in enumerate(facts):
        for source in fact[sources:targets]:
            if source and (writer := writers.get(source & 255)) is not None:
                advance = fact[ADVANCE] if source >> BYTE & 1 else 0
                ready[t] = max(ready[t], issued[writer] + max(0, facts[writer, LATENCY] - advance))
        writers |= {int(target): t for target in fact[targets : targets + machine[N_TARGETS]] if target}
        if fact[MEMORY] == STORE:
            ready[t] = max(ready[t], accessed)
        if fact[MEMORY]:
            accessed = max(accessed, issued[t])
    return ready
