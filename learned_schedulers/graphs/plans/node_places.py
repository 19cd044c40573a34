"""The device of every node of a captured graph, from the placement of its operations."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

import numpy as np
from torch import fx

from learned_schedulers.graphs.plans.call_form import NotPlaceable
from learned_schedulers.graphs.plans.module_capture import operations_of, weight_name
from learned_schedulers.graphs.plans.placed_run import OPERATION, PLACE
from learned_schedulers.graphs.read.export import computes, kind_of
from learned_schedulers.graphs.read.workloads import WorkloadError, names_of_split, placement_of_split


def place_nodes(graph: fx.Graph, kinds: Sequence[str], placement: Sequence[int]) -> dict[str, int]:
    """Set PLACE and OPERATION in `meta` of the nodes; return the device of each weight, that of its first reader.

    kinds, placement: (n,) of the operations without gradients. With gradients torch may compute a product otherwise;
    operations that have no counterpart follow the one before.
    Nodes without cost follow what they belong to; gradients follow the operation of forward that they are of. What
    belongs to an input has no device, because the caller decides where it is.
    """
    operations = operations_of(graph)
    for node in operations:
        node.meta[PLACE] = placement[0] if placement else 0
    matcher = SequenceMatcher(None, kinds, [kind_of(node) for node in operations], autojunk=False)
    for first, second, length in matcher.get_matching_blocks():
        for number, node in zip(range(first, first + length), operations[second : second + length], strict=True):
            node.meta |= {OPERATION: number, PLACE: placement[number]}
    for before, node in pairwise(operations):
        if OPERATION not in node.meta:
            node.meta[PLACE] = before.meta[PLACE]
    homes: dict[str, int] = {}
    forward: dict[int, int] = {}  # number that torch gives to a function and its gradient -> device
    for node in graph.nodes:
        if node.op == "call_function" and PLACE in node.meta:
            forward.setdefault(node.meta.get("seq_nr", -1), node.meta[PLACE])
            for parent in map(owner_of, node.all_input_nodes):
                if name := weight_name(parent.meta.get("desc")):
                    homes.setdefault(name, node.meta[PLACE])
    for node in graph.nodes:
        if node.op != "call_function" or PLACE in node.meta:
            continue
        owner = owner_of(node)
        if computes(node):
            near = [parent.meta[PLACE] for parent in node.all_input_nodes if PLACE in parent.meta]
            node.meta[PLACE] = forward.get(node.meta.get("seq_nr", -1), near[0] if near else 0)
        elif PLACE in owner.meta:
            node.meta |= {key: owner.meta[key] for key in (PLACE, OPERATION) if key in owner.meta}
        elif (name := weight_name(owner.meta.get("desc"))) in homes:
            node.meta[PLACE] = homes[name]
    return homes


def owner_of(node: fx.Node) -> fx.Node:
    """The node that computed a result: the node itself, or if it costs nothing, the owner of its input."""
    while node.op == "call_function" and not computes(node) and node.all_input_nodes:
        node = node.all_input_nodes[0]
    return node


def check_placement(placement: np.ndarray, operations: int, devices: int, training: bool) -> None:
    """Raises NotPlaceable if a placement is not of so many operations on so many devices."""
    if operations != len(placement):
        mode = "call module.eval(), because in training mode it may compute more, or " if training else ""
        raise NotPlaceable(
            f"the placement has {len(placement)} operations, but the module has {operations}: {mode}place this module, "
            "with inputs of these shapes"
        )
    if placement.ndim != 1 or placement.dtype.kind not in "iu":
        raise NotPlaceable(f"the placement is {placement.dtype} {placement.shape}; it must be one list of integers")
    if len(placement) and not 0 <= placement.min() <= placement.max() < devices:
        wrong = placement.min() if placement.min() < 0 else placement.max()
        raise NotPlaceable(f"the placement uses device {wrong}, but only {devices} devices are given: name them all")


def of_file(split: Path, name: str, kinds: Sequence[str]) -> np.ndarray:
    """The placement of a split file. Raises NotPlaceable that names the file if it is of other operations."""
    try:
        labels = names_of_split(split)
        of_step = [label for label in labels.values() if "backward" in label]
        for number, label in sorted(labels.items()):
            kind = kinds[number] if number < len(kinds) else "nothing"
            if not label.endswith(f"({kind})"):
                cause = f", and a training step ({of_step[0]})" if of_step else ""
                remedy = "without --training, " if of_step else ""
                raise NotPlaceable(
                    f"{split}: this is a split of {len(labels)} operations{cause}, but {name} has {len(kinds)}; "
                    f"operation {number} is {label} there and {kind} here: write the split of this module, {remedy}"
                    "with inputs of these shapes, by graph --split"
                )
        return placement_of_split(split, np.arange(len(kinds)), name)
    except WorkloadError as error:
        raise NotPlaceable(f"{error}: or write the split of this module by graph --split") from error
