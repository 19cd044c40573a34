"""Damaged models through the console command's reader: `python -m benchmarks.mutated_graphs` (2,000, two minutes).

For every file (`tests/graphs/corpus/mutated.py`): either a graph, on which list scheduling then takes no less than the
lower bound, or an error that names the file. Everything else is a fault, and ends the run with exit code 1: another
exception, too large an allocation, or more seconds than the limit (a watchdog then ends it, and shows where it was).
"""

from __future__ import annotations

import faulthandler
import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Annotated

import numpy as np
import onnx
import typer
from tqdm import tqdm

from pipeline.graphs.devices.simulator import makespans
from pipeline.graphs.plans.sources import on_devices, read_file
from pipeline.graphs.schedulers.rules.listing import by_critical_path
from tests.graphs.corpus.mutated import inputs, with_weights

LIMIT_SECONDS = 20  # per file; the slowest takes a fraction of a second
_MORE_BYTES = 2**31  # that reading may allocate beside what the process has
_ROUNDING = 1e-9


def outcome(path: Path) -> str:
    """`read`, or `error` for an error that names the file. Raises any other exception, which is a fault."""
    try:
        problem = on_devices(read_file(path, {}))
    except ValueError as error:
        message = str(error)
        if not (str(path) in message or f"graph {path.stem}" in message) or "\n" in message:
            raise AssertionError(f"the message does not name the file, or not in one line: {message}") from error
        return "error"
    order, placement = by_critical_path(problem)
    seconds = float(makespans(problem, order[None], placement[None])[0])
    assert np.isfinite(seconds) and seconds >= problem.bound * (1 - _ROUNDING), f"{seconds} s, bound {problem.bound}"
    return "read"


def whole_models() -> list[bytes]:
    """The models without weights in the package `onnx`, and one with weights, half as often as all others together."""
    folder = Path(onnx.__file__).parent / "backend/test/data/light"
    light = [path.read_bytes() for path in sorted(folder.glob("*.onnx"))]
    return light + [with_weights()] * (len(light) // 2)


def main(
    count: Annotated[int, typer.Option(help="How many damaged files.")] = 2000,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
) -> None:
    """Read damaged files and count what became of them."""
    models = whole_models()
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _MORE_BYTES,) * 2)
    outcomes: Counter[tuple[str, str, str]] = Counter()
    faults, slowest = [], 0.0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")  # what NumPy complains of is nothing that we looked for
        for number, (suffix, damage, data) in enumerate(
            tqdm(inputs(seed, count, models), total=count, file=sys.stderr)
        ):
            path = Path(folder) / f"model_{number}{suffix}"
            path.write_bytes(data)
            faulthandler.dump_traceback_later(LIMIT_SECONDS, exit=True, file=sys.__stderr__)
            began = time.perf_counter()
            try:
                became = outcome(path)
            except Exception as error:
                became = "fault"
                faults.append(f"{path.name}, {damage}: {type(error).__name__}: {str(error)[:300]}")
            faulthandler.cancel_dump_traceback_later()
            slowest = max(slowest, time.perf_counter() - began)
            outcomes[suffix, damage.removeprefix("_"), became] += 1
            path.unlink()
    for (suffix, damage, became), files in sorted(outcomes.items()):
        print(f"{files:6d}  {suffix}  {damage:10s}  {became}")
    total = Counter({became: 0 for became in ("read", "error", "fault")})
    for (_, _, became), files in outcomes.items():
        total[became] += files
    print(f"{count} files, seed {seed}: " + ", ".join(f"{files} {became}" for became, files in total.items()), end="")
    print(f"; the slowest took {slowest:.2f} s")
    if faults:
        print("\n".join(faults), file=sys.stderr)
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
