"""What all trainings share: a fixed number of threads, and an interrupted training that continues.

Several processes share the threads, and continue from the first one's checkpoint.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch

from pipeline.learning import processes
from pipeline.learning.checkpoints import Checkpoint


def resumed(
    modules: list[str], key: str, inputs: list[Path], total: int, unit: str = "step", threads: int = 1
) -> tuple[Checkpoint, dict[str, Any] | None]:
    """The checkpoint of a training, and its state if an interrupted training has left one.

    The state lies in .cache/checkpoints under the hash of `key`, the inputs and the code of the modules. The numbers
    depend on the number of threads, so it must not depend on the jobs at the same time; and on the number of processes,
    so each number has its own checkpoint.
    """
    rank, world = processes.place()
    torch.set_num_threads(max(1, threads // world))
    checkpoint = Checkpoint(modules, key if world == 1 else f"{key}\n{world} processes", inputs)
    state: dict[str, Any] | None = processes.of_first(checkpoint.load() if rank == 0 else None)
    if state is not None and rank == 0:
        print(f"resuming at {unit} {state[unit]} of {total}", file=sys.stderr)
    return checkpoint, state
