"""Seconds until `learned-schedulers graph` answers for workloads of 1,000, 10,000 and 30,000 operations, and by GO.

    python -m benchmarks.graph_answer        # five minutes

Random graphs of three families, with times, weights and results drawn by a seed; a third of the operations has colour
classes, and a device has less than half of the memory that all weights need. Timed is the command as a user types it, a
process of its own: the processor's seconds, user and system, of all threads, which say nearly the same on a busy
machine. Taken off is its start, the seconds of the same command for two operations: it imports, loads compiled code,
and has nothing to decide.

It publishes the experiment `own_graph_answer`, by number of operations (`set`) and method (classical, the command's
default, or go): decision_seconds, behind the start, and command_seconds, by the clock; of the default
first_answer_seconds, by the clock until it prints its first answer, behind the start; of both methods start_up_seconds,
the processor's. Median, least and most of the graphs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from benchmarks.publishing import PUBLISHED, of_rounds, publish
from learned_schedulers.graphs.read.synthetic import draw
from pipeline.lab.rows import Quantity, Row, results

_FAMILIES = ("layered", "erdos_renyi", "barabasi_albert")
_SEED, _DEVICES = 48, 4
_GRAPH = (sys.executable, "-m", "learned_schedulers.command.main", "graph")
SIZES = {"classical": (1_000, 10_000, 30_000), "go": (12,)}  # operations of the workloads, by method


class Seconds(NamedTuple):
    """What a process took."""

    processor: float  # user and system
    clock: float
    first: float  # by the clock, until it prints its first answer, or else to its end


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "own_graph_answer",
) -> None:
    """Time the start of the command, and the command for every graph."""
    place: dict[str, str] = {"experiment": output.name, "target": "this_machine"}
    rows: list[Row] = []
    with TemporaryDirectory() as name:
        file = Path(name) / "workload.json"
        for method, sizes in SIZES.items():
            words = (*_GRAPH, str(file), "--by", method)
            file.write_text(json.dumps(workload(_FAMILIES[0], 2, _SEED)))
            starts = [seconds_of(words) for _ in range(4)][1:]
            start_up = [each.processor for each in starts]
            rows.append(of_rounds(place | {"method": method}, Quantity("start_up_seconds", unit="seconds"), start_up))
            for size in sizes:
                timed: list[Seconds] = []
                for number in (0, *range(len(_FAMILIES))):  # the first run, which may compile kernels, does not count
                    file.write_text(json.dumps(workload(_FAMILIES[number], size, _SEED + number)))
                    timed.append(seconds_of(words))
                decisions = [seconds.processor - float(np.median(start_up)) for seconds in timed[1:]]
                print(f"{method}, {size} operations: {np.round(decisions, 2)} s", flush=True)
                of_size = place | {"method": method, "set": f"operations_{size}"}
                clocks = [seconds.clock for seconds in timed[1:]]
                measured = {"decision_seconds": decisions, "command_seconds": clocks}
                if method == "classical":
                    started = float(np.median([each.clock for each in starts]))
                    measured["first_answer_seconds"] = [max(each.first - started, 0.0) for each in timed[1:]]
                for metric, values in measured.items():
                    rows.append(of_rounds(of_size, Quantity(metric, unit="seconds"), values, over="graphs"))
    publish(output, {"results": results(rows)}, {"families": _FAMILIES, "devices": _DEVICES, "sizes": SIZES})


def seconds_of(words: Sequence[str]) -> Seconds:
    """Run a process to its end. Raises subprocess.CalledProcessError if it fails."""
    before, began, first = os.times(), time.perf_counter(), np.inf
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        for line in process.stdout or ():
            if line.startswith("first answer"):
                first = time.perf_counter() - began
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words)
    ended, after = time.perf_counter(), os.times()
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return Seconds(processor, ended - began, min(first, ended - began))


def workload(family: str, count: int, seed: int) -> dict[str, Any]:
    """A random graph in the form of Tarnawski et al. 2020: run times of up to 2 ms, and as much to host memory."""
    rng = np.random.default_rng(seed)
    graph = draw(family, count, rng)
    weights = (1e6 * rng.random(count)).round()
    nodes: list[dict[str, Any]] = [
        {
            "id": i,
            "supportedOnFpga": 1,
            "cpuLatency": 100 * seconds,
            "fpgaLatency": 2 * seconds,
            "isBackwardNode": 0,
            "size": size,
        }
        for i, (seconds, size) in enumerate(zip(graph.seconds.tolist(), weights.tolist(), strict=True))
    ]
    for i in range(0, count, 3):
        nodes[i]["colorClass"] = i // 6
    costs = (2e-6 * graph.bytes_written).tolist()
    ends = zip(graph.children.sources.tolist(), graph.children.targets.tolist(), strict=True)
    edges = [{"sourceId": source, "destId": target, "cost": costs[source]} for source, target in ends]
    # Ten megabytes, and a third of the results: 2 ms to host memory are 4.3 MB.
    room = 1e7 + 0.4 * float(weights.sum()) + 1.3 * float(graph.bytes_written.sum())
    return {"maxSizePerFPGA": room, "maxFPGAs": _DEVICES, "maxCPUs": 1, "nodes": nodes, "edges": edges}


if __name__ == "__main__":
    typer.run(main)
