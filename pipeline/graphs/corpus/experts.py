"""Placements that a human expert makes of a network's layers: in equal numbers, of balanced work, and published ones.

What counts as a layer follows from the module paths of the operations (`Graph.layers`), see `layer_blocks`. The three
placements know neither transfers nor memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from pipeline.graphs.corpus.graph import Graph

_UNKNOWN = -1
_PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")  # of ONNX files, whose operations have no module paths
_RECURRENT = ("rnnlm", "gnmt")  # families
_RECURRENT_LAYER = re.compile(r"(?:^|\.)(?:encoder|decoder|layers)\.(\d+)(?:\.|$)")


def layer_blocks(graph: Graph) -> np.ndarray:
    """Number of the layer of each operation, (n,) int64: from 0, in the order in which the forward pass reaches them.

    1. A path is cut behind its first component with a digit, and behind an integer that follows a name with one:
       `encoder.layer.5.output` -> `encoder.layer.5`, `Mixed_6c.branch_pool` -> `Mixed_6c`, `layer3.2.conv1` ->
       `layer3.2`. A path without a digit is cut behind the first component that leads to no numbered module:
       `bert.embeddings.dropout` -> `bert.embeddings`, for `bert` contains `bert.encoder.layer.5`.
    2. What is left is a layer where at least two paths of the graph lie in it. The others are single operations, as
       `conv1` or `lm_head`: those before the first layer are one layer (the stem), those behind the last one as well
       (the head), and one between two layers belongs to the layer before if it reads a result of that, and otherwise
       to the layer behind. If no module is a layer, every path is one.
    3. An operation of unknown path, or of a module that contains numbered ones, is of the layer of the operation
       before it, and of the first known one if there is none before.

    Gradients have the paths of their forward operations, and so their layers; those of rule 3 that of the gradient
    before. In a part of a graph that begins among gradients, the order is that in which these reach the layers. Where
    no path is known, every product with weights begins a layer (ONNX: Conv, ConvTranspose, Gemm, MatMul), and what is
    before the first belongs to it as well; without such products there is one layer.
    """
    if not any(graph.layers):
        begins = np.isin(np.array(graph.kinds, object), _PRODUCTS) & (graph.bytes_kept > 0)
        return np.maximum(np.cumsum(begins) - 1, 0)
    modules = _modules(graph.layers)
    first: dict[str, list[int]] = {}  # module -> its operations, in the order of the first ones
    for i, path in enumerate(graph.layers):
        if path in modules:
            first.setdefault(modules[path], []).append(i)
    numbers = np.full(len(graph), _UNKNOWN)
    for layer, members in enumerate(_merged(graph, first, modules)):
        numbers[members] = layer
    return _filled(numbers)


def by_layers(graph: Graph, devices: int) -> np.ndarray:
    """Device of each operation, (n,) int32: contiguous layers, in numbers that differ by one at most.

    With more devices than layers the last devices stay unused. Raises ValueError for less than one device.
    """
    blocks = layer_blocks(graph)
    return _split(blocks, devices, int(blocks.max(initial=-1)) + 1)


def balanced(graph: Graph, seconds: np.ndarray, devices: int) -> np.ndarray:
    """Device of each operation, (n,) int32: contiguous layers, so that the most work of a device is the least possible.

    seconds: (n,) run time of each operation. Every device has a layer if there are enough of them. Of several such
    placements the one with the earliest end of device 0, whose other devices are balanced by the same rule; exact, by
    dynamic programming: O(devices x layers squared). Raises ValueError for less than one device, and where the run
    times are not those of n operations.
    """
    if len(seconds) != len(graph):
        raise ValueError(f"graph {graph.name}: {len(graph)} operations, but {len(seconds)} run times")
    _check(devices)
    blocks = layer_blocks(graph)
    layers = int(blocks.max(initial=-1)) + 1
    cuts = _cuts(np.bincount(blocks, seconds, layers), min(devices, layers))
    return np.searchsorted(cuts, blocks, side="right").astype(np.int32)


def published(graph: Graph, devices: int) -> np.ndarray | None:
    """Device of each operation, (n,) int32, as it was published for the architecture; None where nothing was.

    Recurrent networks (families rnnlm, gnmt) have a layer on a device (Sutskever et al. 2014, section 3.5; Wu et al.
    2016, section 3.4 and figure 1): layers i of encoder and decoder on the same, embeddings with the first layer, the
    softmax layer with the top one, attention with the first decoder layer, whose result it reads. Of the first encoder
    layer of GNMT both directions run at the same time: the one back is beside the second layer, as in the authors' code
    (github.com/tensorflow/nmt). With fewer devices than layers contiguous ones share a device, in numbers that differ
    by one at most; with more the last devices stay unused. Neither the softmax layer is partitioned nor layers dealt
    out in turn, as the papers and the code do it there: an operation is on one device. Of a part of a graph the layers
    that it has count. Raises ValueError for less than one device.
    """
    _check(devices)
    if graph.family not in _RECURRENT:
        return None
    levels = {path: level for path in graph.layers if (level := _level(path)) is not None}
    top = max(levels.values(), default=0)
    levels |= {path: top for path in graph.layers if path.split(".")[-1] == "logits"}
    if not levels:
        return None
    filled = _filled(np.array([levels.get(path, _UNKNOWN) for path in graph.layers]))
    layers, rank = np.unique(filled, return_inverse=True)
    return _split(rank, devices, len(layers))


def _level(path: str) -> int | None:
    """Which layer of a recurrent network, from 0 at the bottom; None where the path does not tell, and of logits."""
    if match := _RECURRENT_LAYER.search(path):
        return int(match[1])
    components = path.split(".")
    if components[0] == "backward_layer":
        return 1
    return 0 if components[-1] in ("embedding", "source", "target") else None


def _check(devices: int) -> None:
    if devices < 1:
        raise ValueError(f"{devices} devices; there must be one at least")


def _split(layer: np.ndarray, devices: int, layers: int) -> np.ndarray:
    """Device of each operation, (n,) int32, of its layer, (n,), for so many layers in equal numbers."""
    _check(devices)
    return (layer * min(devices, layers) // max(layers, 1)).astype(np.int32)


def _cuts(work: np.ndarray, parts: int) -> np.ndarray:
    """First layers of all parts but the first, (parts - 1,), for the least largest sum of work, (k,); parts <= k.

    least[j]: the least largest sum of layers j.. in so many parts; cut[p][j]: where the first of p parts ends then.
    """
    k = len(work)
    until = np.r_[0.0, np.cumsum(work)]
    least = until[k] - until[:k]  # of one part
    cut = np.full((parts + 1, k), k)
    for p in range(2, parts + 1):
        before, least = least, np.full(k, np.inf)
        for j in range(k - p + 1):
            ends = slice(j + 1, k - p + 2)  # so that a layer is left for each of the other parts
            largest = np.maximum(until[ends] - until[j], before[ends])
            cut[p, j] = j + 1 + int(largest.argmin())
            least[j] = largest[cut[p, j] - j - 1]
    cuts: list[int] = []
    for p in range(parts, 1, -1):
        cuts.append(int(cut[p, cuts[-1] if cuts else 0]))
    return np.array(cuts, np.int64)


def _filled(numbers: np.ndarray) -> np.ndarray:
    """Numbers, (n,), where unknown ones are those before them, and leading ones the first known."""
    known = numbers != _UNKNOWN
    last = np.maximum.accumulate(np.where(known, np.arange(len(numbers)), -1))
    return numbers[np.where(last < 0, known.argmax(), last)]


def _modules(paths: Sequence[str]) -> dict[str, str]:
    """Path -> the module that it is cut to; paths that tell nothing are not there."""
    different = [path for path in dict.fromkeys(paths) if path]
    modules = {path: module for path in different if (module := _numbered(path))}
    containing = {above for module in set(modules.values()) for above in _prefixes(module)[:-1]}
    for path in different:
        if path not in modules:
            leads_nowhere = [prefix for prefix in _prefixes(path) if prefix not in containing]
            if leads_nowhere:
                modules[path] = leads_nowhere[0]
    if not _composite(modules):
        return {path: path for path in different}
    return modules


def _prefixes(path: str) -> list[str]:
    components = path.split(".")
    return [".".join(components[: end + 1]) for end in range(len(components))]


def _numbered(path: str) -> str:
    """The path to its first numbered module; empty without one."""
    components = path.split(".")
    for k, component in enumerate(components):
        if any(letter.isdigit() for letter in component):
            name_and_number = not component.isdigit() and "".join(components[k + 1 : k + 2]).isdigit()
            return ".".join(components[: k + 1 + name_and_number])
    return ""


def _composite(modules: dict[str, str]) -> set[str]:
    """The modules in which at least two paths lie."""
    counts: dict[str, int] = {}
    for module in modules.values():
        counts[module] = counts.get(module, 0) + 1
    return {module for module, count in counts.items() if count > 1}


def _merged(graph: Graph, operations: dict[str, list[int]], modules: dict[str, str]) -> list[list[int]]:
    """Operations of each layer, of those of each module in the order in which these are reached."""
    composite = _composite(modules)
    if not composite:
        return list(operations.values())
    order = list(operations)
    of_layers = [k for k, module in enumerate(order) if module in composite]
    merged: list[list[int]] = []
    waiting: list[int] = []  # operations that belong to the layer behind
    for k, module in enumerate(order):
        members = operations[module]
        if module in composite:
            if k == of_layers[0] and waiting:
                merged.append(waiting)  # the stem
                waiting = []
            merged.append(waiting + members)
            waiting = []
        elif of_layers[0] < k < of_layers[-1] and _reads(graph, members, merged[-1]):
            merged[-1] = merged[-1] + members
        else:
            waiting = waiting + members
    return [*merged, waiting] if waiting else merged  # the head


def _reads(graph: Graph, readers: list[int], read: list[int]) -> bool:
    """Whether any of some operations reads a result of any of others."""
    return bool((np.isin(graph.children.targets, readers) & np.isin(graph.children.sources, read)).any())
