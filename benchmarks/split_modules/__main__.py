"""Modules of many kinds beside copies that run by random splits.

    python -m benchmarks.split_modules             # small modules of all kinds, 20 minutes
    python -m benchmarks.split_modules --networks  # of torchvision, timm and transformers, and odd ones; an hour

For every case and seed (of weights, inputs and split; two to four devices, all of them the CPU): three steps, of
networks two, each of a call without gradients, and a call, its backward and a step of an optimiser. Results, their
form, what aliases what, inputs, weights, buffers and gradients have to equal the module's in each step, or PlacedModule
has to refuse.

A control changes the result of one random operation of a split by a thousandth: the comparison has to notice it. The
networks have none, for they take long.

It publishes the experiment `own_split`, or `own_split_networks`: modules, modules_refused, modules_different (that
differ in silence with any split); splits (that were compared), splits_different, tensors (that were compared); of
`control` alone share_detected, over the cases that have an operation on floating-point numbers.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Annotated

import torch
import typer
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, publish
from benchmarks.split_modules import layer_cases, network_cases, odd_cases, state_cases
from benchmarks.split_modules.comparing import DIFFERENT, EQUAL, REFUSED, Verdict, compared, detected
from pipeline.lab.rows import Quantity, results, row

CASES = (*state_cases.CASES.cases, *layer_cases.CASES.cases, *odd_cases.CASES.cases)


def main(
    output: Annotated[Path | None, typer.Option(help="Folder to publish in.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Splits of each module. Default: 40, of networks 1.")] = None,
    networks: Annotated[bool, typer.Option("--networks", help="Whole networks.")] = False,
    work: Annotated[Path | None, typer.Option(help="File of verdicts; those that it has are not sought again.")] = None,
    seconds: Annotated[int, typer.Option(help="Begin no further case after so many seconds.")] = 10**6,
) -> None:
    """Run every case by random splits, compare all tensors, and count."""
    torch.set_num_threads(1)
    output = output or PUBLISHED / ("own_split_networks" if networks else "own_split")
    cases, seeds = (network_cases.CASES, seeds or 1) if networks else (CASES, seeds or 40)
    until = time.monotonic() + seconds
    before = {(verdict.case, verdict.seed): verdict for verdict in _read(work)}
    names: dict[str, Counter[str]] = defaultdict(Counter)
    tensors = changed = noticed = 0
    for case in tqdm(cases, "modules"):
        for seed in range(seeds):
            if (case.name, seed) not in before and time.monotonic() > until:
                continue
            verdict = before.get((case.name, seed)) or compared(case, seed, devices=2 + seed % 3)
            if work and (case.name, seed) not in before:
                with work.open("a") as file:
                    file.write(json.dumps(verdict._asdict()) + "\n")
            names[case.name][verdict.name] += 1
            tensors += verdict.tensors
            expected = re.search(case.refusal, verdict.detail) if case.refusal else verdict.name != REFUSED
            if verdict.name == DIFFERENT or not expected:
                tqdm.write(f"{case.name}, seed {seed}: {verdict.name}: {verdict.detail}")
        if not networks and names[case.name][EQUAL] and (noticed_here := detected(case, 0)) is not None:
            changed += 1
            noticed += noticed_here
    place = {"experiment": output.name, "seed": "all", "method": "random_splits"}
    total = sum(names.values(), Counter())
    numbers = {
        "modules": len(names),
        "modules_refused": sum(bool(counts[REFUSED]) for counts in names.values()),
        "modules_different": sum(bool(counts[DIFFERENT]) for counts in names.values()),
        "splits": total[EQUAL] + total[DIFFERENT],
        "splits_different": total[DIFFERENT],
        "tensors": tensors,
    }
    rows = [row(place, Quantity(name, unit="count"), float(value), n=len(names)) for name, value in numbers.items()]
    if changed:
        control = place | {"method": "control"}
        rows.append(row(control, Quantity("share_detected", unit="share"), noticed / changed, n=changed))
    for shown in rows:
        print(f"{shown['method']:<14} {shown['metric']:<18} {shown['value']:,.5g}")
    publish(output, {"results": results(rows)}, {"seeds": seeds})


def _read(work: Path | None) -> list[Verdict]:
    return [Verdict(**json.loads(line)) for line in work.read_text().splitlines()] if work and work.exists() else []


if __name__ == "__main__":
    typer.run(main)
