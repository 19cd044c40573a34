"""Regions of torch.utils.checkpoint in a traced training step: results are freed, and computed anew for gradients.

torch.export does not see the hooks by which a region is computed anew. So its operations are marked where it is
captured, and the trace gets copies of those whose results the region's gradients read, as torch computes them: in front
of the first of these gradients, once the gradient that arrives at the region is there (Chen et al. 2016). A region
within another belongs to the outer one.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import fx
from torch.fx import traceback
from torch.utils import checkpoint

from learned_schedulers.graphs.read.fx_nodes import computes, is_backward

Region = tuple[int, bool]
_REGION, _AFTER = "learned_schedulers.recomputed", "after"  # entries of a node's `meta`


@contextmanager
def marked() -> Iterator[None]:
    """While this is entered, torch.export marks what regions compute: with a number, and whether all of it is anew."""
    numbers = itertools.count()
    arguments = inspect.signature(checkpoint._checkpoint_without_reentrant_generator)

    @contextmanager
    def region(whole: bool) -> Iterator[None]:
        outer = traceback.current_meta.get("custom", {}).get(_REGION)
        with traceback.annotate({_REGION: outer or (next(numbers), whole)}):
            yield

    def without_reentry(*args: Any, **keywords: Any) -> Iterator[None]:
        call = arguments.bind(*args, **keywords).arguments
        if call["context_fn"] is not checkpoint.noop_context_fn and torch.is_grad_enabled():
            raise ValueError(
                "torch.utils.checkpoint with context_fn keeps some results and not others, which is not modelled: "
                "leave out context_fn, or this checkpoint"
            )
        stops = checkpoint._enable_checkpoint_early_stop
        with region(whole=not (call["early_stop"] if stops is None else stops)):
            yield

    class Reentrant:
        @staticmethod
        def apply(function: Callable[..., Any], preserve: bool, *args: Any) -> Any:
            if any(isinstance(part, torch.Tensor) and part.requires_grad for part in args):
                with region(whole=True):
                    return function(*args)
            with torch.no_grad():  # as torch computes it then: no weight of the region has a gradient
                return function(*args)

    with (
        traceback.preserve_node_meta(),
        mock.patch.object(checkpoint, "_checkpoint_without_reentrant_generator", without_reentry),
        mock.patch.object(checkpoint, "CheckpointFunction", Reentrant),
    ):
        yield


def recompute(nodes: fx.Graph) -> None:
    """Add the operations that regions compute anew, in a graph with gradients."""
    forward: dict[Region, set[fx.Node]] = {}
    gradients: dict[Region, list[fx.Node]] = {}  # those that read what a region computes, in program order
    for node in nodes.nodes:
        region = node.meta.get("custom", {}).get(_REGION)
        if region is None or node.op != "call_function":
            continue
        if not is_backward(node):
            forward.setdefault(region, set()).add(node)
        elif not forward.get(region, set()).isdisjoint(node.all_input_nodes):
            gradients.setdefault(region, []).append(node)
    for region, readers in gradients.items():
        whole, every = region[1], list(nodes.nodes)
        begin = every.index(readers[0])
        needed = forward[region] if whole else _closure(readers, forward[region])
        before = set(filter(is_backward, every[:begin]))
        inputs = (tuple(parent for parent in node.all_input_nodes if parent in before) for node in every[begin:])
        arrived = next(filter(None, inputs), ())  # the gradient that the region's gradients begin with
        with nodes.inserting_before(readers[0]):
            copies = _copied(nodes, [node for node in every if node in needed], arrived)
        for node in readers:
            for parent in node.all_input_nodes:
                if parent in copies:
                    node.replace_input_with(parent, copies[parent])


def _copied(nodes: fx.Graph, anew: Iterable[fx.Node], arrived: tuple[fx.Node, ...]) -> dict[fx.Node, fx.Node]:
    """Copies of these nodes, in program order, the first operations of which wait for the gradient that arrives."""
    copies: dict[fx.Node, fx.Node] = {}
    behind: set[fx.Node] = set()  # those that read what another operation computes anew
    for node in anew:
        copy = nodes.node_copy(node, lambda parent: copies.get(parent, parent))
        if any(parent in copies and (computes(parent) or parent in behind) for parent in node.all_input_nodes):
            behind.add(node)
        copy.meta |= {"partitioner_tag": "is_backward", _AFTER: () if node in behind else arrived}
        copies[node] = copy
    return copies


def _closure(readers: Iterable[fx.Node], inside: Set[fx.Node]) -> set[fx.Node]:
    """What these nodes need of the nodes inside a region."""
    needed: set[fx.Node] = set()
    waiting = [parent for node in readers for parent in node.all_input_nodes]
    while waiting:
        node = waiting.pop()
        if node in inside and node not in needed:
            needed.add(node)
            waiting += node.all_input_nodes
    return needed


def is_anew(node: fx.Node) -> bool:
    """Whether a node computes anew what forward has computed."""
    return _AFTER in node.meta


def waits_for(node: fx.Node) -> tuple[fx.Node, ...]:
    """What an operation waits for and does not read: of one that is computed anew, the region's gradient."""
    return tuple(node.meta.get(_AFTER, ()))
