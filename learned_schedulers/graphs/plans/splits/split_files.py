"""Files of splits, in the form of the authors' programs: with a CPU for each operation and the loads of devices."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from learned_schedulers.files import content, replacing
from learned_schedulers.graphs.plans.splits.judging_splits import cost, loads
from learned_schedulers.graphs.read.workloads import CPU, Workload, WorkloadError, read_split

_LARGEST = 2**28  # bytes


def read(path: Path, workload: Workload) -> np.ndarray:
    """Device of each operation, (n,) int32: accelerators 0..A-1, then CPUs A..A+C-1.

    Raises WorkloadError that names file and node or field: as corpus/workloads.read_split, and if the split uses more
    devices than the workload has.
    """
    placement = read_split(path, workload)
    file = json.loads(content(path, _LARGEST))
    counts = {"fpgas": workload.accelerators, "cpus": workload.cpus}
    for key, field in (("fpgas", "maxFPGAs"), ("cpus", "maxCPUs")):
        for k, part in enumerate(file[key]):
            if part["nodes"] and k >= counts[key]:
                raise WorkloadError(
                    f"{path}: {key}.{k}.nodes has {len(part['nodes'])} nodes, but {field} of the workload "
                    f"{workload.graph.name} is {counts[key]}; move them to another device"
                )
    cpu = {name: k for k, part in enumerate(file["cpus"]) for name in part["nodes"]}
    on_cpus = [cpu.get(name, 0) for name in workload.ids.tolist()]
    return np.where(placement == CPU, workload.accelerators + np.array(on_cpus, np.int32), placement).astype(np.int32)


def write(path: Path, workload: Workload, devices: np.ndarray) -> None:
    """Write a split, (n,), as a whole: `fpgas` and `cpus` with `load` and `nodes`, `maxLoad`, `totalLatency`.

    Times are milliseconds. `totalLatency` is left out for graphs with a backward pass, and if blocks wait for each
    other.
    """
    milliseconds = (loads(workload, devices) * 1000).tolist()

    def part(device: int) -> dict[str, object]:
        return {"load": milliseconds[device], "nodes": sorted(workload.ids[devices == device].tolist())}

    count = workload.accelerators + workload.cpus
    split: dict[str, object] = {
        "cpus": [part(device) for device in range(workload.accelerators, count)],
        "fpgas": [part(device) for device in range(workload.accelerators)],
        "maxLoad": max(milliseconds, default=0.0),
    }
    latency = np.inf if workload.backward.any() else cost(workload, devices, "latency")
    if np.isfinite(latency):
        split["totalLatency"] = latency * 1000
    with replacing(path, follow=True) as temporary:
        temporary.write_text(json.dumps(split, indent=1) + "\n")
