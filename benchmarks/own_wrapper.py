"""What `learned-schedulers cc` costs: `make -j2` of zstd's program, without and with it, in turns.

    python -m benchmarks.own_wrapper

The project (`benchmarks/own_projects/projects.yaml`, some seventy files of C) is built by `make -j2`, nothing to
configure: plain; *cold*, by the compiler that `cc --print gcc` prints, with an empty cache and no resident process;
*warm*, again with the cache; *called*, again by `learned-schedulers cc -- gcc`, with the cache. Three rounds, each with
all of them; a first one is not counted. Nothing else should run.

It publishes the experiment `own_wrapper`: build_ratio of cold, warm and called, to plain of the same round, and
build_seconds; medians with the least and the most of the rounds. n: files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from benchmarks.own_projects.__main__ import PROJECTS, source
from benchmarks.publishing import PUBLISHED, in_turns, of_rounds, publish
from learned_schedulers.wrapper import settings
from pipeline.lab.rows import Quantity, results

_PROJECT, _ROUNDS = "zstd", 3
_MAKE = "make -j2 -C programs zstd ZSTD_LEGACY_SUPPORT=0"


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "own_wrapper",
    sources: Annotated[Path, typer.Option(help="Folder of the sources.")] = Path("/tmp/own_projects/sources"),
    target: Annotated[str, typer.Option("--for", help="Processor.")] = "skylake",
    by: Annotated[str, typer.Option(help="Method.")] = "search",
) -> None:
    """Build in turns, and publish the ratios."""
    archive = source(PROJECTS[_PROJECT]["source"], sources)
    program = str(Path(sys.executable).with_name("learned-schedulers"))
    words = [program, "cc", "--for", target, "--by", by]
    with TemporaryDirectory() as name:
        folder, runtime, cache = (Path(name) / part for part in ("source", "runtime", "cache"))
        folder.mkdir()
        runtime.mkdir(mode=0o700)
        subprocess.run(["tar", "xf", archive, "-C", folder, "--strip-components=1"], check=True)
        environment = {**os.environ, "XDG_RUNTIME_DIR": str(runtime), settings.CACHE: str(cache)}

        answer = subprocess.run([*words, "--print", "gcc"], env=environment, check=True, capture_output=True, text=True)
        printed = answer.stdout.strip()

        def built(compiler: str, fresh: bool = False) -> None:
            if fresh:
                shutil.rmtree(cache / "texts", ignore_errors=True)
                subprocess.run(["pkill", "-f", str(runtime)], check=False)
            subprocess.run(["make", "-C", "programs", "clean"], cwd=folder, check=True, capture_output=True)
            make = [*_MAKE.split(), f"CC={compiler}"]
            subprocess.run(make, cwd=folder, env=environment, check=True, capture_output=True)

        seconds = in_turns(
            {
                "plain": lambda: built("gcc"),
                "cold": lambda: built(printed, fresh=True),
                "warm": lambda: built(printed),
                "called": lambda: built(" ".join([*words, "--", "gcc"])),
            },
            _ROUNDS,
        )
        files = len(list(folder.rglob("*.o")))
        subprocess.run(["pkill", "-f", str(runtime)], check=False)
    rows = []
    for method, values in seconds.items():
        place = {
            "experiment": "own_wrapper",
            "set": _PROJECT,
            "dependencies": "tso",
            "target": target,
            "method": method,
        }
        rows.append(of_rounds(place, Quantity("build_seconds", unit="seconds"), values, files))
        if method != "plain":
            quantity = Quantity("build_ratio", "ratio", "plain", unit="ratio")
            rows.append(of_rounds(place, quantity, values / seconds["plain"], files))
    for shown in rows:
        numbers = f"{shown['value']:.3f} ({shown['low']:.3f} to {shown['high']:.3f})"
        print(f"{shown['method']:<6} {shown['metric']:<14} {numbers}")
    publish(output, {"results": results(rows)}, {"by": by, "for": target, "rounds": _ROUNDS, "make": _MAKE}, [archive])


if __name__ == "__main__":
    typer.run(main)
