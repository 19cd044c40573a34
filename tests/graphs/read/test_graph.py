"""Graphs as rows of table `graphs`: numbering, identity, and every fault with its operation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.graphs.problems.problem import Edges
from learned_schedulers.graphs.read.graph import Graph, Operations, graph
from pipeline.lab.graph_table import read_graphs, write_graphs
from pipeline.lab.tables import TableError
from tests.graphs.read import drawn


def pairs(built: Graph) -> set[tuple[int, int]]:
    return set(zip(built.children.sources.tolist(), built.children.targets.tolist(), strict=True))


@given(n=st.integers(1, 25), edges=st.integers(0, 60), seed=st.integers(0, 1000))
def test_numbers_are_the_first_topological_order(n: int, edges: int, seed: int) -> None:
    """The order is the lexicographically first topological order of networkx; nothing else changes."""
    built, order, listed, ends = drawn.shuffled(n, edges, np.random.default_rng(seed))
    whole = nx.DiGraph()
    whole.add_nodes_from(range(n))
    whole.add_edges_from(ends.T.tolist())
    assert order.tolist() == list(nx.lexicographical_topological_sort(whole))
    assert {(int(order[i]), int(order[j])) for i, j in pairs(built)} == set(whole.edges)
    assert len(built.children.targets) == whole.number_of_edges()
    assert built.flops.tolist() == listed.flops[order].tolist()
    assert built.kinds == tuple(listed.kinds[i] for i in order)
    assert built.layers == tuple(listed.layers[i] for i in order)


@pytest.mark.parametrize("n", [0, 1, 7])
def test_rows_come_back_from_a_file(n: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    built = graph("a", "b", "drawn", drawn.operations(n, rng), np.arange(n - 1), np.arange(1, n))[0]
    untimed = replace(built, seconds=np.zeros(0))
    write_graphs(tmp_path / "graphs.parquet", [built, untimed])
    for before, after in zip((built, untimed), read_graphs(tmp_path / "graphs.parquet"), strict=True):
        assert after.graph_id == before.graph_id and pairs(after) == pairs(before)
        assert after.seconds.tolist() == before.seconds.tolist() and after.layers == before.layers
        assert (after.name, after.family, after.variant) == ("a", "b", "drawn")


def test_the_identity_is_of_all_arrays_and_of_nothing_else() -> None:
    built = drawn.shuffled(9, 20, np.random.default_rng(0))[0]
    changed = [
        replace(built, kinds=("other", *built.kinds[1:])),
        replace(built, layers=("other", *built.layers[1:])),
        replace(built, seconds=np.zeros(0)),
        replace(built, children=Edges(np.zeros(10, np.int32), np.zeros(0, np.int32))),
    ]
    for name in ("flops", "bytes_read", "bytes_written", "bytes_kept", "seconds"):
        values = getattr(built, name).copy()
        values[4] += 1
        changed.append(replace(built, **{name: values}))
    assert len({built.graph_id, *(changed_graph.graph_id for changed_graph in changed)}) == len(changed) + 1
    assert replace(built, name="other", family="other", variant="other").graph_id == built.graph_id


def test_a_changed_row_is_refused() -> None:
    row = drawn.shuffled(9, 20, np.random.default_rng(0))[0].to_row()
    with pytest.raises(ValueError, match="graph drawn: its arrays do not match its graph_id"):
        Graph.from_row({**row, "flops": row["flops"] + 1})


def test_damaged_files_give_the_graph_or_a_fault_that_names_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    graphs = [drawn.shuffled(30, 90, rng)[0] for _ in range(3)]
    path, refused = tmp_path / "graphs.parquet", 0
    write_graphs(path, graphs)
    whole = path.read_bytes()
    for trial in range(200):
        mutated = bytearray(whole if trial % 2 else whole[: int(rng.integers(len(whole)))])
        for at in rng.integers(0, max(len(mutated), 1), trial % 2 * 2).tolist():
            mutated[at] = int(rng.integers(256))
        path.write_bytes(mutated)
        try:
            assert [graph.graph_id for graph in read_graphs(path)] == [graph.graph_id for graph in graphs]
        except TableError as error:
            refused += 1
            assert str(path) in str(error)
    assert refused > 100


def test_an_empty_table_comes_back(tmp_path: Path) -> None:
    write_graphs(tmp_path / "graphs.parquet", [])
    assert read_graphs(tmp_path / "graphs.parquet") == []


def test_ten_thousand_parents_of_one_operation_and_duplicate_edges() -> None:
    n = 10_001
    nothing = np.zeros(n, np.int64)
    listed = Operations(["add"] * n, np.zeros(n), nothing, nothing, nothing)
    sources, targets = np.r_[np.arange(1, n), np.arange(1, n)], np.zeros(2 * (n - 1), np.int64)
    built, order = graph("star", "star", "drawn", listed, sources, targets)
    assert order.tolist() == [*range(1, n), 0]
    assert np.bincount(built.children.targets).tolist() == [0] * (n - 1) + [n - 1]


def listed(**changes: object) -> Operations:
    n = 4
    nothing = np.zeros(n, np.int64)
    plain = Operations(["add"] * n, np.zeros(n), nothing, nothing, nothing, labels=["a", "b", "c", "d"])
    return replace(plain, **changes)


@pytest.mark.parametrize(
    ("operations", "edges", "message"),
    [
        (listed(), [(0, 1), (1, 2), (2, 3), (3, 1)], "operation b needs its own result: b -> c -> d -> b"),
        (listed(), [(0, 1), (2, 2), (2, 3)], "operation c needs its own result: c -> c"),
        (listed(), [(0, 4)], "an edge joins operation a and operation 4, which does not exist; there are 4"),
        (listed(), [(-1, 2)], "an edge joins operation c and operation -1, which does not exist"),
        (listed(kinds=["add", "", "add", "add"]), [], "operation b has no kind"),
        (listed(flops=np.array([0, 0, np.nan, 0])), [], "operation c has nan flops"),
        (listed(seconds=np.array([0, 0, 0, -1.0])), [], "operation d has -1.0 seconds"),
        (listed(seconds=np.array([np.inf, 0, 0, 0])), [], "operation a has inf seconds"),
        (listed(bytes_written=np.array([0, -5, 0, 0])), [], "operation b has -5 bytes_written"),
        (listed(bytes_kept=np.array([0, 1e30, 0, 0])), [], "operation b has 1e.30 bytes_kept"),
    ],
)
def test_faults_name_graph_and_operation(operations: Operations, edges: list[tuple[int, int]], message: str) -> None:
    ends = np.array(edges, np.int64).reshape(-1, 2)
    with pytest.raises(ValueError, match=f"graph mine: .*{message}"):
        graph("mine", "family", "drawn", operations, ends[:, 0], ends[:, 1])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"offsets": [0, 1, 2]}, "do not cut"),
        ({"offsets": [0, 2, 1, 2]}, "do not cut"),
        ({"children": [1, 1]}, "edge 1 -> 1 does not go to a higher number"),
        ({"children": [1, 3]}, "edge 1 -> 3 does not go to a higher number below 3"),
        ({"offsets": [0, 2, 2, 2], "children": [2, 1]}, "edges of operation 0 are not sorted"),
        ({"flops": [1.0, 2.0]}, "3 operations, but 2 flops"),
        ({"flops": [1.0, -2.0, 0.0]}, "operation 1 has -2.0 flops"),
    ],
)
def test_faulty_rows_are_named(changes: dict[str, list], message: str) -> None:
    rng = np.random.default_rng(0)
    row = graph("mine", "family", "drawn", drawn.operations(3, rng), np.array([0, 1]), np.array([1, 2]))[0].to_row()
    with pytest.raises(ValueError, match=f"graph mine: .*{message}"):
        Graph.from_row(row | changes)
