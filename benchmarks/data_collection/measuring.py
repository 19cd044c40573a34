"""Steps per second of one way, measured in a process of its own: `python -m benchmarks.data_collection.measuring`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from learned_schedulers.files import replacing

_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


def measured(folder: Path, kind: str, words: Sequence[object], process: int, seconds: float) -> dict[str, Any]:
    """The answer of one process; it is stored in the folder, and not measured again. A failure is a status."""
    path = folder / kind / f"{'_'.join(map(str, words))}_{process}.json"
    if not path.exists():
        module = "benchmarks.data_collection.measuring"
        command = [sys.executable, "-m", module, kind, *map(str, words), "--seconds", str(seconds)]
        ended = subprocess.run(command, capture_output=True, text=True, env=os.environ | _ENVIRONMENT, check=False)
        last_line = ended.stdout.strip().splitlines()[-1:] or [""]
        if ended.returncode:
            problem = (ended.stderr.strip().splitlines() or ["it ended without a word"])[-1]
            last_line = [json.dumps({"status": f"failed: {problem}"})]
        with replacing(path) as temporary:
            temporary.write_text(last_line[0])
    answer: dict[str, Any] = json.loads(path.read_text())
    return answer


def rate(advance: Callable[[], None], steps: int, seconds: float) -> float:
    """Steps per second: the best of five equal parts of the time, after two calls that compile and warm up."""
    advance()
    advance()
    best = 0.0
    for _ in range(5):
        began, calls = time.perf_counter(), 0
        while (passed := time.perf_counter() - began) < seconds / 5 or not calls:
            advance()
            calls += 1
        best = max(best, calls * steps / (time.perf_counter() - began if passed == 0 else passed))
    return best


def main(
    kind: Annotated[str, typer.Argument(help="cartpole, scheduling, sizes or strategies.")],
    words: Annotated[list[str], typer.Argument(help="What of it: name and numbers.")],
    seconds: Annotated[float, typer.Option(help="To measure for.")] = 1.0,
) -> None:
    """Measure one way and print JSON."""
    answer: dict[str, Any] = {"status": "ok"}
    if kind == "cartpole":
        from benchmarks.data_collection import ways
        from benchmarks.data_collection.calls import calls

        way = ways.Way(words[0], *map(int, words[1:]))
        advance, _ = ways.make(way)
        answer["steps_per_second"] = rate(advance, way.environments * way.fused, seconds)
        answer["calls"] = calls(way)
    elif kind == "scheduling":
        from benchmarks.data_collection import scheduling

        answer["steps_per_second"] = rate(*scheduling.make(words[0]), seconds)
    elif kind == "sizes":
        from benchmarks.data_collection import sizes

        size, fused = map(int, words)
        advance, states = sizes.advance(size, fused)
        answer["steps_per_second"] = rate(advance, len(states) * fused, seconds)
    else:
        from benchmarks.data_collection import strategies

        strategy = strategies.compiled(words[0])
        answer["steps_per_second"] = rate(strategy.run, strategies.ENVIRONMENTS * strategies.STEPS, seconds)
        answer |= {"kernels": strategy.kernels, "moved_bytes": strategy.moved_bytes}
    print(json.dumps(answer))


if __name__ == "__main__":
    typer.run(main)
