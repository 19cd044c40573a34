"""A user's file becomes a graph with names and groups, or a clear error."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from learned_schedulers.graphs.devices.settings import DEVICES, LINKS
from learned_schedulers.graphs.devices.simulator import peaks
from learned_schedulers.graphs.plans.model_files import read_graph
from learned_schedulers.graphs.plans.sources import on_devices
from learned_schedulers.graphs.read.workloads import read_workload
from pipeline.lab.config.params import load
from pipeline.lab.wiring import ROOT
from tests.graphs.read.test_workloads import FILES, content, edge, node


def workload(folder: Path, nodes: list, edges: list, **changes: object) -> Path:
    (folder / "mine.json").write_text(json.dumps(content(nodes, edges, **changes)))
    return folder / "mine.json"


def test_a_workload_says_what_shares_a_device(tmp_path: Path) -> None:
    nodes = [node(5, colorClass=7), node(6), node(8, colorClass=7) | {"name": "last"}, node(9)]
    path = workload(tmp_path, nodes, [edge(5, 6), edge(6, 8), edge(8, 9)], maxSizePerFPGA=1e9)
    source = read_graph(path, {})
    assert (source.names, source.ids.tolist()) == (("5", "6", "8 (last)", "9"), [5, 6, 8, 9])
    assert source.groups is not None and source.groups[0] == source.groups[2]
    assert len(set(source.groups.tolist())) == 3 and source.groups.max() == 2
    problem = on_devices(source)
    assert (problem.devices, problem.seconds.tolist()) == (2, [0.001] * 4)
    assert on_devices(source, devices=3, memory=1e-9).devices == 3
    assert on_devices(source, memory=1e-9).memory == 1.0


def test_a_chain_with_times_that_are_rounded_has_two_results_at_a_time(tmp_path: Path) -> None:
    seconds = np.random.default_rng(0).random(300)
    nodes = [node(i, fpgaLatency=float(seconds[i])) for i in range(300)]
    source = read_graph(workload(tmp_path, nodes, [edge(i, i + 1) for i in range(299)]), {})
    problem = on_devices(source, devices=1)
    peak = peaks(problem, np.arange(300), np.zeros(300, np.int32))[0] - problem.weights.sum()
    assert peak == pytest.approx(2 * problem.sizes.max())


def test_a_result_is_part_of_its_nodes_size() -> None:
    whole = read_workload(FILES / "resnet50_inference.json").graph
    weight_bytes = read_graph(FILES / "resnet50_inference.json", {}).graph.bytes_kept
    assert (weight_bytes + whole.bytes_written >= whole.bytes_kept).all() and (weight_bytes <= whole.bytes_kept).all()


@pytest.mark.parametrize(
    ("nodes", "changes", "message"),
    [
        ([node(1), node(2, supportedOnFpga=0)], {}, "node 2 only runs on CPUs"),
        ([node(1)], {"maxFPGAs": 0}, "maxFPGAs is 0; there must be at least one device"),
    ],
)
def test_workloads_without_devices_for_all_nodes(nodes: list, changes: dict, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"mine.json: {message}"):
        read_graph(workload(tmp_path, nodes, [], **changes), {})


def test_devices_and_links_are_those_of_the_experiments() -> None:
    """params.yaml may add others, which users cannot name: the link of the machine at hand."""
    params = load(ROOT / "params.yaml")
    assert params.devices.items() >= DEVICES.items() and params.links.items() >= LINKS.items()


def test_other_files_are_no_models(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("none")
    with pytest.raises(ValueError, match=r"notes.txt: this is not a model that can be read"):
        read_graph(tmp_path / "notes.txt", {})
    with pytest.raises(ValueError, match=r"folder.json: cannot be read: this is a folder"):
        (tmp_path / "folder.json").mkdir()
        read_graph(tmp_path / "folder.json", {})
