"""Run a user's torch module by a split: every operation on its device; results move to the devices that read them.

    from pipeline.graphs.plans.placed_module import PlacedModule
    placed = PlacedModule.of_split(module, (image,), "split.json", ["cuda:0", "cuda:1", "cuda:2", "cuda:3"])
    logits = placed(image)

`learned-schedulers graph module:Class --split split.json` writes the split, for inputs of the same shapes. Operations
are numbered as in its graph: aten operations in program order, without those that cost nothing; these run on the device
of their input. Each device runs its operations in program order.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, fx, nn
from torch.utils._pytree import tree_map_only

from pipeline.graphs.corpus.export import computes, graph_of_fx, traced
from pipeline.graphs.corpus.workloads import Workload, read_split


class PlacedModule(fx.Interpreter):
    """A module's inference on several devices; the constructor copies the present weights."""

    def __init__(
        self, module: nn.Module, inputs: tuple[Tensor, ...], placement: np.ndarray, devices: Sequence[str]
    ) -> None:
        """inputs: examples, whose shapes are fixed; placement: (n,) device of each operation, from 0 on.

        Raises ValueError if the placement has a different number of operations or names an unknown device, and if torch
        cannot trace the module.
        """
        graph = _traced(module, inputs)
        if unknown := [node.target for node in graph.nodes if node.op == "get_attr"]:
            raise ValueError(f"forward makes the constant {unknown[0]}: register it as a buffer of the module")
        operations = [node for node in graph.nodes if computes(node)]
        if len(operations) != len(placement):
            raise ValueError(
                f"the placement has {len(placement)} operations, but the module has {len(operations)}: "
                "place this module, with inputs of these shapes"
            )
        if len(placement) and not 0 <= placement.min() <= placement.max() < len(devices):
            raise ValueError(
                f"the placement uses device {placement.max()}, but only {len(devices)} devices are given: name them all"
            )
        super().__init__(fx.GraphModule(graph.owning_module or nn.Module(), graph))
        self.devices = [torch.device(device) for device in devices]
        self.number = {node: i for i, node in enumerate(operations)}
        self.place = _places(graph, dict(zip(operations, placement.tolist(), strict=True)))
        self.transfers: set[tuple[int, int]] = set()  # (operation, device that its result moved to) of the last call
        self._copies: dict[fx.Node, dict[int, Any]] = {}
        self._weights = {
            node: _weight(module, str(node.meta["desc"].target)).detach().to(self.devices[self.place.get(node, 0)])
            for node in graph.nodes
            if node.op == "placeholder" and hasattr(node.meta["desc"], "target")
        }

    @classmethod
    def of_split(
        cls, module: nn.Module, inputs: tuple[Tensor, ...], split: str | Path, devices: Sequence[str]
    ) -> PlacedModule:
        """By a file of `graph --split`. Raises ValueError for a file that is not a split of this module."""
        graph = graph_of_fx(_traced(module, inputs), type(module).__name__, "", "forward")
        n = len(graph)
        nothing = np.zeros(n)
        workload = Workload(
            graph=graph,
            ids=np.arange(n),
            colors=np.full(n, -1),
            supported=np.ones(n, bool),
            backward=np.zeros(n, bool),
            cpu_seconds=nothing,
            accelerator_seconds=nothing,
            transfer_seconds=nothing,
            accelerators=len(devices),
            cpus=0,
            memory=np.inf,
        )
        return cls(module, inputs, read_split(Path(split), workload), devices)

    def __call__(self, *inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        """The module's result for these inputs; several results are a flat tuple. Each is on its operation's device."""
        self.transfers.clear()
        self._copies.clear()
        remaining_inputs = iter(inputs)
        placeholders = [node for node in self.graph.nodes if node.op == "placeholder"]
        values = [self._weights[node] if node in self._weights else next(remaining_inputs) for node in placeholders]
        with torch.no_grad():
            results = self.run(*values, enable_io_processing=False)
        self._copies.clear()
        return results[0] if len(results) == 1 else tuple(results)

    def run_node(self, n: fx.Node) -> Any:
        device = self.place.get(n)
        if n.op != "call_function" or device is None:
            return super().run_node(n)
        args, kwargs = fx.map_arg((n.args, n.kwargs), lambda parent: self._on_device(parent, device))
        if "device" in kwargs and n in self.number:
            kwargs = kwargs | {"device": self.devices[device]}
        result = self.call_function(n.target, args, kwargs)
        for unused in self._copies.keys() - self.env.keys():
            del self._copies[unused]
        return result

    def _on_device(self, node: fx.Node, device: int) -> Any:
        """A result on a device; it moves there once and stays as long as any node reads it."""
        if self.place.get(node) == device:
            return self.env[node]
        copies = self._copies.setdefault(node, {})
        if device not in copies:
            copies[device] = tree_map_only(Tensor, lambda part: part.to(self.devices[device]), self.env[node])
            owner = _owner(node)
            if owner in self.number:
                self.transfers.add((self.number[owner], device))
        return copies[device]


def _owner(node: fx.Node) -> fx.Node:
    """The node that computed a result: the node itself, or if it costs nothing, the owner of its input."""
    while node.op == "call_function" and not computes(node) and node.all_input_nodes:
        node = node.all_input_nodes[0]
    return node


def _places(graph: fx.Graph, placement: dict[fx.Node, int]) -> dict[fx.Node, int]:
    """Device of every node that has one: nodes without cost follow their owner, a weight follows its first reader."""
    place = dict(placement)
    for node in graph.nodes:
        if node in placement:
            for parent in node.all_input_nodes:
                if _owner(parent).op in ("placeholder", "get_attr"):
                    place.setdefault(_owner(parent), placement[node])
    for node in graph.nodes:
        if node.op == "call_function" and node not in place and _owner(node) in place:
            place[node] = place[_owner(node)]
    inputs = [
        node for node in place if node.op == "get_attr" or type(node.meta.get("desc")).__name__ == "PlainAOTInput"
    ]
    for node in inputs:  # the caller decides where these are
        del place[node]
    return place


def _weight(module: nn.Module, name: str) -> Tensor:
    """The weight `name` of the module. Raises ValueError if it does not exist."""
    path, _, attribute = name.rpartition(".")
    try:
        value = getattr(module.get_submodule(path), attribute)
    except AttributeError as error:
        raise ValueError(f"the module has no weight {name}: register tensors that forward makes as buffers") from error
    return torch.as_tensor(value)


def _traced(module: nn.Module, inputs: tuple[Tensor, ...]) -> fx.Graph:
    """The operations of a copy on the meta device, as of the verb `graph`; on other devices torch may fuse some."""
    tensors = [*module.parameters(), *module.buffers()]
    on_meta: dict[int, Any] = {id(tensor): torch.empty_like(tensor, device="meta") for tensor in tensors}
    for parameter in module.parameters():
        on_meta[id(parameter)] = nn.Parameter(on_meta[id(parameter)], requires_grad=False)
    try:
        return traced(deepcopy(module, on_meta), tuple(tensor.to("meta") for tensor in inputs), "forward")
    except Exception as error:  # the user's code, or torch because of it, may raise anything
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"
        raise ValueError(
            f"torch cannot trace the module on its meta device: {reason}; register tensors that forward makes as "
            "buffers, or make them on the device of its inputs"
        ) from error
