"""A source whose groups of operations, which a runtime computes as one, are one operation each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from learned_schedulers.graphs.plans.sources import Nodes, Source
from learned_schedulers.graphs.problems.problem import Edges, Inputs, Parts, SharedWeights
from learned_schedulers.graphs.read.graph import Graph, Operations, graph
from learned_schedulers.graphs.read.joins.recognised import Joins


def joined(source: Source, joins: Joins, kinds: Mapping[str, str], constants: int = 0) -> Source:
    """The source with one operation for each group of its n operations, and without those that disappear.

    A split still lists the n operations (`Source.nodes`). kinds: names of the groups' kinds; constants: number of the
    operations that disappear because their results never change, for the note.
    """
    if (not joins.groups and not joins.passed) or len(joins.passed) == len(source.graph):
        return source
    places = _Places(source.graph, joins)
    new_graph = _graph_of(source, joins, kinds, places)
    types = source.types or ("",) * len(source.graph)
    new_types = [""] * len(new_graph)
    for number, of_type in enumerate(types):
        place = places.of[number]
        if of_type and number not in joins.passed:
            new_types[place] = new_types[place] or of_type
    shared, kept_bytes = _shared_of(source.shared, new_graph.bytes_kept, places)
    return replace(
        source,
        graph=replace(new_graph, bytes_kept=kept_bytes),
        names=_names_of(source, joins, kinds, places),
        ids=np.arange(len(new_graph)),
        types=tuple(new_types) if source.types else (),
        notes=(*source.notes, *_notes(source, joins, kinds, constants)),
        shared=shared,
        inputs=_inputs_of(source.inputs, places),
        results=None if source.results is None else _parts_of(source.results, source.graph, joins, places),
        weights={name: int(places.of[number]) if number >= 0 else -1 for name, number in source.weights.items()},
        nodes=Nodes(source.names, source.ids, places.of, source.graph.layers),
    )


class _Places:
    """Where operations go: `exits` are those that stay, in order; `of` (n,) int64 the place of each operation."""

    def __init__(self, before: Graph, joins: Joins) -> None:
        n = len(before)
        exits = np.arange(n)
        for join in joins.groups:
            exits[list(join.members)] = join.exit
        self._passed = joins.passed
        self._children = before.children
        remaining = [number for number in range(n) if exits[number] == number and number not in joins.passed]
        place = {number: k for k, number in enumerate(remaining)}
        self.exits = np.array(remaining, np.int64)
        self.of = np.array([place.get(int(exits[number]), -1) for number in range(n)], np.int64)
        offsets, children = before.children.offsets, before.children.targets
        for number in sorted(joins.passed, reverse=True):  # with the first operation that reads it
            self.of[number] = min(self.of[children[offsets[number] : offsets[number + 1]]], default=0)

    def readers(self, numbers: list[int]) -> Iterator[int]:
        """The operations that read these results, in place of those that disappear those that read theirs."""
        for number in numbers:
            begin, end = self._children.offsets[number], self._children.offsets[number + 1]
            for reader in self._children.targets[begin:end].tolist():
                if reader in self._passed:
                    yield from self.readers([reader])
                else:
                    yield reader

    def sources(self, number: int) -> Iterator[int]:
        """The operation itself, or what the readers of one that disappears read instead."""
        if number not in self._passed:
            yield number
            return
        for source in self._passed[number]:
            yield from self.sources(source)


def _graph_of(source: Source, joins: Joins, kinds: Mapping[str, str], places: _Places) -> Graph:
    before = source.graph
    flops, read, written = before.flops.copy(), before.bytes_read.copy(), before.bytes_written.copy()
    names = list(before.kinds)
    for join in joins.groups:
        flops[join.exit], read[join.exit], written[join.exit] = join.flops, join.read, join.written
        names[join.exit] = kinds.get(join.kind, join.kind)
    kept_bytes = np.bincount(places.of, before.bytes_kept, len(places.exits))
    edges = {
        (int(places.of[origin]), int(places.of[target]))
        for first, target in zip(before.children.sources.tolist(), before.children.targets.tolist(), strict=True)
        if target not in joins.passed
        for origin in places.sources(first)
    }
    pairs = np.array([pair for pair in sorted(edges) if pair[0] != pair[1]], np.int64).reshape(-1, 2)
    at = places.exits
    operations = Operations(
        [names[i] for i in at], flops[at], read[at], written[at], kept_bytes, [before.layers[i] for i in at]
    )
    return graph(before.name, before.family, before.variant, operations, pairs[:, 0], pairs[:, 1])[0]


def _names_of(source: Source, joins: Joins, kinds: Mapping[str, str], places: _Places) -> tuple[str, ...]:
    names = list(source.names)
    for join in joins.groups:
        first, last = source.names[join.members[0]], source.names[join.exit]
        names[join.exit] = f"{kinds.get(join.kind, join.kind)} of {first} to {last}, {len(join.members)} operations"
    return tuple(names[i] for i in places.exits)


def _parts_of(parts: Parts, before: Graph, joins: Joins, places: _Places) -> Parts:
    """The parts of results without those that only their group reads."""
    inner = {number for join in joins.groups for number in join.members[:-1]} | joins.passed.keys()
    rows: list[tuple[int, int, list[int]]] = []
    for part, owner in enumerate(parts.owners.tolist()):
        if owner in inner:
            continue
        readers: set[int] = set()
        for reader in parts.readers.targets[parts.readers.offsets[part] : parts.readers.offsets[part + 1]].tolist():
            actual = places.readers([reader]) if reader in joins.passed else [reader]
            readers |= {int(places.of[number]) for number in actual}
        rows.append((int(places.of[owner]), part, sorted(readers)))
    rows.sort(key=lambda row: row[:2])
    at = [part for _, part, _ in rows]
    edges = Edges(
        np.cumsum([0, *(len(readers) for _, _, readers in rows)]).astype(np.int32),
        np.array([reader for _, _, readers in rows for reader in readers], np.int32),
    )
    owners = np.array([owner for owner, _, _ in rows], np.int64)
    passed_on = [  # what disappears was a copy that the model returns
        int(places.of[source])
        for owner in parts.owners[parts.lasting].tolist()
        if owner in joins.passed
        for source in places.sources(owner)
    ]
    return Parts(owners, parts.sizes[at], edges, parts.lasting[at] | np.isin(owners, passed_on))


def _shared_of(shared: SharedWeights, kept_bytes: np.ndarray, places: _Places) -> tuple[SharedWeights, np.ndarray]:
    """Reads of weights by the new operations, and the bytes that they keep, (n,) int64: a weight's first reader."""
    readers: dict[int, set[int]] = {}
    sizes: dict[int, int] = {}
    first: dict[int, int] = {}
    rows = zip(shared.weights.tolist(), shared.readers.tolist(), shared.firsts.tolist(), shared.sizes, strict=True)
    for weight, reader, origin, size in rows:
        readers.setdefault(weight, set()).update((int(places.of[reader]), int(places.of[origin])))
        sizes[weight], first[weight] = int(size), int(places.of[origin])
    kept_bytes = kept_bytes.copy()
    for weight, numbers in readers.items():
        moved = min(sizes[weight], int(kept_bytes[first[weight]]))  # of a weight that was first read in part, the part
        kept_bytes[first[weight]] -= moved
        kept_bytes[min(numbers)] += moved
    tensors = ((sorted(numbers), sizes[weight]) for weight, numbers in readers.items())
    return SharedWeights.of(tensors, bool(shared.sent.all())), kept_bytes


def _inputs_of(inputs: Inputs | None, places: _Places) -> Inputs | None:
    if inputs is None:
        return None
    kept_bytes = np.bincount(places.of, inputs.kept_bytes, len(places.exits)).astype(np.int64)
    shared, kept_bytes = _shared_of(inputs.shared, kept_bytes, places)
    return Inputs(kept_bytes, shared)


def _notes(source: Source, joins: Joins, kinds: Mapping[str, str], constants: int) -> Iterator[str]:
    """Sentences about what counts as one operation."""
    counts = Counter(kinds.get(join.kind, join.kind) for join in joins.groups)
    if counts:
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
        operations = sum(len(join.members) for join in joins.groups)
        yield f"{operations} operations count as {len(joins.groups)}, which runtimes make of them: {listed}"
    if constants:
        yield f"{constants} operations whose results never change take no time, because runtimes compute them once"
