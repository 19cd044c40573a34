"""`python -m benchmarks.own_generated`: generated programs in random legal orders, in every format; an hour.

Programs are written by Csmith and by generators of assembly and of C++ with exceptions.
GCC or Clang compiles them with options drawn at random; each prints what can be observed of it. Its assembly, its
object and the linked program are each ordered by `random_legal`, by several seeds, as the command does it; built, run
and compared with the program as it was. What was done is not done again: the same command goes on.

It publishes the experiment `own_generated` by format (`set`: assembly, object, program, archive, all) and by family of
programs (csmith, assembly_text, cplusplus): programs, programs_different, blocks, blocks_changed (once
for each block of a program, however many seeds change it), orders (of all seeds), programs_refused, defects, crashes;
over all also programs_discarded, construct_<name>_programs, and for each control (`method`)
the share_detected. `refused`, `left_alone` and `discarded` count files or their parts by the reason, as the `method`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from tqdm import tqdm

from benchmarks.own_generated import records, table
from benchmarks.publishing import PUBLISHED, publish
from pipeline.lab.rows import results


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "own_generated",
    programs: Annotated[
        int, typer.Option(help="Programs to write; some of them do not run, and are discarded.")
    ] = 6000,
    seeds: Annotated[int, typer.Option(help="Random orders of each program in each format.")] = 2,
    seed: Annotated[int, typer.Option(help="Of the programs.")] = 20190623,
    folder: Annotated[Path, typer.Option(help="Records and cases.")] = Path(".cache/own_generated"),
    only_count: Annotated[bool, typer.Option("--only-count", help="Publish nothing; print the numbers.")] = False,
) -> None:
    """Try what is missing, then publish."""
    place = folder / f"{seed}-{seeds}"
    place.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    numbers = records.missing(place, programs)
    np.random.default_rng(0).shuffle(numbers)  # so that each process has all families
    records.warm_up()
    cpus = sorted(os.sched_getaffinity(0))
    context = get_context("fork")
    shares = [numbers[k :: len(cpus)] for k in range(len(cpus))]
    processes = [
        context.Process(target=_work, args=(cpu, share, seed, seeds, place), daemon=True)
        for cpu, share in zip(cpus, shares, strict=True)
    ]
    for process in processes:
        process.start()
    with tqdm(total=len(numbers), desc="programs", unit="program") as progress:
        while any(process.is_alive() for process in processes):
            time.sleep(1)
            progress.n = len(numbers) - len(records.missing(place, programs))
            progress.refresh()
    if remaining := records.missing(place, programs):
        raise typer.Exit(f"{len(remaining)} programs have no record: a process was killed; the same command goes on")
    rows = table.rows(output.name, records.read(place, programs))
    for shown in rows:
        print(f"{shown['set']:<16} {shown['method'][:60]:<30} {shown['metric']:<40} {shown['value']:,.5g}")
    print(f"{time.perf_counter() - start:.0f} s; cases of differences: {place / 'cases'}")
    if not only_count:
        publish(output, {"results": results(rows)}, {"programs": programs, "seeds": seeds, "seed": seed})


def _work(cpu: int, numbers: list[int], seed: int, seeds: int, place: Path) -> None:
    """Try programs on one core."""
    os.sched_setaffinity(0, {cpu})
    with tempfile.TemporaryDirectory(prefix="own_generated_") as name:
        folder = Path(name)
        for number in numbers:
            work = folder / "work"
            work.mkdir()
            if (folder / "runtime.o").exists():
                shutil.copy(folder / "runtime.o", work)
            records.write(records.of_program(seed, number, seeds, work, place / "cases"), place)
            if (work / "runtime.o").exists():
                shutil.copy(work / "runtime.o", folder)
            shutil.rmtree(work)


if __name__ == "__main__":
    typer.run(main)
