"""What `tune` gains in programs of others: `python -m benchmarks.tuning FOLDER` (a quarter of an hour for each).

tuning_programs.yaml names the programs, Debian's sources with a benchmark of their own; on those marked `development`
the search was developed, and the others were listed before any of them was tuned. Each is built in a tree for each way:
by GCC and by clang with the project's own options, by both with functions and loops at aligned places, by clang with a
profile of the benchmark (PGO), by GCC and laid out by BOLT with such a profile, by `tune` with the project's compiler,
GCC, and by `tune` upon PGO. Then each runs in pairs with GCC's. A second call, at another
hour, adds its runs to the first one's; `--publish` writes the experiment `tuning` from all of them, and from what was
published of other programs: delete reports/published/tuning if the search has changed.

FOLDER keeps the trees. Needs Debian's sources (`apt-get source`), clang-19, perf, and what the programs need.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
import yaml
from scipy.stats import spearmanr

from benchmarks import tuning_inputs
from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers.blocks.before_allocation import learned_search
from learned_schedulers.blocks.before_allocation.emitters import Emitters
from learned_schedulers.blocks.before_allocation.functions import reordered
from learned_schedulers.blocks.before_allocation.learned_search import Costs
from learned_schedulers.blocks.before_allocation.policy import follow
from learned_schedulers.blocks.before_allocation.problem import Problem, problem
from learned_schedulers.blocks.before_allocation.single_function import movable
from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.tuning.benchmark import Benchmark, ratio
from learned_schedulers.tuning.build import Build, compilers
from learned_schedulers.tuning.campaign import Campaign
from learned_schedulers.tuning.hot_file import DEFAULT, Choice, HotFile
from learned_schedulers.tuning.judging import Judge
from learned_schedulers.tuning.outcome import Settings
from learned_schedulers.tuning.search import Search
from pipeline.lab.rows import Quantity, results, row

PROGRAMS = Path(__file__).with_name("tuning_programs.yaml")
_ALIGNED = "-falign-functions=64 -falign-loops=32"
_PGO = "-fprofile-instr-use={profile} -Wno-profile-instr-unprofiled -Wno-profile-instr-out-of-date -Wno-backend-plugin"
WAYS = {"gcc": "gcc", "clang": "clang-19", "gcc_aligned": f"gcc {_ALIGNED}", "clang_aligned": f"clang-19 {_ALIGNED}"}
ROOT = Path(__file__).parents[1]
WAYS |= {"pgo": f"clang-19 {_PGO}", "bolt": "gcc -Wl,--emit-relocs"}
WAYS |= {"tuned": "gcc", "tuned_upon_pgo": f"clang-19 {_PGO}"}
_BOLT = "llvm-bolt-19 bolt.unchanged -o {program} "
_INSTRUMENT = "-instrument --instrumentation-file=bolt.profile --runtime-instrumentation-lib="
_INSTRUMENT += "llvm-19/lib/libbolt_rt_instr.a"
_LAYOUT = "-data=bolt.profile -reorder-blocks=ext-tsp -reorder-functions=hfsort -split-functions -split-all-cold"
_COMPILERS = ("gcc", "clang", "gcc_aligned", "clang_aligned")
_BEGUN_WITH = {"tuned": "gcc", "tuned_upon_pgo": "pgo"}
_TUNED = (*_BEGUN_WITH,)
_COMPARED = [
    *product(("clang", "better_compiler", "pgo", "bolt", *_TUNED), ("gcc",)),
    *product(_TUNED, ("clang", "better_compiler", "pgo", "bolt")),
]
_ROUNDS, _PROBES = 10, 5
_CORES = len(os.sched_getaffinity(0))
_SEEDS = (1, 2, 3)
# Tables of runs, published beside the results so that programs measured on different days make one experiment.
_TABLES = {
    "runs": ("program", "process", "round", "way"),
    "notes": ("program", "way"),
    "judge": ("program", "function"),
    "stress": ("program",),
    "learning": ("program", "way", "seed", "seconds"),
}
_DRAWS = 7  # populations of random orders that the judge sees twice
Program = Mapping[str, str]


def main(
    folder: Annotated[Path, typer.Argument(help="Where trees and runs are; FOLDER/PROGRAM/source has the sources.")],
    only: Annotated[list[str] | None, typer.Option(help="Programs; all by default.")] = None,
    minutes: Annotated[float, typer.Option(help="Of each search.")] = 10,
    rounds: Annotated[int, typer.Option(help="Runs of each way.")] = _ROUNDS,
    judge: Annotated[bool, typer.Option(help="Measure the judge in the development programs.")] = False,
    learning: Annotated[bool, typer.Option(help="Compare the search with others that have learned nothing.")] = False,
    stress: Annotated[bool, typer.Option(help="Run the programs' tests with random legal orders everywhere.")] = False,
    to_publish: Annotated[bool, typer.Option("--publish", help="Publish what all calls have measured.")] = False,
) -> None:
    """Build, tune, measure; or publish."""
    programs: dict[str, Program] = yaml.safe_load(PROGRAMS.read_text())
    tuning_inputs.write(folder.resolve() / "inputs")
    if to_publish:
        _publish(folder, programs, minutes)
        return
    if judge:
        for name in only or [name for name, program in programs.items() if program.get("development")]:
            _judge((folder / name).resolve(), programs[name])
        return
    if stress:
        for name in only or [name for name, program in programs.items() if program.get("test")]:
            _stress((folder / name).resolve(), programs[name])
        return
    if learning:
        for name in only or [name for name, program in programs.items() if program.get("development")]:
            _learning((folder / name).resolve(), programs[name], 60 * minutes)
        return
    for name in only or programs:
        built = [way for way in WAYS if _built((folder / name).resolve(), way, programs[name], minutes)]
        _measure((folder / name).resolve(), built, programs[name], rounds)


def _built(place: Path, way: str, program: Program, minutes: float) -> bool:
    """Build the tree of a way, unless that was done, and note what came of it."""
    note = place / f"{way}.json"
    if not note.exists():
        failed, output, seconds = "", "", 0.0
        try:
            output, seconds = _tree(place, way, program, minutes)
        except subprocess.CalledProcessError as error:
            failed = f"{error.cmd}: {(error.output or '')[-1000:]}"
        note.write_text(json.dumps({"seconds": seconds, "failed": failed, "output": output}, indent=1))
        print(f"{place.name} {way}: {failed or 'built'}", flush=True)
    return not json.loads(note.read_text())["failed"]


def _tree(place: Path, way: str, program: Program, minutes: float) -> tuple[str, float]:
    """Build the tree of a way; what `tune` says of it, and the seconds that it takes."""
    compiler = WAYS[way].format(profile=place / "profile")
    if way == "pgo":
        training = _copy(place, "training")
        _run(training, "clang-19 -fprofile-instr-generate", program, "configure", "build", "bench")
        _shell(f"llvm-profdata-19 merge -o {place / 'profile'} $(find . -name '*.profraw')", training)
    tree = _copy(place, way)
    if not way.startswith("tuned"):
        _run(tree, compiler, program, "configure", "build")
        if way == "bolt":
            _lay_out(tree, program)
        return "", 0.0
    _run(tree, compiler, program, "configure")
    command = [sys.executable, "-m", "learned_schedulers.command.main", "tune", "--minutes", str(minutes)]
    command += ["--report", str(place / f"{way}.html")]
    for step in ("build", "bench", "test", "rate"):
        command += [f"--{step}", _line(program[step], compiler)] if program.get(step) else []
    began = time.monotonic()
    return _shell(shlex.join(command), tree), time.monotonic() - began


def _lay_out(tree: Path, program: Program) -> None:
    """Let BOLT lay out the code of the benchmark's program by a profile of one run."""
    path = next(word for word in shlex.split(program["bench"]) if (tree / word).is_file())
    _shell(f"mv {path} bolt.unchanged && {_BOLT.format(program=path)} {_INSTRUMENT}", tree)
    _run(tree, "", program, "bench")
    _shell(_BOLT.format(program=path) + _LAYOUT, tree)


def _copy(place: Path, name: str) -> Path:
    shutil.rmtree(place / name, ignore_errors=True)
    tree = Path(shutil.copytree(place / "source", place / name, symlinks=True))
    for path in (place.parent / "inputs").iterdir():
        shutil.copy(path, tree)
    return tree


def _line(line: str, compiler: str) -> str:
    """A line of a program with the compilers' names in it."""
    cpp = compiler.replace("clang-19", "clang++-19").replace("gcc", "g++")
    return line.replace("$CXX", cpp).replace("$CC", compiler)


def _run(tree: Path, compiler: str, program: Program, *steps: str) -> None:
    for step in steps:
        if program.get(step):
            _shell(_line(program[step], compiler), tree)


def _shell(line: str, folder: Path) -> str:
    """Run a line of the list of programs, which is ours. Returns all that it says."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "LLVM_PROFILE_FILE": str(folder / "%p-%m.profraw")}
    ended = subprocess.run(
        ["sh", "-c", line], cwd=folder, env=environment, text=True, errors="replace", check=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return ended.stdout


def _measure(place: Path, ways: list[str], program: Program, rounds: int) -> None:
    """Add runs of all ways, each in a pair with one of GCC's build, to the program's table.

    Both run at the same time on one processor, or one after the other where that is steadier: some benchmarks print the
    rate of their fastest loop, which a neighbour disturbs, or not.
    """
    bench = Benchmark(program["bench"], place, program.get("rate"), "by_time" in program)

    def times(pair: tuple[str, ...], at_once: bool) -> list[float]:
        groups = [pair] if at_once else [(way,) for way in pair]
        return [run.time for group in groups for run in bench.together(list(map(_in_tree, group)))]

    probes = {at_once: [times(("gcc", "gcc_aligned"), at_once) for _ in range(_PROBES)] for at_once in (True, False)}
    at_once = min(probes, key=lambda each: float(np.diff(np.log(probes[each])).std()))
    runs, began = [], time.strftime("%Y-%m-%dT%H:%M")
    for number, way in product(range(rounds), (each for each in ways if each != "gcc")):
        pair = ("gcc", way)[:: 1 if number % 2 else -1]
        by_way = dict(zip(pair, times(pair, at_once), strict=True))
        runs.append({"process": began, "round": number, "way": way, "time": by_way[way], "time_of_gcc": by_way["gcc"]})
    table = place / "runs.csv"
    earlier = [pd.read_csv(table)] if table.exists() else []
    pd.concat([*earlier, pd.DataFrame(runs)]).to_csv(table, index=False)


def _in_tree(way: str) -> list[str]:
    """A shell in the tree of a way, on the last processor."""
    return ["sh", "-c", f'cd {way} && exec taskset -c {max(os.sched_getaffinity(0))} sh -c "$1"', "sh"]


def _noted(place: Path) -> None:
    """Write the table of what came of each way's build."""
    notes = []
    for way in [each for each in WAYS if (place / f"{each}.json").exists()]:
        note = json.loads((place / f"{way}.json").read_text())
        lines = note["output"].strip().splitlines()
        result = next((line for line in lines if "of the default build's time" in line), "")
        failed = "made them fail" in note["output"]
        notes.append({"way": way, "seconds": round(note["seconds"]), "tests_failed": failed, "result": result})
    pd.DataFrame(notes).to_csv(place / "notes.csv", index=False)


def _campaign(place: Path, program: Program) -> tuple[Campaign, Judge]:
    """A project that is configured, and the judge of its functions once it has dispatchers."""
    tree, state = _copy(place, "judge"), place / "state"
    _run(tree, "gcc", program, "configure")
    bench = Benchmark(program["bench"], tree, program.get("rate"))
    settings = Settings(program["build"], bench, None, 1, _ROUNDS, _CORES, 0)
    return Campaign(Build(program["build"], tree, state, compilers()), tree, state, settings), Judge(
        bench, state / "judge"
    )


def _judge(place: Path, program: Program) -> None:
    """Two runs of the judge on the same random orders of each hot function, and how long that takes."""
    campaign, judge = _campaign(place, program)
    rng, weights = np.random.default_rng(0), learned_search.read()
    rows = []
    with Emitters(_CORES) as emitters:
        for site, (file, share, _) in campaign.sites(emitters).items():
            function = file.functions[site.function]
            size = sum(len(block.items) for block in function.blocks)
            can_move = movable(file.module, function)
            index = can_move.blocks[0]
            of_block = problem(function, function.blocks[index], can_move.precedes(index))
            moving = learned_search.strategy(weights, rng)
            drawn = [follow(of_block, learned_search.shaped(each)) for _ in range(_DRAWS) for each in moving.ask()]
            orders = {order.tobytes(): Choice(DEFAULT, ((index, tuple(order.tolist())),)) for order in drawn}
            began = time.monotonic()
            texts = [file.ordered(site.function, choice) for choice in orders.values()]
            objects = [each for each in emitters.all("default", texts, file.name) if each]
            ticks = [judge.ticks(site, objects, 60, seed) for seed in (1, 2)]
            minutes = (time.monotonic() - began) / 60
            logs = np.log(ticks)
            spread, noise = logs.mean(0).std(ddof=1), np.diff(logs, axis=0).std(ddof=1) / 2  # of the mean of two runs
            rows.append({"function": site.function, "instructions": size, "share": share, "orders": len(objects),
                         "rank_correlation": spearmanr(*ticks).statistic, "spread": spread, "noise": noise,
                         "candidates_per_minute": len(objects) / minutes})  # fmt: skip
            print(rows[-1], flush=True)
    pd.DataFrame(rows).to_csv(place / "judge.csv", index=False)


def _learning(place: Path, program: Program, seconds: float) -> None:
    """What learned weights are worth: the same search from others, and random legal orders, of the hottest function."""
    campaign, judge = _campaign(place, program)
    shipped = learned_search.read()
    unlearned = learned_search.Weights(np.zeros_like(shipped.centre), np.full_like(shipped.spread, 0.5))
    ways = {
        "learned": partial(learned_search.search, weights=shipped),
        "unlearned": partial(learned_search.search, weights=unlearned),
        "random": _random_orders,
    }
    table = place / "learning.csv"
    rows = pd.read_csv(table).to_dict("records") if table.exists() else []
    with Emitters(_CORES) as emitters:
        site, (file, _, ready) = max(campaign.sites(emitters).items(), key=lambda item: item[1][1])
        for seed in _SEEDS:
            for way, of_block in ways.items():
                search = Search(file, site, judge, emitters, np.random.default_rng(seed))
                outcome = search.run(ready, of_block, seconds, for_options=0)
                best = min((each.ratio for each in outcome.best if each.choice.orders), default=1.0)
                rows.append({"function": site.function, "way": way, "seed": seed, "seconds": seconds, "ratio": best,
                             "judged": outcome.judged})  # fmt: skip
                print(rows[-1], flush=True)
    pd.DataFrame(rows).to_csv(table, index=False)


def _stress(place: Path, program: Program) -> None:
    """The program's own tests with random legal orders in all blocks of all its functions, at once."""
    tree, rng, contents = _copy(place, "stress"), np.random.default_rng(0), {}
    _run(tree, "gcc", program, "configure")
    build = Build(_line(program["build"], "gcc"), tree, place / "state_of_stress", compilers())
    build.run()
    blocks = functions = 0
    with Emitters(_CORES) as emitters:
        for each in [each for each in build.objects().values() if not each.reason and each.output.exists()]:
            try:
                file = HotFile(each.code.read_bytes(), each.source.name, each.call)
                orders = []
                for function in file.functions.values():
                    can_move = movable(file.module, function)
                    drawn = {index: random_ready(can_move.precedes(index)[None], rng)[0] for index in can_move.blocks}
                    orders += [(function.blocks[index], order) for index, order in drawn.items()]
                    functions += bool(drawn)
                contents[each.output] = emitters.object_file("unscheduled", reordered(file.text, orders), file.name)
                blocks += len(orders)
            except ValueError as error:
                print(f"{each.source.name}: {error}", flush=True)
    build.put(contents)
    lines = f"({program['bench']}) && ({program['test']})"  # some tests read what the benchmark has written
    ended = subprocess.run(["sh", "-c", lines], cwd=tree, capture_output=True, text=True, errors="replace")
    row_of_it = {"files": len(contents), "functions": functions, "blocks": blocks, "failed": bool(ended.returncode)}
    print(place.name, row_of_it, ended.stdout[-400:] if ended.returncode else "", flush=True)
    pd.DataFrame([row_of_it]).to_csv(place / "stress.csv", index=False)


def _random_orders(of_block: Problem, costs: Costs, evaluations: int, rng: np.random.Generator, together: int) -> None:
    """Legal orders drawn instruction by instruction, until `costs` ends it."""
    several = np.repeat(of_block.precedes[None], together, 0)
    for _ in range(evaluations // together):
        costs([*random_ready(several, rng).astype(np.int64)])


def _publish(folder: Path, programs: Mapping[str, Program], minutes: float) -> None:
    """Ratios of times by program, their geometric means over those that were not looked at, and the searches' time."""
    for runs in folder.glob("*/runs.csv"):
        _noted(runs.parent)
    frames = {name: _joined(name, keys, folder) for name, keys in _TABLES.items()}
    runs, notes = frames["runs"], frames["notes"].query("way == 'tuned'")
    as_before = frames["notes"][frames["notes"]["result"].astype(str).str.startswith("nothing is kept")]
    times: dict[str, pd.DataFrame] = {}
    for name in [each for each in programs if each in set(runs["program"])]:
        of_program = runs[runs["program"] == name]
        of_program = of_program.assign(ratio=of_program["time"] / of_program["time_of_gcc"])
        wide = of_program.pivot_table(index=["process", "round"], columns="way", values="ratio").assign(gcc=1.0)
        # A tree that is left as it was has the usual build: what its runs would differ by is noise.
        for way in as_before["way"][as_before["program"] == name]:
            wide[way] = wide[_BEGUN_WITH[way]]
        fastest = np.log(wide[wide.columns.intersection(_COMPILERS)]).mean().idxmin()
        times[name] = wide.assign(better_compiler=wide[fastest])
    rows = []
    for way, over in _COMPARED:
        place = {"experiment": "tuning", "method": way, "target": "this_machine"}
        quantity = Quantity("time", "ratio", over)
        both = {name: wide for name, wide in times.items() if {way, over} <= {*wide.columns}}
        by_program = {name: ratio(wide[over], wide[way]) for name, wide in both.items()}
        for name, numbers in by_program.items():
            rows.append(row(place | {"set": name}, quantity, *numbers, len(both[name]), over="runs", seed="all"))
        judged = [numbers[0] for name, numbers in by_program.items() if not programs[name].get("development")]
        if len(judged) > 1:
            numbers = ratio(np.ones(len(judged)), judged)
            rows.append(row(place, quantity, *numbers, len(judged), over="programs", seed="all"))
    slower = sum(ratio(wide["gcc"], wide["tuned"])[1] > 1 for wide in times.values() if "tuned" in wide)
    tuned = {"experiment": "tuning", "method": "tuned", "target": "this_machine", "seed": "all"}
    rows.append(row(tuned, Quantity("slower_programs", unit="count"), slower, n=len(times)))
    longest = notes["seconds"].max() / 60
    rows.append(row(tuned, Quantity("minutes", unit="minutes"), longest, n=len(notes)))
    failing = int(notes["tests_failed"].sum() + frames["stress"].get("failed", pd.Series(dtype=int)).sum())
    tested = len(notes) + len(frames["stress"])
    rows.append(row(tuned, Quantity("tests_failing", unit="count"), failing, n=tested))
    of_judge = frames["judge"].query("instructions <= 500")
    for metric in ("rank_correlation", "candidates_per_minute"):
        if len(of_judge):
            values = of_judge[metric]
            numbers = values.agg(["min", "min", "max"])
            rows.append(row(tuned, Quantity(metric, unit="1"), *numbers, len(values), over="functions"))
    for line, metric in product(frames["judge"].to_dict("records"), ("rank_correlation", "spread", "noise")):
        place = tuned | {"method": "judge", "set": line["function"]}
        rows.append(row(place, Quantity(metric, unit="share"), line[metric], n=line["orders"]))
    of_a_minute = frames["learning"].query("seconds == 60")
    for way in ("unlearned", "random"):
        if len(of_a_minute):
            by_way = of_a_minute.pivot_table(index=["program", "seed"], columns="way", values="ratio")
            numbers = ratio(by_way[way], by_way["learned"])
            learned = tuned | {"method": "learned"}
            rows.append(row(learned, Quantity("time", "ratio", way), *numbers, len(by_way), over="searches"))
    for line in rows:
        name_of_row = f"{line['method']} {line['metric']} over {line['baseline']}, {line['set']}"
        print(f"{name_of_row}: {line['value']:.3f} [{line['low']:.3f}, {line['high']:.3f}]")
    tables = {f"tuning_{name}": frame for name, frame in frames.items() if len(frame)}
    if unmeasured := [name for name in programs if name not in times]:
        print(f"runs are published; results will be once these are measured, too: {', '.join(unmeasured)}")
    else:
        tables["results"] = results(rows)
    publish(PUBLISHED / "tuning", tables, {"minutes": minutes}, [PROGRAMS])


def _joined(name: str, keys: Sequence[str], folder: Path) -> pd.DataFrame:
    """What was published of a table and what this folder has: a later line replaces one of the same keys."""
    earlier = PUBLISHED / "tuning" / f"tuning_{name}.csv"
    frames = [pd.read_csv(earlier)] if earlier.exists() else []
    frames += [pd.read_csv(path).assign(program=path.parent.name) for path in sorted(folder.glob(f"*/{name}.csv"))]
    if not frames:
        return pd.DataFrame(columns=[*keys, "instructions"])
    table = pd.concat(frames).drop_duplicates([*keys], keep="last").sort_values([*keys])
    return table[[*keys, *(column for column in table if column not in keys)]]


if __name__ == "__main__":
    typer.run(main)
