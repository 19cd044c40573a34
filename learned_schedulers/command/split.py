"""The verb `split`: split a profiled workload among its accelerators and CPUs by the file's rules, or judge a split."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer
from tqdm import tqdm

from learned_schedulers.command.explained import explained
from learned_schedulers.command.kernels import announce
from learned_schedulers.graphs.plans.splits import split_files
from learned_schedulers.graphs.plans.splits.judging_splits import OBJECTIVES, Objective, broken, cost, loads, name_of
from learned_schedulers.graphs.read.workloads import Workload, read_workload

By = Literal["programme", "go", "untaught"]
Start = Literal["programme", "open"]
_FEW = 20_000  # ideals that the programme visits in seconds


def main(
    workload: Annotated[
        Path,
        typer.Argument(
            metavar="WORKLOAD", help="WORKLOAD.json with times, sizes and costs, in the form of Tarnawski et al. 2020."
        ),
    ],
    objective: Annotated[
        Objective,
        typer.Option(
            help="load: the largest load of a device (throughput); latency: the time of one sample, for graphs without "
            "a backward pass."
        ),
    ] = "load",
    by: Annotated[
        By,
        typer.Option(
            help="programme: dynamic programming; go: a network that learns during the search; untaught: random moves "
            "of the same search."
        ),
    ] = "programme",
    evaluations: Annotated[int, typer.Option(min=1, help="Number of splits that go and untaught try.")] = 2000,
    start: Annotated[
        Start,
        typer.Option(
            help="Initial split of go and untaught: programme: the best along one node order; open: no decision."
        ),
    ] = "programme",
    seed: Annotated[int, typer.Option(min=0, help="Seed of go and untaught; the same seed gives the same split.")] = 0,
    seconds: Annotated[
        float,
        typer.Option(min=0, help="Time of the programme, and of GO before it, which takes at most half of the time."),
    ] = 45.0,
    judge: Annotated[
        Path | None,
        typer.Option(help="Solve nothing; print the costs of this SPLIT.json and the rules that it breaks."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="JSON file to write: the split, with the load of each device.")
    ] = None,
) -> None:
    """Split a profiled workload among the accelerators and CPUs of its file, by one of the published objectives.

    A written split respects all rules: operations of a colour class share a device, no accelerator needs more than
    maxSizePerFPGA, every operation is on a device that supports it, and no two devices wait for each other (the split
    is contiguous). Times are milliseconds, as in the file. `programme` is exact for the largest load, unless the graph
    has too many cuts for its --seconds or its backward pass has operations without a colour; then the answer is GO's,
    or better, and the command says how far it may be from the best. For the latency it finds the best sequence of
    blocks.

    Example, in an empty folder:

    \b
    cat > workload.json <<'END'
    {"maxFPGAs": 2, "maxCPUs": 0, "maxSizePerFPGA": 10,
     "nodes": [
      {"id": 1, "supportedOnFpga": 1, "cpuLatency": 9, "fpgaLatency": 2, "isBackwardNode": 0, "size": 4},
      {"id": 2, "supportedOnFpga": 1, "cpuLatency": 9, "fpgaLatency": 3, "isBackwardNode": 0, "size": 4}],
     "edges": [{"sourceId": 1, "destId": 2, "cost": 0.5}]}
    END
    learned-schedulers split workload.json --out split.json

    Other calls:

    \b
    learned-schedulers split workload.json --objective latency --by go --out split.json
    learned-schedulers split workload.json --judge expert.json

    `--judge` ends with exit code 0 if the split respects all rules of the objective. Exit code 1: a file cannot be
    read, a rule is broken, or no valid split was found; nothing is written. Exit code 2: an option is wrong.
    """
    announce()
    with explained():
        if out is not None and judge is not None:
            raise ValueError(f"--judge {judge}: judging writes nothing; leave out --out {out}")
        if out is not None and out.resolve() == workload.resolve():
            raise ValueError(f"--out {out}: this is the workload; name another file")
        work = read_workload(workload)
        print(
            f"{workload}: {len(work)} nodes, {len(work.graph.children.targets)} edges; "
            f"{work.accelerators} accelerators of {work.memory:,.0f} bytes, {work.cpus} CPUs"
        )
        if judge is not None:
            devices, description = split_files.read(judge, work), f"{judge}"
        else:
            devices, description = _solved(work, workload, objective, by, evaluations, start, seed, seconds)
        print(description)
        _show(work, devices)
        if faults := broken(work, devices, objective):
            raise ValueError(f"{judge or workload}: " + "; ".join(faults))
        if out is not None:
            split_files.write(out, work, devices)
            print(f"split: {out}")


def _solved(
    work: Workload,
    path: Path,
    objective: Objective,
    by: By,
    evaluations: int,
    start: Start,
    seed: int,
    seconds: float,
) -> tuple[np.ndarray, str]:
    """A split and a description of the search. Raises ValueError if no split was found."""
    began = time.perf_counter()
    if by == "programme":
        devices, search = _programmed(work, objective, evaluations, seed, seconds)
    else:
        from learned_schedulers.graphs.plans.splits.by_go import searched  # slow to import: torch

        devices = searched(work, objective, seed, evaluations, None, by == "go", start).devices
        search = f"{by} ({evaluations:,} evaluations, seed {seed})"
    if devices is None:
        raise ValueError(
            f"{path}: {search} found no split that respects the rules; raise maxSizePerFPGA, maxFPGAs or maxCPUs"
        )
    return devices, f"{search}, {time.perf_counter() - began:.1f} s"


def _programmed(
    work: Workload, objective: Objective, evaluations: int, seed: int, seconds: float
) -> tuple[np.ndarray | None, str]:
    """The programme's split. Where there are many ideals, it begins with GO's, and is at least as good."""
    from learned_schedulers.graphs.plans.splits.programme import bound, least

    until = time.monotonic() + seconds
    best, helper = least(work, objective, most=_FEW), ""
    if not best.complete:
        print(f"more than {_FEW:,} ideals; GO searches first", flush=True)
        from learned_schedulers.graphs.plans.splits.by_go import searched  # slow to import: torch

        helper = f" and go (up to {evaluations:,} evaluations, seed {seed})"
        start = searched(work, objective, seed, evaluations, limit=(until - time.monotonic()) / 2).devices
        with tqdm(unit="ideal", leave=False, disable=None) as bar:

            def progress(visited: int, size: int) -> None:
                bar.total = size
                bar.update(visited - bar.n)

            best = least(work, objective, seconds=until - time.monotonic(), start=start, progress=progress)
    if best.complete:
        word = "exact" if best.exact else "a better split may exist"
        return best.devices, f"programme{helper} ({best.sets:,} ideals; {word})"
    least_possible = bound(work, objective)
    gap = best.seconds / least_possible - 1 if least_possible else 0.0
    return best.devices, f"programme{helper}; at most {gap:.1%} above the least"


def _show(work: Workload, devices: np.ndarray) -> None:
    """Print both objectives and each device that has nodes."""
    for objective in OBJECTIVES:
        if objective == "load" or not work.backward.any():
            label = {"load": "largest load", "latency": "latency"}[objective]
            print(f"{label}: {cost(work, devices, objective) * 1e3:,.6g} ms")
    load = loads(work, devices)
    count = work.accelerators + work.cpus
    weight_bytes, nodes = np.bincount(devices, work.graph.bytes_kept, count), np.bincount(devices, minlength=count)
    for device in np.flatnonzero(nodes).tolist():
        print(f"  {name_of(work, device)}: {nodes[device]} nodes, load {load[device] * 1e3:,.6g} ms, ", end="")
        print(f"{weight_bytes[device]:,.0f} bytes")
