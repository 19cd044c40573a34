"""What all trainings share: a fixed number of threads, and an interrupted training that continues.

Several processes share the threads, and continue from the first one's checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

import torch
from torch import nn

from learned_schedulers.learning import processes
from learned_schedulers.learning.checkpoints import Checkpoint
from learned_schedulers.learning.loop import Row, State
from pipeline.lab import tables, wiring
from pipeline.lab.table import Table

Network = TypeVar("Network", bound=nn.Module)


class Outputs(NamedTuple):
    """Files that a training writes."""

    weights: Path
    history: Path
    table: Table  # of the history


def trained(
    train: Callable[[State | None, Callable[[State], None]], tuple[Network, list[Row]]],
    save: Callable[[Network, Path], None],
    outputs: Outputs,
    modules: list[str],
    key: str,
    inputs: list[Path],
    threads: int = 1,
) -> None:
    """Train a network and write it with its history; an interrupted training continues from its last measurement.

    The state lies in .cache/checkpoints under the hash of `key`, the inputs and the code of the modules. The numbers
    depend on the number of threads, so it must not depend on the jobs at the same time; and on the number of processes,
    so each number has its own checkpoint. train: from a state to resume from, and a function that saves one.
    """
    rank, world = processes.place()
    torch.set_num_threads(max(1, threads // world))
    code = [wiring.ROOT / source for source in wiring.closure(*modules)]
    checkpoint = Checkpoint(key if world == 1 else f"{key}\n{world} processes", [*inputs, *code])
    state: State | None = processes.of_first(checkpoint.load() if rank == 0 else None)
    network, rows = train(state, checkpoint.save)
    if rank == 0:
        save(network, outputs.weights)
        tables.write_rows(rows, outputs.table, outputs.history)
        checkpoint.remove()
