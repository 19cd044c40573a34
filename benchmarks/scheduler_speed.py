"""The time that each method of the experiment `schedulers` takes for a block, on one core: one more series each time.

    python -m benchmarks.scheduler_speed

Blocks: the first of each set that the processor's model knows, in their stored input orders. Timed: from blocks and
dependencies in flat arrays to orders, the processor's costs included; every decoder of a network by itself. Not timed:
reading files, building DAGs, loading networks, compiling (one run before). Methods take turns, round after round, so
that a slow moment of the computer falls on all of them; median, smallest and largest of the rounds.

It publishes the experiment `scheduler_speed`: metric microseconds_per_block, seed `all`. The times of one process
differ from those of another hour, so each run adds a series to those that were published on the same processor, at
least an hour after the last: judge `series_<number>` has the numbers of one series; rows without a judge have the
median of the series' medians, with the smallest and largest round of all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import numba
import numpy as np
import pandas as pd
import torch
import typer

from benchmarks.publishing import PUBLISHED, in_turns, of_rounds, publish
from learned_schedulers.blocks.methods import Budget, Decoding, Method, make
from learned_schedulers.blocks.problems import instructions as instruction_encodings
from learned_schedulers.blocks.problems.batches import by_length
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.processors import supported
from learned_schedulers.blocks.processors.costs import Processor, processor
from pipeline.lab import provenance as origins
from pipeline.lab import published, tables
from pipeline.lab.config import params
from pipeline.lab.config.params import Params
from pipeline.lab.places import path
from pipeline.lab.rows import Quantity, results
from pipeline.lab.shared_tables import KEY
from pipeline.lab.stored_blocks import load_encodings, load_sample, load_store
from pipeline.processors.tables import MACHINE_INSTRUCTIONS

EXPERIMENT = "schedulers"  # whose methods, and whose sets
_INSTRUCTIONS = 8192  # of a batch


def _solve(method: Method, budget: Budget, batches: list[Problems]) -> None:
    for batch in batches:
        method.solve(batch, np.random.default_rng(0), budget)


def _decode(method: Decoding, budget: Budget, batches: list[Problems], decoder: str) -> None:
    for batch in batches:
        method.decode(batch, np.random.default_rng(0), budget, [decoder])


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "scheduler_speed",
    machine: Annotated[str, typer.Option(help="Processor of params.yaml.")] = "atom",
    chosen: Annotated[
        list[str] | None,
        typer.Option("--set", help="Set whose blocks are scheduled; otherwise those of the experiment."),
    ] = None,
    n_blocks: Annotated[int, typer.Option(help="Blocks of each set.")] = 1000,
    rounds: Annotated[int, typer.Option(help="Times that each method is timed.")] = 3,
    minutes_apart: Annotated[int, typer.Option(help="That a series begins after the one before.")] = 60,
) -> None:
    """Time every method, one after the other, several times: one more series of measurements."""
    options = {"machine": machine, "blocks": n_blocks, "rounds": rounds}
    before, began = earlier(output, options)
    now = pd.Timestamp.now("UTC").floor("s")
    if began and now < (again := pd.Timestamp(began[-1]) + pd.Timedelta(minutes=minutes_apart)):
        raise SystemExit(
            f"series {len(began) + 1} can begin at {again:%H:%M} UTC, {minutes_apart} minutes after the last"
        )
    number = len(began) + 1
    torch.set_num_threads(1)
    numba.set_num_threads(1)
    settings = params.load()
    dags = path("dags", dependencies="full")
    stored_blocks = load_store(Path(path("instructions")), Path(dags))
    encodings = load_encodings(Path(path("encodings")))
    model = path("machine_instructions", machine=machine)
    chip = processor(tables.arrow(MACHINE_INSTRUCTIONS, Path(model)))
    methods = _methods(settings, machine, encodings, chip)
    measured = []
    for name in chosen or settings.experiments[EXPERIMENT].sets:
        sample = load_sample(Path(path("sets", set=name)), stored_blocks)
        items = np.flatnonzero(supported(stored_blocks, sample.rows, chip))[:n_blocks]
        batches = []
        for part in by_length(stored_blocks.lengths[sample.rows[items]], _INSTRUCTIONS):
            shown = np.stack([sample.orders[item] for item in items[part]])
            batches.append(stored_blocks.problems(sample.rows[items[part]], shown))
        for (method, decoder), seconds in _seconds(methods, batches, rounds).items():
            place = {"experiment": output.name, "set": name, "target": machine, "method": method, "decoder": decoder}
            of_series = Quantity("microseconds_per_block", judge=f"series_{number}")
            timed = of_rounds(place, of_series, 1e6 * seconds / len(items), len(items))
            spread = f"({timed['low']:,.1f} to {timed['high']:,.1f})"
            print(f"{name:12} {method:36} {decoder:8} {timed['value']:12,.1f} microseconds {spread}")
            measured.append(timed)
    series = pd.concat([before, results(measured)], ignore_index=True)
    options |= {"series": [*began, now.isoformat()]}
    publish(output, {"results": pd.concat([series, over_series(series)])}, options, [dags, model])


def earlier(folder: Path, options: Mapping[str, object]) -> tuple[pd.DataFrame, list[str]]:
    """Rows of the published series, and the time at which each began; both are empty if there is no such folder.

    Raises ValueError if the series are of another processor, or were measured with other options.
    """
    if not folder.is_dir():
        return results([]), []
    publication = published.load([folder])
    provenance = publication.provenance[folder.name]
    settings = provenance.settings if isinstance(provenance.settings, dict) else {}
    same, this_machine = options.items() <= settings.items(), origins.machine()
    if (
        not same
        or not isinstance(provenance.processor, origins.Machine)
        or provenance.processor.kind != this_machine.kind
    ):
        raise ValueError(
            f"{folder} is of another processor, or of other options ({settings}): name another --output, or delete it"
        )
    rows = publication.tables["results"]
    return rows[rows["judge"] != "none"], list(settings["series"])


def over_series(series: pd.DataFrame) -> pd.DataFrame:
    """Rows without a judge: the median of the series' medians, and the smallest and largest round of all."""
    key = [name for name in KEY if name != "judge"]
    merged = series.groupby(key, as_index=False).agg(
        value=("value", "median"), low=("low", "min"), high=("high", "max"), unit=("unit", "first"), n=("n", "first")
    )
    return merged.assign(judge="none", interval_of="rounds and series")[series.columns]


def _methods(
    settings: Params, machine: str, encodings: instruction_encodings.Encodings, chip: Processor
) -> dict[str, tuple[Method, Budget]]:
    """The processor's methods by name, with the weights of the first seed, and the budget of each."""
    resources = {"machine": chip, "encodings": encodings}
    methods_by_name = {}
    for name in settings.methods_of(EXPERIMENT):
        if not settings.serves(EXPERIMENT, name, machine):
            continue
        chosen, network = settings.entry(EXPERIMENT, name), settings.network(EXPERIMENT, name)
        weights = chosen.shipped
        if network is not None:
            seed = settings.experiments[EXPERIMENT].seeds[0]
            network_place = {"experiment": network.experiment, "model": network.model, "seed": seed}
            weights = path("weights", dependencies="full", **network_place)
        resources_and_weights = resources if weights is None else resources | {"weights": Path(weights)}
        methods_by_name[name] = make(chosen, resources_and_weights), Budget.of(chosen)
    return methods_by_name


def _seconds(
    methods: dict[str, tuple[Method, Budget]], batches: list[Problems], rounds: int
) -> dict[tuple[str, str], np.ndarray]:
    """Seconds of each round over all batches, by method and decoder."""
    runs: dict[tuple[str, str], Callable[[], object]] = {}
    for name, (method, budget) in methods.items():
        if isinstance(method, Decoding):
            runs |= {
                (name, decoder_name): partial(_decode, method, budget, batches, decoder_name)
                for decoder_name in method.decoders
            }
        else:
            runs[name, "none"] = partial(_solve, method, budget, batches)
    return in_turns(runs, rounds)


if __name__ == "__main__":
    typer.run(main)
