"""A user's module as the work of two processes: each makes the module anew and runs its part of a schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from learned_schedulers.graphs.plans.module_export import trace_with_weights
from learned_schedulers.graphs.plans.module_operations import Instruction, Operations, Values, last_reads
from learned_schedulers.graphs.read.export import Way
from learned_schedulers.graphs.read.module_memory import Optimiser
from learned_schedulers.graphs.run.programs import Step
from learned_schedulers.graphs.run.shared_memory import SharedMemory


@dataclass(frozen=True)
class RunModule:
    """`module:Class(...)` with weights and inputs from a seed, so that another process makes the same module."""

    named: str
    inputs: tuple[str, ...]
    training: bool = False
    way: Way = field(default_factory=Way)
    optimiser: Optimiser | None = None  # whose step follows the gradients

    def operations(self) -> Operations:
        """Its operations in this process, made once."""
        return _operations(self)


@lru_cache(1)
def _operations(module: RunModule) -> Operations:
    return Operations(trace_with_weights(module.named, module.inputs, module.training, module.way), module.optimiser)


@dataclass(frozen=True)
class ModuleWork:
    """The operations of a module, of which some results are in memory that both devices share."""

    module: RunModule
    kinds: tuple[str, ...]  # n
    written: np.ndarray  # (n,) bytes of results that another device or the caller reads; 0: no other process does

    def on_device(self, shared: SharedMemory, device: int) -> ModuleOnDevice:
        """Raises ValueError if the module has other operations in this process."""
        operations = self.module.operations()
        if operations.kinds != self.kinds:
            raise ValueError(
                f"{self.module.named} has other operations in another process: it must not depend on time, on random "
                "numbers without a seed, or on how it is started"
            )
        return ModuleOnDevice(operations, shared, device)


class ModuleOnDevice:
    """A module's operations on one device."""

    def __init__(self, operations: Operations, shared: SharedMemory, device: int) -> None:
        self._operations, self._device = operations, device
        self._shared = shared_results(operations, shared)

    def program(self, steps: Sequence[Step], placement: np.ndarray) -> ModuleProgram:
        """This device's part of a schedule."""
        torch.set_grad_enabled(False)
        operations = self._operations
        computed, instructions = operations.computed, operations.instructions
        fetched = {computed[parent] for step in steps for parent in step.fetched}
        available = set(fetched)
        lists: list[list[Instruction]] = []
        for step in steps:
            node = computed[step.operation]
            lists.append([*(instructions[part] for part in operations.closure(node, available)), instructions[node]])
            available.add(node)
        values = list(operations.fixed)
        for node in fetched:
            values[operations.number[node]] = self._shared[operations.owners[node]]
        others = _read_elsewhere(operations, placement, self._device)
        return ModuleProgram(operations, steps, lists, values, self._shared, others)


class ModuleProgram:
    """A device's part of a schedule: calls, with the values that they read."""

    def __init__(
        self,
        operations: Operations,
        steps: Sequence[Step],
        lists: Sequence[Sequence[Instruction]],
        values: Values,
        shared: Mapping[int, Any],
        others: set[int],
    ) -> None:
        """values: fixed, or from the other device; shared: results in shared memory; others: it reads them in a run."""
        self._lists, self._values = lists, values
        numbers = {step.operation: operations.number[operations.computed[step.operation]] for step in steps}
        self._sent = [
            (numbers[step.operation], shared[step.operation]) if step.operation in others else None for step in steps
        ]
        self._last = [(numbers[i], shared[i]) for i in numbers if i in shared and i not in others]  # for the caller
        filled = frozenset(number for number, value in enumerate(values) if value is not None)
        remaining = filled | {number for number, _ in self._last}
        flat = [instruction for part in lists for instruction in part]
        dropped = iter(last_reads(flat, operations, remaining))
        self._dropped = [[number for _ in part for number in next(dropped)] for part in lists]

    def compute(self, position: int, run: int) -> None:
        """Run the operation of a step, and send its result if the other device reads it."""
        values = self._values
        for instruction in self._lists[position]:
            instruction.run(values)
        if (sent := self._sent[position]) is not None:
            _copy(values[sent[0]], sent[1])
        for number in self._dropped[position]:
            values[number] = None

    def end(self) -> None:
        """Show the caller the results that it compares, and forget them."""
        for number, room in self._last:
            _copy(self._values[number], room)
            self._values[number] = None


def shared_results(operations: Operations, shared: SharedMemory) -> dict[int, Any]:
    """Results in shared memory, by their operations: those that another process reads."""
    rooms: dict[int, Any] = {}
    for number in np.flatnonzero(shared.layout.written).tolist():
        room = torch.from_numpy(shared.results[number]).view(torch.uint8)
        rooms[number] = operations.forms[number].within(room)
    return rooms


def _read_elsewhere(operations: Operations, placement: np.ndarray, device: int) -> set[int]:
    """Operations on this device whose results the other device reads."""
    return {
        operations.owners[parent]
        for node in operations.computed
        if placement[operations.owners[node]] != device
        for parent in node.all_input_nodes
        if parent in operations.owners and placement[operations.owners[parent]] == device
    }


def _copy(value: Any, room: Any) -> None:
    for source, target in zip(pytree.tree_leaves(value), pytree.tree_leaves(room), strict=True):
        if isinstance(source, Tensor):
            target.copy_(source)
