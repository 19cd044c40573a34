"""Do reordered functions leave the same as the compiler's? Executed, from a million states, in the confined process.

    python -m benchmarks.before_allocation.states FUNCTIONS        # ten minutes; publishes before_allocation_states

FUNCTIONS: the folder that `python -m benchmarks.before_allocation` builds. Each function that runs here is compiled in
LLVM's default order, as it stands, and in the order of every method and of random weights of the policy. All forms run
from the same states of registers and memory, with several draws of arguments; the result and all memory are compared.
Drawn arguments may ask for what is undefined, such as an index outside of a table. So states are left out from which
LLVM's own schedulers differ from each other, and functions of which these are most; and functions on floating numbers
get no content that is not a number.
A control shows what the comparison notices: orders that keep what a value needs, and ignore memory.

By set (training, development, test, all): different, state_runs (comparisons), states_undefined (the share of states
that are left out), and controls_noticed, the share of functions whose control differs, of those that have one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd
import typer
from tqdm import tqdm

from benchmarks.before_allocation.bench import SEED, Bench
from benchmarks.before_allocation.subject import subject
from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers.blocks.before_allocation.compared import REFERENCES, compared
from learned_schedulers.blocks.before_allocation.conditions import NotRunning, conditions
from learned_schedulers.blocks.before_allocation.image import Image
from learned_schedulers.blocks.before_allocation.methods import METHODS
from learned_schedulers.blocks.before_allocation.policy import FEATURES, PARTS, follow
from learned_schedulers.blocks.before_allocation.subject import Subject
from learned_schedulers.blocks.dag.sampling import random_ready
from pipeline.lab.rows import Quantity, results, row


class Outcome(NamedTuple):
    """Of a function."""

    name: str
    left_out: str  # why it does not run here
    compared: int
    different: int
    ran: int  # states
    undefined: int  # states that are left out
    reason: str  # of the first difference
    control: bool | None  # whether the control differs; None if there is none


def main(
    functions: Annotated[Path, typer.Argument(help="Folder with functions.csv and a file for each function.")],
    states: Annotated[int, typer.Option(help="States of each draw of arguments.")] = 100,
    draws: Annotated[int, typer.Option(help="Draws of arguments.")] = 4,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 2,
    limit: Annotated[int, typer.Option(help="Only so many functions.")] = 1_000_000,
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "before_allocation_states",
) -> None:
    """Compare all forms of all functions."""
    table = pd.read_csv(functions / "functions.csv").sample(frac=1, random_state=SEED)[:limit]
    paths = [functions / f"{name}.ll" for name in table.name]
    with ProcessPoolExecutor(jobs) as pool:
        outcomes = list(tqdm(pool.map(_compared, paths, [states] * len(paths), [draws] * len(paths)), total=len(paths)))
    of_sets: dict[str, list[Outcome]] = defaultdict(list)
    for outcome, chosen in zip(outcomes, table.set, strict=True):
        of_sets[chosen].append(outcome)
        of_sets["all"].append(outcome)
        if outcome.different:
            print(f"{outcome.name}: {outcome.different} of {outcome.compared} differ: {outcome.reason}")
    rows = []
    for chosen, members in of_sets.items():
        place = {"experiment": output.name, "set": chosen, "target": "this_machine", "seed": "all", "method": "every"}
        ran = [member for member in members if not member.left_out]
        compared, different = sum(member.compared for member in ran), sum(member.different for member in ran)
        controls = [member.control for member in ran if member.control is not None]
        rows += [
            row(place, Quantity("different"), different, n=compared),
            row(place, Quantity("state_runs"), compared, n=len(ran)),
            row(place, "states_undefined", _share(ran), n=sum(member.ran + member.undefined for member in ran)),
            row(place, "functions_run", len(ran) / len(members), n=len(members)),
            row(
                place, Quantity("controls_noticed", unit="share"), float(np.mean(controls or [np.nan])), n=len(controls)
            ),
        ]
        print(f"{chosen}: {different} of {compared} differ; {len(ran)} of {len(members)} functions run; ", end="")
        print(f"{sum(controls)} of {len(controls)} controls differ")
    settings = {"states": states, "draws": draws, "methods": list(METHODS), "seed": SEED}
    publish(output, {"results": results(rows)}, settings, [Path(__file__).with_name("functions.csv")])


def _share(ran: Sequence[Outcome]) -> float:
    """Of the states that are left out."""
    undefined = sum(member.undefined for member in ran)
    return undefined / max(1, undefined + sum(member.ran for member in ran))


def _compared(path: Path, states: int, draws: int) -> Outcome:
    """All forms of a function."""
    of = subject(path)
    with Bench() as bench:
        try:
            conditions(of, bench.native, bench.emitter)
        except NotRunning as error:
            return Outcome(of.name, str(error), 0, 0, 0, 0, "", None)
        rng = np.random.default_rng(SEED)
        orders = [method(of.problem, rng) for method in METHODS.values()]
        orders.append(follow(of.problem, rng.normal(size=(PARTS, len(FEATURES)))))
        compilers = references(of, bench)
        forms = [of.image(bench.emitter, order) for order in [None, *orders]]
        ran = compared(of, bench.native, compilers, forms, states, draws, SEED)
        control = _control(of, rng)
        if ran.undefined > ran.ran:
            return Outcome(of.name, "most of its states are undefined", 0, 0, 0, 0, "", None)
        noticed = None
        if control is not None:
            wrong = [of.image(bench.emitter, control)]
            noticed = compared(of, bench.native, compilers, wrong, states, draws, SEED).different > 0
    return Outcome(of.name, "", ran.equal + ran.different, ran.different, ran.ran, ran.undefined, ran.reason, noticed)


def references(of: Subject, bench: Bench) -> list[Image]:
    """The function by LLVM's default, twice, and by its other schedulers. Raises LlvmError and NotPlaceable."""
    return [of.image(bench.emitters[name]) for name in ("default", "default", *REFERENCES)]


def _control(of: Subject, rng: np.random.Generator) -> np.ndarray | None:
    """A random order that ignores memory, if it breaks a dependency."""
    n = len(of.block.items)
    needs = np.zeros((n, n), bool)
    for reader, operands in enumerate(of.problem.operands):
        needs[list(operands), reader] = True
    order = random_ready(needs[None], rng)[0]
    slot = np.argsort(order)
    before, after = np.nonzero(of.precedes)
    return order if (slot[before] > slot[after]).any() else None


if __name__ == "__main__":
    typer.run(main)
