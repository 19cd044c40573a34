"""What orders before register allocation are worth: every method on the functions of a set, measured in series.

    python -m benchmarks.before_allocation.gains search FUNCTIONS WORK     # hours of a core; goes on where it stopped
    python -m benchmarks.before_allocation.gains measure WORK --series 1 --sources CACHE   # minutes; 2 hours later
    python -m benchmarks.before_allocation.gains publish FUNCTIONS WORK    # reports/published/before_allocation

FUNCTIONS: the folder that `python -m benchmarks.before_allocation` builds. WORK: a folder for orders and measurements,
which git ignores. CACHE: the folder of sources from which FUNCTIONS were built; with it, GCC is measured, too. The
least of many trials is taken for each of four displacements of the code, beside LLVM's default in the same process;
each series has processes of its own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from tqdm import tqdm

from benchmarks.before_allocation import gcc
from benchmarks.before_allocation.bench import PROCESSOR, SEED, Bench
from benchmarks.before_allocation.numbers import of_parts as parts_of
from benchmarks.before_allocation.numbers import read, rows
from benchmarks.before_allocation.orders import Recorded, of_one_candidate, searched
from benchmarks.before_allocation.subject import subject
from benchmarks.before_allocation.table import of_file
from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers.blocks.before_allocation.conditions import Conditions, NotRunning, conditions
from learned_schedulers.blocks.before_allocation.confirmed import LONG
from learned_schedulers.blocks.before_allocation.image import Image
from learned_schedulers.blocks.before_allocation.learned_search import SHIPPED
from learned_schedulers.blocks.before_allocation.learned_search import read as read_weights
from learned_schedulers.blocks.before_allocation.measured import NotMeasured
from learned_schedulers.blocks.before_allocation.searched import CONFIRMED
from learned_schedulers.blocks.before_allocation.stand import mean_cycles
from learned_schedulers.blocks.before_allocation.subject import Subject
from learned_schedulers.blocks.run.native import Native
from learned_schedulers.files import replacing
from pipeline.lab.rows import parts, results

_PROCESSES = 3  # of a series
_SAMPLES = 24  # orders of a search whose judges are compared
_FORMS = 40  # that are measured together

app = typer.Typer(no_args_is_help=True, help=__doc__)


@app.command()
def search(
    functions: Annotated[Path, typer.Argument(help="Folder with functions.csv and a file for each function.")],
    work: Annotated[Path, typer.Argument(help="Folder for what is computed.")],
    chosen: Annotated[str, typer.Option("--set", help="training, development or test.")] = "test",
    candidates: Annotated[int, typer.Option(help="Most candidates of a search.")] = 1000,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 2,
    limit: Annotated[int, typer.Option(help="Only so many functions.")] = 1_000_000,
) -> None:
    """Order every function of a set by every method."""
    work.mkdir(parents=True, exist_ok=True)
    table = pd.read_csv(functions / "functions.csv")
    names = table[table.set == chosen].name.tolist()[:limit]
    todo = [name for name in names if not (work / f"{name}.json").exists()]
    with ProcessPoolExecutor(jobs) as pool:
        runs = [pool.submit(_search, functions / f"{name}.ll", work, candidates) for name in todo]
        for run in tqdm(runs, desc="functions"):
            run.result()


def _search(path: Path, work: Path, candidates: int) -> None:
    """Orders and counts of a function: WORK/NAME.npz, and NAME.json, written last, which says why if there are none."""
    facts: dict[str, Any] = {"path": str(path.resolve())}
    with Bench() as bench:
        of = subject(path)
        try:
            where = conditions(of, bench.native, bench.emitter)
            orders, of_orders = _ordered(of, bench, where, candidates)
        except (NotRunning, NotMeasured) as error:
            facts["left_out"] = str(error)
        else:
            np.savez_compressed(work / f"{of.name}.npz", **orders)  # type: ignore[arg-type]
            facts |= {"conditions": where.record, **of_orders}
    _write(work / f"{of.name}.json", facts)


def _ordered(
    of: Subject, bench: Bench, where: Conditions, candidates: int
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Orders by method and candidates, and what is to be known of them. Raises NotMeasured."""
    default = of.counts(bench.emitter)
    stand = Recorded(of, where, bench.native, bench.emitter, SEED)
    learned = read_weights()
    ordered = list(of_one_candidate(of.problem, learned, SEED))
    if sum(default[1:]):  # where nothing is spilled, one candidate is tried
        ordered += searched(of.problem, stand, learned, candidates, SEED)
    orders = {f"{each.method} {each.candidates}": each.order for each in ordered}
    rng = np.random.default_rng(SEED)
    picked = sorted(rng.permutation(len(stand.judged))[:_SAMPLES].tolist())
    orders |= {f"sample {k}": stand.judged[i] for k, i in enumerate(picked)}
    ratios = _ratios(of, bench, where, orders, 1)
    return orders, {
        "default": default,
        "instructions": len(of.block.items),
        "counts": {name: of.counts(bench.emitter, order) for name, order in orders.items()},
        "seconds": {f"{each.method} {each.candidates}": each.seconds for each in ordered},
        "confirmed": {name: bool(ratio < CONFIRMED) for name, (ratio, *_) in ratios.items()},
    }


def _write(path: Path, content: dict[str, Any]) -> None:
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(content))


def _ratios(
    of: Subject,
    bench: Bench,
    where: Conditions,
    orders: dict[str, np.ndarray],
    processes: int,
    others: Mapping[str, Image] | None = None,
) -> dict[str, list[float]]:
    """Ratios to the default, one for each process: of orders, LLVM's schedulers, the default again, and other forms."""
    forms = {name: of.image(bench.emitter, order) for name, order in orders.items()}
    forms |= {f"llvm {scheduler}": of.image(emitter) for scheduler, emitter in bench.emitters.items()}
    forms["learned_unscheduled"] = of.image(bench.emitters["unscheduled"], orders["learned 1"])
    forms |= {"control": of.image(bench.emitter), **(others or {})}
    base = of.image(bench.emitter)
    ratios: dict[str, list[float]] = {name: [] for name in forms}
    names = list(forms)
    for process in range(processes):
        rng = np.random.default_rng([SEED, process])
        with Native() as native:
            for begin in range(0, len(names), _FORMS):
                batch = names[begin : begin + _FORMS]
                cycles = mean_cycles(of, native, [base, *(forms[name] for name in batch)], where, LONG, rng)
                for name, ratio in zip(batch, cycles[1:] / cycles[0], strict=True):
                    ratios[name].append(float(ratio))
    return ratios


@app.command()
def measure(
    work: Annotated[Path, typer.Argument(help="Folder of `search`.")],
    series: Annotated[int, typer.Option(help="Number of this series; run it again hours later with another one.")] = 1,
    sources: Annotated[Path | None, typer.Option(help="Cache with sources: for GCC, where LLVM spills.")] = None,
) -> None:
    """Measure all orders again, one function after the other."""
    earlier = {line["function"] for line in lines(work / f"series_{series}.jsonl")}
    with Bench() as bench, (work / f"series_{series}.jsonl").open("a") as file:
        for path in tqdm(sorted(work.glob("*.json")), desc=f"series {series}"):
            facts = json.loads(path.read_text())
            if path.stem in earlier or "left_out" in facts:
                continue
            of, where = subject(Path(facts["path"])), Conditions.of(facts["conditions"])
            orders = dict(np.load(work / f"{path.stem}.npz"))
            of_gcc = gcc.NONE
            if sources and sum(facts["default"][1:]):  # its proof takes some ten seconds
                of_gcc = gcc.images(of_file(Path(facts["path"])), sources, of, where, bench)
            ratios = _ratios(of, bench, where, orders, _PROCESSES, of_gcc.images)
            file.write(json.dumps({"function": path.stem, "ratios": ratios, "gcc": of_gcc.note}) + "\n")
            file.flush()


@app.command("publish")
def publish_rows(
    functions: Annotated[Path, typer.Argument(help="Folder with functions.csv.")],
    work: Annotated[Path, typer.Argument(help="Folder of `search` and `measure`.")],
) -> None:
    """Publish what was measured on the test functions."""
    table = pd.read_csv(functions / "functions.csv")
    output = PUBLISHED / "before_allocation"
    place = {"experiment": output.name, "set": "test", "target": "this_machine"}
    every = read(work)
    of_results, of_parts = results(rows(place, every, table)), parts(parts_of(place, every, table))
    facts = [json.loads(path.read_text()) for path in work.glob("*.json")]
    settings = {
        "functions": len(facts),
        "left_out": sum("left_out" in each for each in facts),
        "gcc": dict(
            Counter(note.partition(":")[0] for line in lines(work / "series_1.jsonl") if (note := line.get("gcc")))
        ),
        "series": sorted(every[0].ratios),
        "processes": _PROCESSES,
        "effort": LONG.__dict__,
        "processor": PROCESSOR,
        "seed": SEED,
    }
    shown = of_results[(of_results.metric == "cycles") & (of_results.seed == "all")]
    print(shown[["set", "method", "decoder", "baseline", "value", "low", "high", "n"]].to_string())
    publish(output, {"results": of_results, "parts": of_parts}, settings, [functions / "functions.csv"], [SHIPPED])


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a file of lines; none if it does not exist."""
    if path.exists():
        yield from map(json.loads, path.read_text().splitlines())


if __name__ == "__main__":
    app()
