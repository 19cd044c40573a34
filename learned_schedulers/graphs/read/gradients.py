"""Which operation of forward each gradient of a traced training step belongs to, so that both share a device.

Torch gives a function and its gradient the same number; what has no gradient gets that of the next function. A sum of
gradients has no number of its own, nor has what torch adds between two gradients: each belongs to the earliest
operation of forward whose gradients it reads.
"""

from __future__ import annotations

import numpy as np
from torch import fx

from learned_schedulers.graphs.read.fx_nodes import computes, is_backward, is_free, kind_of
from learned_schedulers.graphs.read.graph import Passes

_NUMBER = "seq_nr"  # entry of a node's `meta`


def passes_of(nodes: fx.Graph) -> Passes:
    """The passes of a traced training step. The class of an operation is the number of that of forward."""
    number: dict[fx.Node, int] = {}  # of operations, and of what shares their memory
    homes: dict[int, int] = {}  # torch's number of a function -> the operation
    classes: list[int] = []
    backward: list[bool] = []
    for node in nodes.nodes:
        if node.op == "call_function" and is_free(node) and node.all_input_nodes[0] in number:
            number[node] = number[node.all_input_nodes[0]]
        elif computes(node):
            number[node] = len(classes)
            backward.append(is_backward(node))
            classes.append(_class_of(node, number, homes, classes, backward) if backward[-1] else number[node])
        if node in number and not is_backward(node):
            homes[node.meta.get(_NUMBER, -1)] = number[node]
    return Passes(np.array(backward, bool), np.array(classes, np.int64))


def _class_of(
    node: fx.Node, number: dict[fx.Node, int], homes: dict[int, int], classes: list[int], backward: list[bool]
) -> int:
    """The class of a gradient, whose parents have theirs."""
    parents = [number[parent] for parent in node.all_input_nodes if parent in number]
    gradients = [classes[parent] for parent in parents if backward[parent]]
    is_sum = kind_of(node) == "add" and len(gradients) > 1
    if not is_sum and node.meta.get(_NUMBER) in homes:
        return homes[node.meta[_NUMBER]]
    return min(gradients or [classes[parent] for parent in parents], default=0)
