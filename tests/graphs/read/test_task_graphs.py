"""Task graphs of others: nothing is lost, and what cannot be scheduled is refused with a reason."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.methods.rules.listing import by_critical_path
from learned_schedulers.graphs.plans.model_files import read_graph
from learned_schedulers.graphs.plans.sources import Source, on_devices

# The example of the set's documentation has this form: a task, its time, its predecessors.
STG = """          3
          0          0          0
          1          4          1          0
          2          6          1          0
          3          5          2          1          2
          4          0          1          3
# Standard Task Graph Set Project
"""
_SIZES = {"in": 9, "x": 100, "y": 20, "out": 7}  # bytes of files
_SECONDS = {"a": 1.5, "b": 2, "c": 0.5}


def _task(name: str, parents: list[str], children: list[str], reads: list[str], writes: list[str]) -> dict[str, Any]:
    ends = {"parents": parents, "children": children}
    return {"name": "work", "id": name} | ends | {"inputFiles": reads, "outputFiles": writes}


_TASKS = [
    _task("a", [], ["b", "c"], ["in"], ["x", "y"]),
    _task("b", ["a"], [], ["x"], ["out"]),
    _task("c", ["a"], [], ["x", "y"], []),
]
SPECIFIED: dict[str, Any] = {
    "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": _TASKS,
            "files": [{"id": name, "sizeInBytes": size} for name, size in _SIZES.items()],
        },
        "execution": {"tasks": [{"id": name, "runtimeInSeconds": seconds} for name, seconds in _SECONDS.items()]},
    },
}
FLAT: dict[str, Any] = {
    "schemaVersion": "1.4",
    "workflow": {
        "tasks": [
            {
                "name": task["id"],
                "runtimeInSeconds": _SECONDS[task["id"]],
                "parents": task["parents"],
                "files": [
                    {"link": link, "name": name, "sizeInBytes": _SIZES[name]}
                    for link in ("input", "output")
                    for name in task[f"{link}Files"]
                ],
            }
            for task in _TASKS
        ]
    },
}
SAGA: dict[str, Any] = {
    "task_graph": {
        "tasks": [{"name": "b", "cost": 4.0}, {"name": "a", "cost": 1.0}, {"name": "c", "cost": 3.0}],
        "dependencies": [{"source": "a", "target": "b", "size": 0.5}, {"source": "a", "target": "c", "size": 0.25}],
    },
    "network": {
        "nodes": [{"name": "n1", "speed": 2.0}, {"name": "n2", "speed": 2.0}],
        "edges": [
            {"source": "n1", "target": "n2", "speed": 0.25},
            {"source": "n1", "target": "n1", "speed": None},
            {"source": "n2", "target": "n2", "speed": None},
        ],
    },
}


def source(folder: Path, content: str | dict[str, Any], name: str = "graph.json") -> Source:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_graph(path, {})


def edges(source: Source) -> set[tuple[str, str]]:
    children = source.graph.children
    pairs = zip(children.sources.tolist(), children.targets.tolist(), strict=True)
    return {(source.names[before], source.names[after]) for before, after in pairs}


def test_a_standard_task_graph(tmp_path: Path) -> None:
    read = source(tmp_path, STG, "rand.stg")
    assert read.graph.seconds.tolist() == [0, 4, 6, 5, 0] and read.graph.name == "rand"
    joined = {("task 0", "task 1"), ("task 0", "task 2"), ("task 1", "task 3"), ("task 2", "task 3")}
    assert edges(read) == joined | {("task 3", "task 4")}
    problem = on_devices(read, devices=2)
    order, placement = by_critical_path(problem)
    assert makespans(problem, order[None], placement[None])[0] == problem.bound == 11 and not problem.delays.any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("          3\n", "          3 2\n"), "line 1: the first line must have the number of tasks alone"),
        (("          3\n", "          4\n"), "line 1: 4 tasks and two dummies have 6 lines, not 5"),
        (("          3\n", "  999999999\n"), "line 1: the first line must have the number of tasks alone"),
        (("2          6", "2         -6"), "line 4: this is not task 2"),
        (("2          6", "2        6.5"), "line 4: '6.5' is no integer"),
        (("1          2\n", "1          9\n"), "line 5: there is no task 9, only 0 to 4"),
        (("6          1          0", "6          1          3"), "operation task 2 needs its own result"),
        (("5          2", "5          3"), "line 5: this is not task 3"),
    ],
)
def test_a_fault_of_a_standard_task_graph_has_its_line(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        source(tmp_path, STG.replace(*change), "rand.stg")
    assert str(error.value).startswith(str(tmp_path / "rand.stg"))


@pytest.mark.parametrize("workflow", [SPECIFIED, FLAT])
def test_a_workflow_of_both_versions(tmp_path: Path, workflow: dict[str, Any]) -> None:
    read = source(tmp_path, workflow)
    assert read.names == ("a", "b", "c") and edges(read) == {("a", "b"), ("a", "c")}
    assert read.graph.seconds.tolist() == [1.5, 2, 0.5]
    assert read.graph.bytes_written.tolist() == [120, 0, 0], "every child needs the whole result: the larger one"
    assert on_devices(read, devices=2).sizes.tolist() == [120, 0, 0] and read.link is None


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("specification", "tasks", 1, "parents"), ["z"], "task 'b': there is no task 'z'"),
        (("specification", "tasks", 1, "id"), "a", "the id 'a' belongs to more than one task"),
        (("specification", "tasks", 0, "parents"), ["b"], "operation a needs its own result"),
        (
            ("execution", "tasks", 1, "runtimeInSeconds"),
            -1,
            r"tasks.1.runtimeInSeconds \(id b\): Input",
        ),
        (("execution", "tasks"), [], "task 'a' has no runtimeInSeconds; name a workflow that was executed"),
        (("specification", "files", 1, "sizeInBytes"), 1e300, "operation b has 1e[+]300 bytes_read"),
        (("specification", "tasks"), [], "tasks are missing or empty"),
        (("specification", "tasks"), 5, "workflow.specification.tasks: Input should be a valid list"),
    ],
)
def test_a_fault_of_a_workflow_is_named(tmp_path: Path, keys: tuple[Any, ...], value: Any, message: str) -> None:
    changed = copy.deepcopy(SPECIFIED)
    place: Any = changed["workflow"]
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    with pytest.raises(ValueError, match=message) as error:
        source(tmp_path, changed)
    assert str(tmp_path / "graph.json") in str(error.value)


def test_a_task_graph_of_saga_with_its_network(tmp_path: Path) -> None:
    """On two nodes: a on one, then b there and c on the other after 0.5 / 0.25 (all of a's result) = 2 more."""
    read = source(tmp_path, SAGA)
    assert read.names == ("a", "b", "c") and read.graph.seconds.tolist() == [0.5, 2.0, 1.5] and read.devices == 2
    problem = on_devices(read)
    assert problem.delays[0] == pytest.approx(2.0)
    order, apart = np.arange(3, dtype=np.int32)[None], np.array([[0, 0, 1]], np.int32)
    assert makespans(problem, order, apart)[0] == pytest.approx(0.5 + 2.0 + 1.5)


def test_a_task_graph_of_saga_alone(tmp_path: Path) -> None:
    read = source(tmp_path, SAGA["task_graph"])
    assert read.graph.seconds.tolist() == [1, 4, 3] and read.link is None and read.devices == 4
    unlimited = copy.deepcopy(SAGA)
    unlimited["network"]["edges"][0]["speed"] = None
    assert not (on_devices(source(tmp_path, unlimited)).delays > 1e-5).any()


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (
            ("network", "nodes", 1, "speed"),
            3.0,
            "network.nodes have 2 speeds, from 2 to 3",
        ),
        (("network", "edges"), [], "network.edges do not have one speed above 0"),
        (("network", "nodes"), [], "network.nodes: List should have at least 1"),
        (("task_graph", "tasks", 1, "name"), "b", "the name 'b' belongs to more than one task"),
        (
            ("task_graph", "tasks", 1, "cost"),
            "long",
            r"tasks.1.cost \(name a\): Input should",
        ),
        (("task_graph", "dependencies", 1, "target"), "z", "'a' -> 'z': there is no task 'z'"),
        (("task_graph", "dependencies", 1, "target"), "a", "operation a needs its own result"),
    ],
)
def test_a_fault_of_a_task_graph_of_saga_is_named(
    tmp_path: Path, keys: tuple[Any, ...], value: Any, message: str
) -> None:
    changed = copy.deepcopy(SAGA)
    place: Any = changed
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    with pytest.raises(ValueError, match=message) as error:
        source(tmp_path, changed)
    assert str(tmp_path / "graph.json") in str(error.value)


def test_names_of_a_file_stay_on_the_line_of_a_message(tmp_path: Path) -> None:
    """A terminal would obey what they have."""
    graph = copy.deepcopy(SAGA["task_graph"])
    graph["tasks"][0]["name"] = graph["dependencies"][0]["source"] = graph["dependencies"][0]["target"] = "b\n\x1b[31m"
    with pytest.raises(ValueError, match=r"operation b.x0a.x1b\[31m needs its own result"):
        source(tmp_path, graph)
    graph["tasks"][0]["cost"] = None
    with pytest.raises(ValueError, match=r"tasks.0.cost \(name b.x0a.x1b\[31m\): Input should"):
        source(tmp_path, graph)


def test_a_name_that_several_tasks_have_refers_to_none(tmp_path: Path) -> None:
    """The three tasks of this workflow do the same work, by their names."""
    changed = copy.deepcopy(SPECIFIED)
    changed["workflow"]["specification"]["tasks"][1]["parents"] = ["work"]
    with pytest.raises(ValueError, match="task 'b': there is no task 'work'; correct the name"):
        source(tmp_path, changed)
    changed["workflow"]["specification"]["tasks"][0]["name"] = "first"
    changed["workflow"]["specification"]["tasks"][1]["parents"] = ["first"]
    assert edges(source(tmp_path, changed)) == {("a", "b"), ("a", "c")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            b'{"tasks": [],\n\n "dependencies": "\xff"}',
            "graph.json, line 3: this is not UTF-8: invalid start byte; write",
        ),
        (b'{"tasks": [],\n "dependencies": ' + b"9" * 5000 + b"}", "graph.json, line 2: a number has too many digits"),
        (b'{"tasks": ' + b"[" * 100_000, "graph.json: brackets are nested too deeply; write the file again"),
        (b"[", "graph.json: this is not complete JSON: .* line 1 column 2"),
        (b"[]", r"graph.json: \(whole file\): Input should be a valid dictionary; correct it"),
    ],
)
def test_a_fault_of_json_has_its_line(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "graph.json"
    path.write_bytes(text)
    with pytest.raises(ValueError, match=message):
        read_graph(path, {})
