"""Plans in terms of a torch module's parts, for other tools.

`device_map` (accelerate): names of modules, and of weights between them, with a number of a device or "cpu". A module
that has an entry gets its inputs on its device. What another module computes by itself has to find its operands on one
device. So one that joins its own inputs with results of its parts, as a residual block does, is whole.
`split_spec` (torch.distributed.pipelining): names of modules, each of which a stage begins with.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from learned_schedulers.graphs.plans.sources import Source

_INPUT = -1  # the place of an input of the network among operands


def whole_modules(source: Source) -> np.ndarray:
    """(n,) int64: operations of the same class share a device in every device_map."""
    graph, members = source.graph, _members(source)
    n, parents = len(graph), graph.children.reversed()
    reads_inputs = _reads_inputs(source)
    pairs = [] if source.passes is None else list(enumerate(source.passes.classes.tolist()))
    inner = {module.rpartition(".")[0] for module in members if module}  # they have parts
    waiting = [""]
    while waiting:
        module = waiting.pop()
        inside = members[module]
        with_target = not module and source.passes is not None  # the whole has the loss, which reads a target
        operands: dict[int, list[int]] = {}  # of what it computes by itself
        for i in sorted(inside):
            if graph.layers[i] == module:
                operands[i] = parents.targets[parents.offsets[i] : parents.offsets[i + 1]].tolist()
                operands[i] += [_INPUT] * bool(reads_inputs[i] and not with_target)
        joins = any(len(before) > 1 and not inside.issuperset(before) for before in operands.values())
        if module and (joins or module not in inner):
            pairs += pairwise(sorted(inside))
            continue
        # accelerate puts the network's inputs on the device of the first entry, that of the first operation.
        pairs += [(i, max(other, 0)) for i, before in operands.items() for other in before]
        waiting += _parts(members, module)
    ends = np.array(pairs, np.int64).reshape(-1, 2).T
    _, labels = connected_components(coo_array((np.ones(len(pairs)), (ends[0], ends[1])), shape=(n, n)), directed=False)
    return labels.astype(np.int64)


def _reads_inputs(source: Source) -> np.ndarray:
    """(n,) bool: the operation reads an input of the network."""
    if source.inputs is None:
        return np.zeros(len(source.graph), bool)
    readers = source.inputs.kept_bytes > 0
    readers[source.inputs.shared.readers] = True
    return readers


def device_map(source: Source, placement: np.ndarray, labels: Sequence[int | str]) -> dict[str, int | str]:
    """The entries of a placement, (n,), which keeps `whole_modules`. labels: (m,) of the devices."""
    members, entries = _members(source), {}
    waiting = [""]
    while waiting:
        module = waiting.pop()
        devices = {int(placement[i]) for i in members[module]} or {int(placement[0])}
        if len(devices) == 1:
            entries[module] = labels[devices.pop()]
            continue
        for name, reader in source.weights.items():
            if name.rpartition(".")[0] == module:
                entries[name] = labels[int(placement[max(reader, 0)])]
        waiting += _parts(members, module)[::-1]
    return entries


def _parts(members: dict[str, set[int]], module: str) -> list[str]:
    """The modules directly inside a module."""
    return [part for part in members if part and part.rpartition(".")[0] == module]


def _members(source: Source) -> dict[str, set[int]]:
    """The operations of forward that each module, "" for the whole, computes, or that read its weights."""
    members: dict[str, set[int]] = {"": set()}
    backward = np.zeros(len(source.graph), bool) if source.passes is None else source.passes.backward
    rows = list(zip(source.listed.layers, source.listed.owners.tolist(), strict=True))
    for path, operation in [*rows, *((name.rpartition(".")[0], number) for name, number in source.weights.items())]:
        for module in ("", *_prefixes(path)):
            members.setdefault(module, set())
            if operation >= 0 and not backward[operation]:
                members[module].add(operation)
    return members


def _prefixes(path: str) -> list[str]:
    """`a`, `a.b` and `a.b.c` of `a.b.c`."""
    return list(accumulate(path.split("."), "{}.{}".format)) if path else []


def first_operations(source: Source) -> dict[int, str]:
    """The operations that a stage may begin with, and the outermost module that begins there.

    Such a module is called once, and what comes before it in the program comes before all of its operations.
    """
    nodes, shared = source.listed, source.shared
    backward = np.zeros(len(source.graph), bool) if source.passes is None else source.passes.backward
    forward = np.flatnonzero(~backward[nodes.owners])
    owners = nodes.owners[forward]
    places: dict[str, list[int]] = {}
    for place, number in enumerate(forward.tolist()):
        for module in _prefixes(nodes.layers[number]):
            places.setdefault(module, []).append(place)
    first = np.full(len(source.graph), len(forward))
    np.minimum.at(first, owners, np.arange(len(forward)))
    last = np.full(len(source.graph), -1)
    np.maximum.at(last, owners, np.arange(len(forward)))
    before = np.r_[-1, np.maximum.accumulate(last)]  # the last place of the operations before each
    again = shared.sent & ~backward[shared.readers]
    begins: dict[int, str] = {}
    for module, inside in sorted(places.items(), key=lambda item: item[0].count(".")):
        operation, end = int(owners[inside[0]]), int(owners[inside[-1]])
        twice = again & (shared.firsts >= operation) & (shared.readers <= end)
        called_once = inside[-1] - inside[0] + 1 == len(inside) and not twice.any()
        if called_once and first[operation] == inside[0] and before[operation] < inside[0] and inside[0]:
            begins.setdefault(operation, module)
    return begins


def split_spec(stage_of: np.ndarray, begins: dict[int, str]) -> dict[str, str]:
    """The modules that the stages but the first begin with. stage_of: (n,); begins: of `first_operations`."""
    _, operations = np.unique(stage_of, return_index=True)
    return {begins[operation]: "beginning" for operation in operations[1:].tolist()}
