"""Seconds until `learned-schedulers split` answers for a workload of a quarter of a million ideals.

    python -m benchmarks.split_answer

Five chains of eleven operations, times and sizes drawn by a seed: 12^5 = 248,832 ideals. Timed is the command as a user
types it, a process of its own with its imports: median, least and most of the rounds, each with other numbers. The
split is judged by the same command.

It publishes the experiment `own_split_answer`: seconds_to_answer, and excess, how far the answer may be above the least
that is possible (0: proven).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.publishing import PUBLISHED, of_rounds, publish
from pipeline.lab.rows import Quantity, results

_CHAINS, _LENGTH, _DEVICES, _SEED = 5, 11, 4, 48
_COMMAND = (sys.executable, "-m", "learned_schedulers.command.main", "split")


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "own_split_answer",
    rounds: Annotated[int, typer.Option(min=1, help="Workloads of other numbers.")] = 3,
) -> None:
    """Time the command, and judge its splits."""
    seconds: list[float] = []
    excess: list[float] = []
    with TemporaryDirectory() as name:
        file, split = Path(name) / "workload.json", Path(name) / "split.json"
        for number in range(rounds):
            file.write_text(json.dumps(workload(_SEED + number)))
            began = time.perf_counter()
            ended = subprocess.run(
                [*_COMMAND, str(file), "--out", str(split)], check=True, capture_output=True, text=True
            )
            seconds.append(time.perf_counter() - began)
            gap = re.search(r"at most ([0-9.]+)% above the least", ended.stdout)
            excess.append(float(gap[1]) / 100 if gap else 0.0)
            subprocess.run([*_COMMAND, str(file), "--judge", str(split)], check=True, capture_output=True)
            print(
                f"{seconds[-1]:.1f} s, excess {excess[-1]:.1%}: {ended.stdout.splitlines()[-2 - _DEVICES]}", flush=True
            )
    place = {"experiment": output.name, "target": "this_machine", "method": "programme"}
    rows = [
        of_rounds(place, Quantity("seconds_to_answer", unit="seconds"), seconds, over="workloads"),
        of_rounds(place, Quantity("excess", unit="share"), excess, over="workloads"),
    ]
    publish(output, {"results": results(rows)}, {"chains": _CHAINS, "length": _LENGTH, "devices": _DEVICES})


def workload(seed: int) -> dict[str, Any]:
    """Chains side by side, in the form of Tarnawski et al. 2020."""
    rng = np.random.default_rng(seed)
    count = _CHAINS * _LENGTH
    times, costs = rng.uniform(1, 10, count).round(3), rng.uniform(0.05, 1, count).round(3)
    nodes = [
        {
            "id": i,
            "supportedOnFpga": 1,
            "cpuLatency": 50 * times[i],
            "fpgaLatency": times[i],
            "isBackwardNode": 0,
            "size": 1e6,
        }
        for i in range(count)
    ]
    edges = [{"sourceId": i, "destId": i + 1, "cost": costs[i]} for i in range(count) if (i + 1) % _LENGTH]
    return {"maxSizePerFPGA": 1e9, "maxFPGAs": _DEVICES, "maxCPUs": 1, "nodes": nodes, "edges": edges}


if __name__ == "__main__":
    typer.run(main)
