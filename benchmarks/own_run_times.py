"""Do programs run faster after their blocks were ordered? Projects of `benchmarks/own_projects`, as processor time.

    python -m benchmarks.own_run_times           # builds what is missing, then measures; nothing else should run

Each project that has lines `speed` is built four times: by GCC alone, by GCC alone again in another folder (the control
pair), by `learned-schedulers cc --by search` for this computer's processor, and by random legal orders. Then its
program runs on one core, in two series, a while apart: in each round all four, in a sequence that is drawn. Processor
time of the user, with that of its kernel, is read from the process.

It publishes the experiment `own_run_times`, by project (`set`) and build (`method`): run_time, ratio to `plain`,
geometric mean over the rounds of both series, with its interval over the rounds; run_seconds, the median. The builds
are plain, control, search and random_legal.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from tqdm import tqdm

from benchmarks.own_projects.__main__ import HERE, PROJECTS, compilers, source, unpacked
from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers.blocks.order.targets import of_host
from learned_schedulers.statistics.bootstrap import Bootstrap
from learned_schedulers.wrapper import settings
from pipeline.lab.rows import Quantity, Row, estimated, results, row

_SERIES, _SAMPLES, _CONFIDENCE, _SEED = 2, 1000, 0.95, 47
_DATA, _BYTES = "sqlite", 32 << 20  # the project whose source is compressed and searched
PLAIN, CONTROL = "plain", "control"


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "own_run_times",
    work: Annotated[Path, typer.Option(help="Folder of sources and builds.")] = Path("/tmp/own_projects"),
    only: Annotated[list[str] | None, typer.Option(help="These projects alone.")] = None,
    rounds: Annotated[int, typer.Option(help="Rounds of each series.")] = 12,
    only_build: Annotated[bool, typer.Option(help="Build what is missing, and stop.")] = False,
) -> None:
    """Build, run in turns, and publish the ratios."""
    names = only or [name for name, project in PROJECTS.items() if "speed" in project]
    variants = {PLAIN: "plain", CONTROL: "plain", "search": f"search-{of_host()}", "random_legal": "random-0"}
    data = _data(work)
    builds = {
        name: {method: built(name, method, variant, work, data) for method, variant in variants.items()}
        for name in tqdm(names, "builds")
    }
    if only_build:
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})  # the programs inherit it
    rng = np.random.default_rng(_SEED)
    seconds: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for _ in range(_SERIES):
        for name in tqdm(names, "series"):
            for number in range(rounds + 1):
                methods = rng.permutation(list(builds[name])).tolist()
                times = {method: _processor_seconds(name, builds[name][method], data) for method in methods}
                if number:
                    seconds[name].append(times)
    os.sched_setaffinity(0, allowed)
    rows = [line for name in names for line in _rows(name, seconds[name])]
    sources = {name: PROJECTS[name]["source"] for name in names}
    publish(output, {"results": results(rows)}, {"rounds": rounds, "series": _SERIES, "projects": sources}, _inputs())


def _inputs() -> list[Path]:
    return [HERE / name for name in ("projects.yaml", "speed.lua", "speed.awk")]


def _data(work: Path) -> Path:
    """The file that programs read."""
    path = work / "data"
    if not path.exists():
        archive = source(PROJECTS[_DATA]["source"], work / "sources")
        with subprocess.Popen(["xz", "-dc", archive], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            path.write_bytes(process.stdout.read(_BYTES))
            process.kill()
    return path


def built(name: str, method: str, variant: str, work: Path, data: Path) -> Path:
    """The folder of a project that was built by a method, a variant of the projects; made if it is not there."""
    folder = work / f"{name}-speed-{method}"
    mark = folder / "built"
    if not mark.exists():
        unpacked(name, folder, work)
        environment = _environment(data) | compilers(variant, folder) | {settings.CACHE: str(work / "cache")}
        lines = [*PROJECTS[name]["build"], *PROJECTS[name]["speed"][:-1]]
        with (folder / "speed.log").open("w") as log:
            words = ["bash", "-e", "-o", "pipefail", "-c", "\n".join(lines)]
            subprocess.run(words, cwd=folder, env=environment, stdout=log, stderr=log, check=True)
        mark.touch()
    return folder


def _environment(data: Path) -> dict[str, str]:
    return {**os.environ, "HERE": str(HERE), "DATA": str(data), "LC_ALL": "C"}


def _processor_seconds(name: str, folder: Path, data: Path) -> float:
    """Of the user and of the kernel, for one run of a project's program."""
    words = ["bash", "-c", f"exec {PROJECTS[name]['speed'][-1]}"]
    with subprocess.Popen(words, cwd=folder, env=_environment(data), stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise ValueError(f"{name}: `{PROJECTS[name]['speed'][-1]}` ended with {process.returncode} in {folder}")
    return usage.ru_utime + usage.ru_stime


def _rows(name: str, rounds: list[Mapping[str, float]]) -> list[Row]:
    place = {"experiment": "own_run_times", "set": name, "dependencies": "tso", "target": "this_machine"}
    bootstrap = Bootstrap(len(rounds), _SAMPLES, _CONFIDENCE)
    rows: list[Row] = []
    for method in rounds[0]:
        of_build = place | {"method": method}
        times = np.array([times[method] for times in rounds])
        median = Quantity("run_seconds", unit="seconds")
        rows.append(row(of_build, median, float(np.median(times)), n=len(rounds), seed="all"))
        if method != PLAIN:
            ratios = {0: np.log(times / np.array([times[PLAIN] for times in rounds]))}
            ratio = estimated(
                of_build, Quantity("run_time", "ratio", PLAIN), ratios, bootstrap, lambda x: float(np.exp(x))
            )
            rows.append(ratio[-1] | {"interval_of": "rounds"})
            print(f"{name:<8} {method:<16} {rows[-1]['value']:.4f} ({rows[-1]['low']:.4f} to {rows[-1]['high']:.4f})")
    return rows


if __name__ == "__main__":
    typer.run(main)
