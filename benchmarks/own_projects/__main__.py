"""Projects of many kinds, built through `learned-schedulers cc`, and their own suites; and what the wrapper costs.

    python -m benchmarks.own_projects            # resumes where it was stopped; hours
    python -m benchmarks.own_projects --only zlib --only bzip2 --variant search-atom

`projects.yaml` pins the sources (Debian's, by `apt-get source`) and says how each is built and tested. A case is a
project and a variant: `plain`, the compiler alone; METHOD-PROCESSOR, with `-O2`; `native-PROCESSOR`, by search with
`-O3 -march=native`; `random-N`, random legal orders by seed N; and as controls `broken-memory` and `broken-flags`, in
which each block has one dependency reversed (`broken.py`). A case passes if it builds, blocks were changed,
and its suite ends with 0.
Everything runs in the folder of `--work`, which keeps the outcome of each case; a case that is there is not run again.

It publishes the experiment `own_projects`: projects_passing (all variants that were run; n: projects), broken_seen
(projects that fail in a control; n: those that were run), and by variant (`method`) and project (`set`) passing (1 or
0), build_seconds, and from the wrapper's record blocks and blocks_changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
import yaml
from tqdm import tqdm

from benchmarks.own_projects.broken import KINDS
from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers.wrapper import settings
from learned_schedulers.wrapper.build import of_folder
from pipeline.lab.rows import Quantity, Row, results, row

HERE = Path(__file__).parent
PROJECTS: dict[str, Any] = yaml.safe_load((HERE / "projects.yaml").read_text())
_COMMAND = str(Path(sys.executable).with_name("learned-schedulers"))
_PROCESSORS, _SEEDS = ("atom", "skylake", "znver4"), 5
VARIANTS = (
    "plain",
    *(f"search-{processor}" for processor in _PROCESSORS),
    "learned-atom",
    "native-skylake",
    *(f"random-{seed}" for seed in range(_SEEDS)),
)
CONTROLS = tuple(f"broken-{kind}" for kind in KINDS)  # whose suites have to fail


class Outcome(NamedTuple):
    """What became of a case."""

    project: str
    variant: str
    passes: bool
    failed_at: str  # build | test | empty (the wrapper changed nothing)
    build_seconds: float
    test_seconds: float
    blocks: int
    blocks_changed: int


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "own_projects",
    work: Annotated[Path, typer.Option(help="Folder of sources, builds and outcomes.")] = Path("/tmp/own_projects"),
    only: Annotated[list[str] | None, typer.Option(help="These projects alone.")] = None,
    variant: Annotated[list[str] | None, typer.Option(help="These variants alone.")] = None,
    seconds: Annotated[int, typer.Option(help="Begin no further case after so many seconds.")] = 10**6,
) -> None:
    """Build and test the projects by every variant; publish what is there."""
    work.mkdir(parents=True, exist_ok=True)
    path, begun = work / "outcomes.jsonl", time.monotonic()
    outcomes = {(o.project, o.variant): o for o in _read(path)}
    cases = [(name, kind) for kind in variant or (*VARIANTS, *CONTROLS) for name in only or PROJECTS]
    for name, kind in tqdm([case for case in cases if case not in outcomes], "cases"):
        if time.monotonic() - begun > seconds:
            break
        outcome = run(name, kind, work)
        tqdm.write(f"{name:<10} {kind:<16} {'passes' if outcome.passes else 'FAILS at ' + outcome.failed_at}")
        with path.open("a") as file:
            file.write(json.dumps(outcome._asdict()) + "\n")
        outcomes[name, kind] = outcome
    rows = _rows(outcomes.values())
    projects = {name: project["source"] for name, project in PROJECTS.items()}
    publish(
        output,
        {"results": results(rows)},
        {"projects": projects, "variants": VARIANTS + CONTROLS},
        [HERE / "projects.yaml"],
    )


def _read(path: Path) -> list[Outcome]:
    return [Outcome(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


def run(name: str, variant: str, work: Path) -> Outcome:
    """Unpack, build and test a project."""
    project, folder = PROJECTS[name], work / f"{name}-{variant}"
    unpacked(name, folder, work)
    written = folder / "record.jsonl"
    environment = {**os.environ, **compilers(variant, folder), "HERE": str(HERE), settings.RECORD: str(written)}
    environment[settings.CACHE] = str(work / "cache")
    times, failed = {"build": 0.0, "test": 0.0}, ""
    for part in times:
        began = time.monotonic()
        with (folder / f"{part}.log").open("w") as log:
            words = ["bash", "-e", "-o", "pipefail", "-c", "\n".join(project[part])]
            code = subprocess.run(words, cwd=folder, env=environment, stdout=log, stderr=log).returncode
        times[part] = time.monotonic() - began
        if code:
            failed = part
            break
    facts = of_folder(folder, written).files
    changed = sum(fact.get("statuses", {}).get("changed", 0) for fact in facts)
    blocks = sum(fact.get("blocks", 0) for fact in facts)
    if not failed and not changed and variant not in ("plain", *CONTROLS):
        failed = "empty"
    if not failed:
        shutil.rmtree(folder)
    return Outcome(name, variant, not failed, failed, times["build"], times["test"], blocks, changed)


def unpacked(name: str, folder: Path, work: Path) -> None:
    """Unpack the source of a project into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    archive = source(PROJECTS[name]["source"], work / "sources")
    subprocess.run(["tar", "xf", archive, "-C", folder, "--strip-components=1"], check=True)


def compilers(variant: str, folder: Path) -> Mapping[str, str]:
    """The variables that name the compilers and their options."""
    kind, _, value = variant.partition("-")
    if kind == "broken":
        program = folder / "programs" / "as"
        program.parent.mkdir()
        module = [sys.executable, "-m", "benchmarks.own_projects.broken", value]
        program.write_text(
            f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(HERE.parents[1]))} exec {shlex.join(module)} "$@"\n'
        )
        program.chmod(0o755)
    flags = "-O3 -march=native" if kind == "native" else "-O2"
    variables = {"CC": "gcc", "CXX": "g++", "CFLAGS": flags, "CXXFLAGS": flags}
    if kind == "broken":
        return {**variables, "CC": f"gcc -B{program.parent}", "CXX": f"g++ -B{program.parent}"}
    if kind == "plain":
        return variables
    by = {"random": "random_legal", "native": "search"}.get(kind, kind)
    words = ["cc", "--by", by, *(["--seed", value] if kind == "random" else ["--for", value]), "--"]
    line = " ".join([_COMMAND, *words])
    launcher = ";".join([_COMMAND, *words])
    # CMake takes the launchers, and compilers without words of their own.
    launchers = {"CMAKE_C_COMPILER_LAUNCHER": launcher, "CMAKE_CXX_COMPILER_LAUNCHER": launcher}
    return {**variables, **launchers, "CC": f"{line} gcc", "CXX": f"{line} g++"}


def source(pinned: Mapping[str, str], folder: Path) -> Path:
    """The tarball of a source, fetched by Debian's client. Raises ValueError if it is another one than is pinned."""
    path = folder / pinned["file"]
    if not path.exists():
        folder.mkdir(exist_ok=True)
        package = f"{pinned['package']}={pinned['version']}"
        subprocess.run(["apt-get", "source", "--download-only", "-qq", package], cwd=folder, check=False)
        if not path.exists():
            raise ValueError(f"{path.name} was not fetched; put it into {folder} (Debian's source of {package})")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != pinned["sha256"]:
        raise ValueError(f"{path}: its sha256 is {digest}; {pinned['sha256']} is pinned; delete it and run again")
    return path


def _rows(outcomes: Iterable[Outcome]) -> list[Row]:
    every = sorted(outcomes)
    place = {"experiment": "own_projects", "dependencies": "tso", "target": "this_machine", "seed": "all"}
    rows: list[Row] = []
    for outcome in every:
        case = place | {"set": outcome.project, "method": outcome.variant}
        rows.append(row(case, Quantity("passing", unit="share"), float(outcome.passes), n=1, over="cases"))
        rows.append(row(case, Quantity("build_seconds", unit="seconds"), outcome.build_seconds, n=1, over="cases"))
        for metric in ("blocks", "blocks_changed"):
            rows.append(row(case, Quantity(metric, unit="count"), getattr(outcome, metric), n=1, over="cases"))
    right = [outcome for outcome in every if outcome.variant not in CONTROLS]
    projects = sorted({outcome.project for outcome in right})
    passing = [name for name in projects if all(outcome.passes for outcome in right if outcome.project == name)]
    place |= {"set": "all"}
    total = Quantity("projects_passing", unit="count")
    rows.append(row(place | {"method": "all"}, total, len(passing), n=len(projects), over="projects"))
    for control in CONTROLS:
        passes = [outcome.passes for outcome in every if outcome.variant == control]
        if passes:
            quantity = Quantity("broken_seen", unit="count")
            rows.append(row(place | {"method": control}, quantity, passes.count(False), n=len(passes), over="projects"))
    return rows


if __name__ == "__main__":
    typer.run(main)
