"""The speed of environments on this machine, on one core: `python -m benchmarks.data_collection`, half an hour.

CartPole in eleven ways (ways.py), all through the same states; the 2 x 2 factorial of many environments and of fused
steps, by numba and by jax; states of 16 bytes to 16 KB with 1 to 64 fused steps (sizes.py); the strategies of the paper
on XLA (strategies.py); the scheduling environment (scheduling.py). Each is measured in three fresh processes, which
take turns; the results are medians, and the least and the most of them. Measurements are stored under
data/data_collection, and a second call continues. jax is needed: `pip install -e '.[collection]' -c constraints.txt`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from tqdm import tqdm

from benchmarks.data_collection import scheduling, sizes, strategies
from benchmarks.data_collection.measuring import measured
from benchmarks.data_collection.ways import UNROLLED
from benchmarks.publishing import PUBLISHED, of_rounds, publish
from pipeline.lab.rows import Quantity, Row, results, row

MANY, FUSED = 4096, 64
VECTORISED = (*("gymnasium_vector", "numpy", "numba", "numba_blocks", "torch", "torch_compiled", "jax_eager", "jax"),)
ONE_BY_ONE = ("gymnasium", MANY, 1, 1)
CARTPOLES: tuple[tuple[Any, ...], ...] = (  # way, environments, steps of a call, unrolled
    ONE_BY_ONE,
    *((name, MANY, 1, 1) for name in VECTORISED),
    ("numba", MANY, FUSED, 1),
    ("numba_blocks", MANY, FUSED, 1),
    ("torch_compiled", MANY, 8, 1),
    ("jax_scan", MANY, FUSED, 1),
    *(("jax_scan_unrolled", MANY, FUSED, unroll) for unroll in (2, 4, UNROLLED, 16, 32)),
    *(
        (name, MANY, steps, 1)
        for name, steps in (("torch_gpu", 1), ("torch_compiled_gpu", 1), ("torch_compiled_gpu", 8))
    ),
)
FACTORIAL = tuple(product(("numba_blocks", "jax_scan"), (1, MANY), (1, FUSED), (1,)))
Rates = dict[tuple[str, tuple[Any, ...]], list[dict[str, Any]]]  # kind and words -> answers of the processes


def cases() -> list[tuple[str, tuple[Any, ...]]]:
    """All cases that are measured."""
    return [
        *(("cartpole", words) for words in dict.fromkeys([*CARTPOLES, *FACTORIAL])),
        *(("scheduling", (way,)) for way in scheduling.WAYS),
        *(("sizes", words) for words in product(sizes.BYTES, sizes.FUSED)),
        *(("strategies", (name,)) for name in strategies.STRATEGIES),
    ]


def rows_of(experiment: str, answers: Rates) -> Iterator[Row]:
    """Table `results`: `set` is the kind, `lengths` environments or bytes of a state, `iterations` steps of a call."""
    baselines = {"cartpole": ONE_BY_ONE, "scheduling": ("gymnasium",), "strategies": ("baseline",)}
    for (kind, words), process_answers in answers.items():
        name, numbers = (words[0], words[1:]) if kind != "sizes" else ("numba", words)
        columns = dict(zip(("lengths", "iterations", "decoder"), map(str, numbers), strict=False))
        place = {"experiment": experiment, "set": kind, "target": "this_machine", "method": name, "seed": "all"}
        place |= columns
        rates = _rates(process_answers)
        if not len(rates):
            continue
        lengths = columns.get("lengths", "all")
        yield _row(place, Quantity("steps_per_second", lengths=lengths, unit="steps/s"), rates)
        base = _rates(answers[kind, (words[0], 1) if kind == "sizes" else baselines[kind]])
        baseline = "one_step" if kind == "sizes" else str(baselines[kind][0])
        yield _row(place, Quantity("speedup", "ratio", baseline, lengths=lengths), rates / base)
        for metric, unit in (("kernels", "count"), ("moved_bytes", "bytes"), ("calls", "count")):
            if np.isfinite(process_answers[0].get(metric, np.nan)):
                yield row(place, Quantity(metric, lengths=lengths, unit=unit), float(process_answers[0][metric]))
    yield from _factorial(experiment, answers)
    yield from _compared(experiment, answers)


def _factorial(experiment: str, answers: Rates) -> Iterator[Row]:
    """The gain of many environments, and of fused steps: alone and together, against one of each."""
    for way in ("numba_blocks", "jax_scan"):
        single, fused, many, both = (
            _rates(answers["cartpole", (way, count, steps, 1)]) for count, steps in product((1, MANY), (1, FUSED))
        )
        place = {"experiment": experiment, "set": "factorial", "target": "this_machine", "method": way, "seed": "all"}
        alone = {"vectorised_alone": many / single, "fused_alone": fused / single, "together": both / single}
        alone |= {"fused_when_vectorised": both / many, "product_ratio": both * single / (many * fused)}
        for metric, values in alone.items():
            yield _row(place, Quantity(metric, "ratio", "one_environment_one_step"), values)


def _compared(experiment: str, answers: Rates) -> Iterator[Row]:
    """The paper's best strategy, picked in the first process and measured in the others; saved calls of the backend."""
    place = {"experiment": experiment, "target": "this_machine", "seed": "all"}
    by_strategy = {name: _rates(answers["strategies", (name,)]) for name in strategies.STRATEGIES}
    base = by_strategy["baseline"]
    best = max((rates / base for rates in by_strategy.values() if len(rates)), key=lambda ratios: float(ratios[0]))
    yield _row(place | {"set": "strategies", "method": "best"}, Quantity("speedup", "ratio", "baseline"), best[1:])
    compiled, eager = (_rates(answers["cartpole", (name, MANY, 1, 1)]) for name in ("jax", "jax_eager"))
    fewer = Quantity("speedup", "ratio", "jax_eager", lengths=str(MANY))
    yield _row(place | {"set": "calls", "method": "jax", "iterations": "1"}, fewer, compiled / eager)


def _rates(process_answers: list[dict[str, Any]]) -> np.ndarray:
    """(processes,) steps per second; empty if a process failed."""
    if any(answer["status"] != "ok" for answer in process_answers):
        return np.zeros(0)
    return np.array([answer["steps_per_second"] for answer in process_answers])


def _row(place: dict[str, str], quantity: Quantity, values: np.ndarray) -> Row:
    return of_rounds(place, quantity, values, over="processes")


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "data_collection",
    folder: Annotated[Path, typer.Option(help="Where measurements are kept.")] = Path("data/data_collection"),
    processes: Annotated[int, typer.Option(min=2, help="In which each way is measured, in turns.")] = 3,
    seconds: Annotated[float, typer.Option(help="That each process measures for.")] = 1.0,
) -> None:
    """Measure every way in turns, and publish."""
    turns = [(kind, words, process) for process in range(processes) for kind, words in cases()]
    answers: Rates = {}
    for kind, words, process in tqdm(turns, desc="processes"):
        answer = measured(folder, kind, words, process, seconds)
        if answer["status"] != "ok":
            tqdm.write(f"{kind} {words}: {answer['status']}")
        answers.setdefault((kind, words), []).append(answer)
    table = results(rows_of(output.name, answers))
    shown = table[["set", "method", "lengths", "iterations", "decoder", "metric", "value", "low", "high"]]
    print(shown.to_string(index=False))
    options = {"processes": processes, "seconds": seconds, "environments": MANY}
    publish(output, {"results": table}, options)


if __name__ == "__main__":
    typer.run(main)
