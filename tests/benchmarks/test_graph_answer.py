"""Workloads whose decision is timed, and seconds of a process."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks.graph_answer import seconds_of, workload
from learned_schedulers.graphs.plans.model_files import read_file
from learned_schedulers.graphs.plans.sources import on_devices


@pytest.mark.parametrize("family", ["layered", "erdos_renyi", "barabasi_albert"])
def test_a_workload_is_read_with_colours_and_less_memory_than_all_weights_need(family: str, tmp_path: Path) -> None:
    file = tmp_path / "workload.json"
    file.write_text(json.dumps(workload(family, 300, 48)))
    source = read_file(file, {})
    problem = on_devices(source, None)
    assert len(problem) == 300 and problem.devices == 4
    assert source.groups is not None and len(set(source.groups.tolist())) < 300
    assert problem.weights.max() < problem.memory < problem.weights.sum() + problem.sizes.sum()
    assert workload(family, 300, 48) == workload(family, 300, 48) != workload(family, 300, 49)


def test_seconds_of_a_process_that_computes_and_of_one_that_sleeps() -> None:
    computing = seconds_of((sys.executable, "-c", "sum(range(10_000_000))"))
    sleeping = seconds_of((sys.executable, "-c", "import time; time.sleep(0.3)"))
    assert computing.processor > sleeping.processor and sleeping.clock > 0.3
