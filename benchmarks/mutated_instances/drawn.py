"""Sound files of task graphs in the forms of others, drawn: none of these sets is in this repository."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from learned_schedulers.graphs.devices.judging import FROZEN
from learned_schedulers.graphs.read import synthetic
from learned_schedulers.graphs.read.graph import Graph

_SIZES = (2, 5, 12, 30)  # operations
_SPEED = 2.0
WORKLOADS = FROZEN / "adversarial_small"  # files of the library in the form of Tarnawski et al. 2020


def write(folder: Path, rng: np.random.Generator) -> list[Path]:
    """Files of every family of random graphs in five forms, and copies of small workloads."""
    paths = []
    for family in synthetic.FAMILIES:
        for size in _SIZES:
            graph = synthetic.draw(family, size, rng)
            for name, text in texts(graph):
                paths.append(folder / f"{family}_{size}_{name}")
                paths[-1].write_text(text)
    for path in sorted(WORKLOADS.glob("*.json")):
        paths.append(folder / path.name)
        paths[-1].write_bytes(path.read_bytes())
    return paths


def texts(graph: Graph) -> Iterator[tuple[str, str]]:
    """Name and content of the graph's file in each form."""
    yield "standard.stg", standard(graph)
    yield "workflow_1_5.json", json.dumps(specified(graph), indent=1)
    yield "workflow_1_4.json", json.dumps(flat(graph))
    yield "saga.json", json.dumps({"task_graph": saga(graph), "network": network(3)}, indent=1)
    yield "saga_tasks.json", json.dumps(saga(graph))


def standard(graph: Graph) -> str:
    """The Standard Task Graph Set's form: run times in milliseconds, a dummy before and one behind all tasks."""
    n = len(graph)
    parents = graph.children.reversed()
    lines = [f"{n:11}", f"{0:11}{0:11}{0:11}"]
    for i, seconds in enumerate(graph.seconds.tolist(), 1):
        before = (parents.targets[parents.offsets[i - 1] : parents.offsets[i]] + 1).tolist() or [0]
        lines.append("".join(f"{number:11}" for number in (i, round(1000 * seconds), len(before), *before)))
    last = (np.flatnonzero(np.diff(graph.children.offsets) == 0) + 1).tolist()
    lines.append("".join(f"{number:11}" for number in (n + 1, 0, len(last), *last)))
    return "\n".join([*lines, "# Standard Task Graph Set Project", "# CP Length: unknown", ""])


def specified(graph: Graph) -> dict[str, Any]:
    """A workflow of WfFormat 1.5: every task writes a file, which its children read."""
    tasks, files, runs = [], [], []
    for i in range(len(graph)):
        before, behind = _neighbours(graph, i)
        ends = {"parents": [f"t{j}" for j in before], "children": [f"t{j}" for j in behind]}
        tasks.append(
            {"name": "work", "id": f"t{i}", **ends}
            | {"inputFiles": ["all", *(f"f{j}" for j in before)], "outputFiles": [f"f{i}"]}
        )
        files.append({"id": f"f{i}", "sizeInBytes": int(graph.bytes_written[i])})
        runs.append({"id": f"t{i}", "runtimeInSeconds": float(graph.seconds[i]), "machines": ["node"]})
    specification = {"tasks": tasks, "files": [*files, {"id": "all", "sizeInBytes": 7}]}
    return {"name": graph.name, "schemaVersion": "1.5"} | {
        "workflow": {"specification": specification, "execution": {"makespanInSeconds": 1, "tasks": runs}}
    }


def flat(graph: Graph) -> dict[str, Any]:
    """The same in WfFormat 1.4."""
    tasks = []
    for i in range(len(graph)):
        before, _ = _neighbours(graph, i)
        files = [
            {"link": link, "name": f"f{j}", "sizeInBytes": int(graph.bytes_written[j])}
            for link, numbers in (("input", before), ("output", [i]))
            for j in numbers
        ]
        tasks.append(
            {"name": f"t{i}", "type": "compute", "runtimeInSeconds": float(graph.seconds[i])}
            | {"parents": [f"t{j}" for j in before], "files": files}
        )
    return {"name": graph.name, "schemaVersion": "1.4", "workflow": {"makespan": 1, "tasks": tasks}}


def saga(graph: Graph) -> dict[str, Any]:
    """A task graph as `anrg-saga` writes it."""
    edges = zip(graph.children.sources.tolist(), graph.children.targets.tolist(), strict=True)
    return {
        "tasks": [{"name": f"T{i}", "cost": seconds} for i, seconds in enumerate(graph.seconds.tolist())],
        "dependencies": [
            {"source": f"T{i}", "target": f"T{j}", "size": float(graph.bytes_written[i])} for i, j in edges
        ],
    }


def network(nodes: int) -> dict[str, Any]:
    """A network of equal nodes and links, as `anrg-saga` writes it."""
    names = [f"N{i}" for i in range(nodes)]
    edges = [
        {"source": a, "target": b, "speed": None if a == b else _SPEED} for i, a in enumerate(names) for b in names[i:]
    ]
    return {"nodes": [{"name": name, "speed": _SPEED} for name in names], "edges": edges}


def _neighbours(graph: Graph, i: int) -> tuple[list[int], list[int]]:
    """Operations whose results it reads, and those that read its result."""
    parents, children = graph.children.reversed(), graph.children
    return (
        parents.targets[parents.offsets[i] : parents.offsets[i + 1]].tolist(),
        children.targets[children.offsets[i] : children.offsets[i + 1]].tolist(),
    )
