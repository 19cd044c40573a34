"""Split a profiled workload among its accelerators and CPUs, by the file's own rules; or judge a split of it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer

from pipeline.graphs.corpus.workloads import Workload, read_workload
from pipeline.graphs.plans.splits import split_files
from pipeline.graphs.plans.splits.judging_splits import OBJECTIVES, Objective, broken, cost, loads, name_of
from pipeline.stages.command import explained

By = Literal["programme", "go", "untaught"]
Start = Literal["programme", "open"]


def main(
    workload: Annotated[
        Path,
        typer.Argument(metavar="WORKLOAD", help="WORKLOAD.json, as of Tarnawski et al. 2020: times, sizes, costs."),
    ],
    objective: Annotated[
        Objective,
        typer.Option(help="load: the largest load of a device (throughput); latency: of one sample, no backward pass."),
    ] = "load",
    by: Annotated[
        By,
        typer.Option(
            help="programme: dynamic programming; go: a network that learns here; untaught: its random moves."
        ),
    ] = "programme",
    evaluations: Annotated[int, typer.Option(min=1, help="Splits that go and untaught try.")] = 2000,
    start: Annotated[
        Start, typer.Option(help="Of go and untaught: the best split along one order of the nodes, or nothing decided.")
    ] = "programme",
    seed: Annotated[int, typer.Option(min=0, help="Of go and untaught: the same seed, the same split.")] = 0,
    judge: Annotated[
        Path | None, typer.Option(help="Nothing is solved: what this SPLIT.json costs, and which rules it breaks.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Split to write: JSON, with the load of each device.")] = None,
) -> None:
    """Split a profiled workload among the accelerators and CPUs that its file names, by the file's own objectives.

    What is written holds all rules: operations of a colour class share a device, no accelerator keeps more than
    maxSizePerFPGA, operations are where they are supported, and no two devices wait for each other (contiguous). Times
    are milliseconds, as in the file. `programme` is exact for the largest load, unless the graph has too many cuts or
    its backward pass has operations of no colour; for the latency it finds the best sequence of blocks.

    Examples:

    \b
    learned-schedulers split workload.json --out split.json
    learned-schedulers split workload.json --objective latency --by go --out split.json
    learned-schedulers split workload.json --judge expert.json

    `--judge` ends with exit code 0 if all rules of the objective hold. Exit code 1: a file cannot be read, a rule is
    broken, or no valid split was found; nothing is written then. 2: an option is wrong.
    """
    with explained():
        if out is not None and judge is not None:
            raise ValueError(f"--judge {judge}: it writes nothing; leave out --out {out}")
        if out is not None and out.resolve() == workload.resolve():
            raise ValueError(f"--out {out}: this is the workload; name another file")
        work = read_workload(workload)
        print(
            f"{workload}: {len(work)} nodes, {len(work.graph.children.targets)} edges; "
            f"{work.accelerators} accelerators of {work.memory:,.0f} bytes, {work.cpus} CPUs"
        )
        if judge is not None:
            devices, said = split_files.read(judge, work), f"{judge}"
        else:
            devices, said = _solved(work, workload, objective, by, evaluations, start, seed)
        print(said)
        _show(work, devices)
        if faults := broken(work, devices, objective):
            raise ValueError(f"{judge or workload}: " + "; ".join(faults))
        if out is not None:
            split_files.write(out, work, devices)
            print(f"split: {out}")


def _solved(
    work: Workload, path: Path, objective: Objective, by: By, evaluations: int, start: Start, seed: int
) -> tuple[np.ndarray, str]:
    """A split and how it was found. Raises ValueError without one."""
    began = time.perf_counter()
    if by == "programme":
        from pipeline.graphs.plans.splits.programme import least

        found = least(work, objective)
        devices = found.devices
        how = f"programme ({found.sets:,} ideals; {'exact' if found.exact else 'a better split may exist'})"
    else:
        from pipeline.graphs.plans.splits.by_go import searched  # slow to import: torch

        devices = searched(work, objective, seed, evaluations, None, by == "go", start).devices
        how = f"{by} ({evaluations:,} evaluations, seed {seed})"
    if devices is None:
        raise ValueError(
            f"{path}: {how} found no split that holds the rules; raise maxSizePerFPGA, maxFPGAs or maxCPUs"
        )
    return devices, f"{how}, {time.perf_counter() - began:.1f} s"


def _show(work: Workload, devices: np.ndarray) -> None:
    """Both objectives, and each device that has something to do."""
    for objective in OBJECTIVES:
        if objective == "load" or not work.backward.any():
            label = {"load": "largest load", "latency": "latency"}[objective]
            print(f"{label}: {cost(work, devices, objective) * 1e3:,.6g} ms")
    load = loads(work, devices)
    count = work.accelerators + work.cpus
    kept, nodes = np.bincount(devices, work.graph.bytes_kept, count), np.bincount(devices, minlength=count)
    for device in np.flatnonzero(nodes).tolist():
        print(f"  {name_of(work, device)}: {nodes[device]} nodes, load {load[device] * 1e3:,.6g} ms, ", end="")
        print(f"{kept[device]:,.0f} bytes")
