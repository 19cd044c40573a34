"""Workloads and splits of Tarnawski et al. 2020: the published files, faults, and splits that are written and read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from learned_schedulers.graphs.read.workloads import (
    Workload,
    WorkloadError,
    read_split,
    read_workload,
    split_of,
)

FILES = Path(__file__).parents[2] / "fixtures/graphs"
NAMES = ["bert_l-3_inference", "bert_l-3_training", "resnet50_inference"]


def read(name: str) -> Workload:
    return read_workload(FILES / f"{name}.json")


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_a_file_is_lost(name: str) -> None:
    """Every node has its times, color and size, and every edge its cost, under the right ids."""
    workload, file = read(name), json.loads((FILES / f"{name}.json").read_text())
    graph = workload.graph
    number = {name: i for i, name in enumerate(workload.ids.tolist())}
    assert len(number) == len(file["nodes"])
    for node in file["nodes"]:
        i = number[node["id"]]
        assert workload.accelerator_seconds[i] == node["fpgaLatency"] / 1000
        assert workload.cpu_seconds[i] == node["cpuLatency"] / 1000
        assert workload.colors[i] == node.get("colorClass", -1)
        assert (workload.supported[i], workload.backward[i]) == (node["supportedOnFpga"], node["isBackwardNode"])
        assert graph.bytes_kept[i] == int(node["size"])
        assert graph.seconds[i] == node["fpgaLatency" if node["supportedOnFpga"] else "cpuLatency"] / 1000
    edges = {(number[edge["sourceId"]], number[edge["destId"]]) for edge in file["edges"]}
    assert edges == set(zip(graph.children.sources.tolist(), graph.children.targets.tolist(), strict=True))
    for edge in file["edges"]:
        source = number[edge["sourceId"]]
        assert workload.transfer_seconds[source] == pytest.approx(edge["cost"] / 1000)
        assert graph.bytes_written[source] >= int(edge["size"])
    assert (workload.accelerators, workload.memory) == (file["maxFPGAs"], file["maxSizePerFPGA"])


def test_bytes_follow_from_costs_where_sizes_are_missing(tmp_path: Path) -> None:
    """The authors' link moves 2 GiB per second, so a file without sizes gives the same graph."""
    file = json.loads((FILES / "resnet50_inference.json").read_text())
    for edge in file["edges"]:
        del edge["size"]
    (tmp_path / "resnet50_inference.json").write_text(json.dumps(file))
    sizes = read_workload(tmp_path / "resnet50_inference.json").graph.bytes_written
    np.testing.assert_allclose(sizes, read("resnet50_inference").graph.bytes_written, rtol=1e-6, atol=1)


def test_the_expert_split_comes_back(tmp_path: Path) -> None:
    workload = read("resnet50_inference")
    expert = read_split(FILES / "resnet50_inference_expert.json", workload)
    assert np.bincount(expert).tolist() == [5, 32, 42, 42, 42, 14]
    (tmp_path / "split.json").write_text(split_of(workload.ids, expert, workload.accelerators))
    assert read_split(tmp_path / "split.json", workload).tolist() == expert.tolist()


def node(name: int, **changes: object) -> dict:
    return {"id": name, "supportedOnFpga": 1, "cpuLatency": 2.0, "fpgaLatency": 1.0, "size": 8.0, **changes}


def edge(source: int, target: int, cost: object = 0.5) -> dict:
    return {"sourceId": source, "destId": target, "cost": cost}


def content(nodes: list, edges: list, **changes: object) -> dict:
    return {"maxSizePerFPGA": 16.0, "maxFPGAs": 2, "maxCPUs": 1, "nodes": nodes, "edges": edges, **changes}


@pytest.mark.parametrize(
    ("faulty", "message"),
    [
        (content([node(3), node(3)], []), "the id 3 belongs to more than one node"),
        (content([node(3)], [edge(3, 9)]), "edge 3 -> 9: there is no node 9"),
        (content([node(3), node(4)], [edge(3, 4), edge(4, 3)]), "operation 3 needs its own result: 3 -> 4 -> 3"),
        (content([node(3), node(4, cpuLatency=-1)], []), r"nodes.1.cpuLatency \(id 4\): .*greater than or equal to 0"),
        (content([node(3, fpgaLatency=float("nan"))], []), r"nodes.0.fpgaLatency \(id 3\): .*finite"),
        (content([node(3, size="large")], []), r"nodes.0.size \(id 3\): .*valid number"),
        (content([node(3, size=1e30)], []), "operation 3 has 1e.30 bytes_kept"),
        (content([node(2**70)], []), r"nodes.0.id"),
        (content([{"id": 5}], []), r"nodes.0.supportedOnFpga \(id 5\): Field required"),
        (content([node(3), node(4)], [edge(3, 4, None)]), r"edges.0.cost \(sourceId 3, destId 4\)"),
        (content([node(1), node(2), node(3)], [edge(1, 2, 0.5), edge(1, 3, 0.6)]), "edges of node 1 have different"),
        (content([node(3)], [], maxFPGAs=-1), "maxFPGAs: .*greater than or equal to 0"),
        (content([node(3)], [], maxFPGAs=10**30), "maxFPGAs: .*less than or equal to 4096; correct it"),
        (content(["node"], []), "nodes.0: "),
        ({"nodes": []}, "maxSizePerFPGA: Field required"),
        ([], r"\(whole file\): "),
    ],
)
def test_faults_name_file_and_node(faulty: object, message: str, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(json.dumps(faulty))
    with pytest.raises(WorkloadError, match=f"mine.json: .*{message}"):
        read_workload(tmp_path / "mine.json")


def test_no_operations_and_one(tmp_path: Path) -> None:
    for nodes in ([], [node(7)]):
        (tmp_path / "mine.json").write_text(json.dumps(content(nodes, [])))
        assert read_workload(tmp_path / "mine.json").ids.tolist() == [part["id"] for part in nodes]


def test_truncated_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=r"none.json: cannot be read: No such file"):
        read_workload(tmp_path / "none.json")
    whole = (FILES / "resnet50_inference.json").read_bytes()
    for length in (0, 1, 2000, len(whole) - 3):
        (tmp_path / "cut.json").write_bytes(whole[:length])
        with pytest.raises(WorkloadError, match=r"cut.json: this is not complete JSON"):
            read_workload(tmp_path / "cut.json")


@pytest.mark.parametrize("name", NAMES)
def test_mutated_files_give_a_workload_or_a_named_fault(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    whole = (FILES / f"{name}.json").read_bytes()
    path, refused = tmp_path / "mutated.json", 0
    for _ in range(100):
        mutated = bytearray(whole)
        for at in rng.integers(0, len(whole), 3).tolist():
            mutated[at] = int(rng.integers(0, 256))
        path.write_bytes(mutated)
        try:
            read_workload(path)
        except WorkloadError as error:
            refused += 1
            assert str(path) in str(error)
    assert refused > 0


@pytest.mark.parametrize(
    ("split", "message"),
    [
        ({"cpus": [{"nodes": [1]}], "fpgas": [{"nodes": [2, 1]}]}, "node 1 is on more than one device"),
        ({"cpus": [], "fpgas": [{"nodes": [1, 2]}]}, "node 3 is on no device"),
        ({"cpus": [{"nodes": [1, 2, 3, 4]}], "fpgas": []}, "the workload work has no node 4"),
        ({"cpus": [{"nodes": ["a"]}], "fpgas": []}, "cpus.0.nodes.0: "),
    ],
)
def test_faults_of_splits_name_the_node(split: dict, message: str, tmp_path: Path) -> None:
    (tmp_path / "work.json").write_text(json.dumps(content([node(1), node(2), node(3)], [])))
    (tmp_path / "split.json").write_text(json.dumps(split))
    with pytest.raises(WorkloadError, match=f"split.json: .*{message}"):
        read_split(tmp_path / "split.json", read_workload(tmp_path / "work.json"))
