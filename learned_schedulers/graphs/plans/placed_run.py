"""Run a captured graph with every node on its device; results move to the devices that read them, once."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, fx
from torch.utils._pytree import tree_map_only

from learned_schedulers.graphs.plans.strides import restrided

PLACE = "place"  # key of `meta`: number of a node's device
OPERATION = "operation"  # key of `meta`: number of the operation that computed a node's result
_CHECKS = {torch.ops.aten._assert_tensor_metadata.default}  # forms of inputs and weights are checked before


class PlacedRun(fx.Interpreter):
    """A graph whose nodes have PLACE; those without one run where their inputs are."""

    _boxed_call = True  # as compilers of torch say that they take a list of arguments

    def __init__(
        self,
        graph: fx.GraphModule,
        devices: list[torch.device],
        transfers: set[tuple[int, int]],
        origins: list[torch.device | None],
        gradients: bool,
    ) -> None:
        """transfers: gets (operation, number of the device that its result moved to).

        origins: forward's run puts the devices of its arguments there; that of gradients moves its results to them.
        """
        super().__init__(graph)
        self.devices = devices
        self.transfers = transfers
        self.origins = origins
        self.gradients = gradients
        self._copies: dict[fx.Node, dict[int, Any]] = {}

    def __call__(self, values: list[Any]) -> Any:
        """The results for these values of the placeholders; the list is emptied."""
        if not self.gradients:
            self.origins[:] = [value.device if isinstance(value, Tensor) else None for value in values]
        try:
            results = self.boxed_run(values)
            if not self.gradients:
                return results
            pairs = zip(results, self.origins, strict=True)
            return [part.to(origin) if isinstance(part, Tensor) else part for part, origin in pairs]
        finally:
            self._copies.clear()
            self.env.clear()

    def run_node(self, n: fx.Node) -> Any:
        if n.target in _CHECKS:
            return None
        device = n.meta.get(PLACE)
        if n.op != "call_function" or device is None:
            result = super().run_node(n)
            return restrided(result, n.meta.get("val", result)) if n.op == "call_function" else result
        args, kwargs = fx.map_arg((n.args, n.kwargs), lambda parent: self._on_device(parent, device))
        if "device" in kwargs:
            kwargs = kwargs | {"device": self.devices[device]}
        result = self.call_function(n.target, args, kwargs)
        result = restrided(result, n.meta.get("val", result))
        for unused in self._copies.keys() - self.env.keys():
            del self._copies[unused]
        return result

    def _on_device(self, node: fx.Node, device: int) -> Any:
        """A result on a device; it moves there once and stays as long as any node reads it."""
        place = node.meta.get(PLACE)
        if place == device:
            return self.env[node]
        copies = self._copies.setdefault(node, {})
        if device not in copies:
            copies[device] = tree_map_only(Tensor, lambda part: part.to(self.devices[device]), self.env[node])
            if OPERATION in node.meta:
                self.transfers.add((node.meta[OPERATION], device))
        return copies[device]
