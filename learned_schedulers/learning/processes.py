"""Several processes that train one network (`torchrun`): their begin and end, shares and sums.

With one process nothing changes, not even a bit.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import torch
from torch import distributed, nn

Items = TypeVar("Items", torch.Tensor, np.ndarray)
_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")  # torchrun sets them; Slurm's jobs may do so, too


@contextmanager
def group() -> Iterator[None]:
    """Joins the processes that torchrun's variables describe; for a stage's function, as `@group()`.

    Sums are gloo's, and nccl's on GPUs if every local process has its own. Raises ValueError where a variable is
    missing or wrong, ConnectionError where the first process cannot be reached.
    """
    if os.environ.get("WORLD_SIZE", "1") == "1":
        yield
        return
    rank, world = _described()
    local, devices = int(os.environ.get("LOCAL_RANK", rank)), torch.cuda.device_count()
    if devices:
        torch.cuda.set_device(local % devices)
    apart = 0 < int(os.environ.get("LOCAL_WORLD_SIZE", world)) <= devices
    try:
        distributed.init_process_group("cpu:gloo,cuda:nccl" if apart else "gloo", rank=rank, world_size=world)
    except RuntimeError as error:
        place = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        raise ConnectionError(
            f"process {rank} of {world} did not meet the others at {place} ({error}); "
            "all processes have to be started, with the same MASTER_ADDR and MASTER_PORT"
        ) from error
    yield
    # Not after an error: the process ends, and so do the others, whose sums lack its share from now on.
    distributed.destroy_process_group()


def _described() -> tuple[int, int]:
    """Rank and number of processes, from the environment."""
    values = {name: os.environ.get(name, "") for name in _VARIABLES}
    missing = [name for name, value in values.items() if not value]
    remedy = "start all processes by `torchrun --nproc-per-node 2 -m pipeline <stage> ...`, or set these variables"
    if missing:
        raise ValueError(f"WORLD_SIZE is {values['WORLD_SIZE']!r}, but {', '.join(missing)} is not set; {remedy}")
    numbers = [values[name] for name in ("RANK", "WORLD_SIZE", "MASTER_PORT")]
    if not all(number.isdecimal() for number in numbers) or not int(values["RANK"]) < int(values["WORLD_SIZE"]):
        described = ", ".join(f"{name}={value}" for name, value in values.items())
        raise ValueError(f"{described}: RANK has to be 0 to WORLD_SIZE - 1, and MASTER_PORT a number; {remedy}")
    return int(values["RANK"]), int(values["WORLD_SIZE"])


def place() -> tuple[int, int]:
    """This process's rank, and the number of processes."""
    return (distributed.get_rank(), distributed.get_world_size()) if distributed.is_initialized() else (0, 1)


def is_first() -> bool:
    """Whether this process writes checkpoints, outputs and messages; no other does."""
    return place()[0] == 0


def share(items: Items) -> Items:
    """This process's share of a batch: every world-th item. All processes are given the same batch."""
    rank, world = place()
    return items[rank::world]


def summed(values: torch.Tensor) -> torch.Tensor:
    """The sums over all processes."""
    if not distributed.is_initialized():
        return values
    sums = values.detach().clone()
    _together(distributed.all_reduce, sums)
    return sums


def of_first(value: Any) -> Any:
    """The first process's value, in all processes: None, or tensors and numbers in dicts, as in a checkpoint."""
    if not distributed.is_initialized():
        return value
    file = io.BytesIO()
    torch.save(value, file)
    size = torch.tensor(file.tell())
    _together(_broadcast, size)
    content = torch.zeros(int(size), dtype=torch.uint8)
    if is_first():
        content = torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)
    _together(_broadcast, content)
    return torch.load(io.BytesIO(content.numpy().tobytes()), weights_only=True)


def sum_gradients(network: nn.Module, terms: int = 0) -> int:
    """Replace the gradients by their sums over all processes; returns the sum of `terms` over all processes.

    A weight without a gradient in any process has none afterwards, as with one process.
    """
    if distributed.is_initialized():
        parameters = [p for p in network.parameters() if p.requires_grad]
        flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in parameters])
        flat = torch.cat([flat, flat.new_tensor([p.grad is not None for p in parameters]), flat.new_tensor([terms])])
        _together(distributed.all_reduce, flat)
        *parts, having, whole = flat.split([*(p.numel() for p in parameters), len(parameters), 1])
        for p, part, count in zip(parameters, parts, having.tolist(), strict=True):
            p.grad = part.view_as(p) if count else None
        terms = int(whole)
    return terms


def mean(total: torch.Tensor, terms: int) -> float:
    """The sum of `total` over all processes, divided by that of `terms` (at least 1)."""
    sums = summed(torch.tensor([float(total), terms], dtype=torch.float64))
    return float(sums[0] / sums[1].clamp_min(1))


def _broadcast(tensor: torch.Tensor) -> None:
    distributed.broadcast(tensor, 0)


def _together(operation: Callable[[torch.Tensor], object], tensor: torch.Tensor) -> None:
    """Change the tensor in place, by an operation that all processes take part in."""
    try:
        operation(tensor)
    except RuntimeError as error:
        raise ConnectionError(
            f"another process of this training has ended ({error}); type the same command again, on all processes: "
            "it continues from the last checkpoint"
        ) from error
