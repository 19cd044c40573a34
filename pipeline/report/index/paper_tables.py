"""The paper's tables and figures for the experiments of one page: the reproduction, or all others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from pipeline.analysis import paper
from pipeline.report.evidence import ALL, Evidence
from pipeline.report.index import plots, questions
from pipeline.report.names import in_order, label, natural, spelt
from pipeline.report.numbers import cell, count, difference, number, shown, with_interval
from pipeline.report.plots import Drawing, training
from pipeline.report.tables import Cell, Line, Table, lines, metric, of, records, table, value

DECODERS = ["hungarian", "topological", "expected_slots", "best", "none"]
BASELINES = ["random_legal", "input_order", "critical_path", "gcc"]
CURVES = [("loss", "Loss, nats per instruction"), ("exact_match", "Exact match"), ("valid_share", "Valid")]
_KNOBS = [
    "operator", "method", "proposal", "iterations", "loss", "floor", "optimiser", "learning_rate", "decay",
    "batch_size", "steps", "hidden",
]  # fmt: skip


@dataclass(frozen=True)
class Part:
    """One experiment with one kind of dependencies, as the template shows it."""

    experiment: str
    dependencies: str
    fresh: bool
    seeds: list[str]
    n_test_blocks: int
    n_train_blocks: int | None
    table_1: Table
    by_seed: Table
    table_2: Table
    asked: list[questions.Question]
    claims: Table
    examples: list[tuple[str, str]]  # figure name, dependencies in words
    figures: dict[str, Drawing]

    @property
    def name(self) -> str:
        return f"`{self.experiment}`, dependencies `{self.dependencies}`"

    @property
    def place(self) -> str:
        return f"{self.experiment}_{self.dependencies}"


@dataclass(frozen=True)
class Section:
    """Some experiments side by side; empty where none of them was run or published."""

    parts: list[Part]
    missing_latency: list[Part]
    settings: Table  # of every training
    trained_iterations: list[int]
    margin: float  # of "on par", in per cent

    @property
    def figures(self) -> dict[str, Drawing]:
        return {name: drawing for part in self.parts for name, drawing in part.figures.items()}


def section(evidence: Evidence, wanted: Callable[[str], bool]) -> Section:
    """The reproductions among the parameters' experiments that are `wanted`, in their order."""
    named = evidence.params.get("experiments", {})
    names = [name for name, one in named.items() if one.get("task") == "reproduction" and wanted(name)]
    measured = evidence.results[evidence.results["experiment"].isin(names)]
    keys = set(zip(measured["experiment"], measured["dependencies"], strict=True))
    parts = [_part(evidence, *key) for key in sorted(keys, key=lambda key: (names.index(key[0]), key[1]))]
    models = [(name, model, named[name]["models"][model]) for name in names for model in named[name]["models"]]
    return Section(
        parts=parts,
        missing_latency=[part for part in parts if not part.table_2],
        settings=_trainings(sorted(models, key=lambda row: (-names.index(row[0]), row[1]), reverse=True)),
        trained_iterations=sorted({knobs["iterations"] for *_, knobs in models if knobs["operator"] == "popocs"}),
        margin=100 * paper.ON_PAR_SHARE,
    )


def _part(evidence: Evidence, experiment: str, dependencies: str) -> Part:
    def own(frame: pd.DataFrame) -> pd.DataFrame:
        if frame.empty:
            return frame
        return frame[(frame["experiment"] == experiment) & (frame["dependencies"] == dependencies)]

    rows, sweep, history = own(evidence.results), own(evidence.table("sweep")), own(evidence.table("history"))
    examples = own(evidence.table("examples"))
    blocks = [group for _, group in examples.groupby("block_id", sort=False)] if len(examples) else []
    aggregate = rows[rows["seed"] == ALL]
    exact = aggregate.loc[aggregate["metric"] == "exact_match", "n"]
    trained = aggregate.loc[aggregate["metric"] == "train_blocks", "value"].dropna()
    place, asked, methods = f"{experiment}_{dependencies}", questions.ask(aggregate), _methods(rows)
    figures: dict[str, Drawing] = {f"accuracy_{place}": partial(plots.accuracy, rows, methods)}
    if len(sweep):
        figures[f"figure_3_{place}"] = partial(plots.figure_3, sweep, rows)
    if len(history):
        figures[f"training_{place}"] = partial(training, history, CURVES)
    figures |= {f"example_{place}_{k + 1}": partial(plots.example, block) for k, block in enumerate(blocks)}
    return Part(
        experiment=experiment,
        dependencies=dependencies,
        fresh=experiment in evidence.fresh,
        seeds=sorted(set(rows["seed"]) - {ALL, "none"}, key=natural),
        n_test_blocks=int(exact.max()) if len(exact) else 0,
        n_train_blocks=int(trained.max()) if len(trained) else None,
        table_1=_table_1(aggregate, methods),
        by_seed=_by_seed(rows, methods),
        table_2=_table_2(aggregate, methods),
        asked=asked,
        claims=questions.table(asked),
        examples=[(f"example_{place}_{k + 1}", _edges(block)) for k, block in enumerate(blocks)],
        figures=figures,
    )


def _methods(rows: pd.DataFrame) -> list[str]:
    """Networks, Sinkhorn first, then the baselines, GCC last."""
    names = set(rows["method"])
    return [*in_order(names - set(BASELINES), ["sinkhorn"]), *(name for name in BASELINES if name in names)]


def _measured(rows: pd.DataFrame, methods: list[str], metrics: list[tuple[str, str]]) -> list[Line]:
    """A line for each method and decoder that has one of the metrics (with their judges)."""
    chosen = rows[rows["decoder"].isin(DECODERS)]
    found = lines(chosen, ["method", "decoder"], {"method": methods, "decoder": DECODERS})
    return [line for line in found if any(line.find(metric=name, judge=judge) for name, judge in metrics)]


def _table_1(rows: pd.DataFrame, methods: list[str]) -> Table:
    def paper_s(name: str) -> Cell:
        """The paper's value; it is of Hungarian decoding."""
        return lambda line: shown(
            name, paper.TABLE_1.get(line["method"], {}).get(name) if line["decoder"] == "hungarian" else None
        )

    columns = [
        ("Scheduler", of("method", label)),
        ("Decoder", of("decoder", spelt)),
        ("Exact match", metric(with_interval, "exact_match")),
        ("paper", paper_s("exact_match")),
        ("Exact, multi-order", metric(with_interval, "exact_match_multi_order")),
        ("Slot accuracy", metric(with_interval, "slot_accuracy")),
        ("Kendall tau distance", metric(with_interval, "kendall_tau_distance")),
        ("paper", paper_s("kendall_tau_distance")),
        ("Violations per block", metric(with_interval, "violations_per_block")),
        ("paper", paper_s("violations_per_block")),
        ("Valid", metric(with_interval, "valid_share")),
        ("paper", paper_s("valid_share")),
    ]
    names = ["exact_match", "exact_match_multi_order", "slot_accuracy", *paper.TABLE_1["sinkhorn"]]
    return table(columns, _measured(rows, methods, [(name, "none") for name in names]), 2)


def _by_seed(rows: pd.DataFrame, methods: list[str]) -> Table:
    """Each network's seeds beside each other, Hungarian decoding."""
    names = {"Exact match": "exact_match", "Violations per block": "violations_per_block", "Valid": "valid_share"}
    columns = [("Scheduler", of("method", label)), ("Seed", of("seed"))]
    columns += [(heading, value(partial(shown, name), name)) for heading, name in names.items()]
    chosen = rows[(rows["decoder"] == "hungarian") & (rows["seed"] != ALL)]
    return table(columns, lines(chosen, ["method", "seed"], {"method": methods}), 2)


def _table_2(rows: pd.DataFrame, methods: list[str]) -> Table:
    """Cycles, cycles less GCC's, and blocks for each of the paper's machines."""
    judges = {"Haswell, cycles per iteration": "haswell_100", "Atom, single pass cycles": "atom"}

    def paper_s(line: Line) -> str:
        return number(paper.TABLE_2.get(line["method"]) if line["decoder"] in ("hungarian", "none") else None, 4)

    columns = [("Scheduler", of("method", label)), ("Decoder", of("decoder", spelt)), ("Paper, Haswell", paper_s)]
    for heading, judge in judges.items():
        columns += [
            (heading, metric(with_interval, "cycles", judge=judge)),
            ("less GCC", metric(difference, "cycles", judge=judge, comparison="difference", baseline="gcc")),
            ("blocks", value(count, "cycles", "n", judge=judge)),
        ]
    return table(columns, _measured(rows, methods, [("cycles", judge) for judge in judges.values()]), 2)


def _edges(rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    text = list(first["instructions"])
    edges = [f"`{text[a]}` before `{text[b]}`" for a, b in zip(first["before"], first["after"], strict=True)]
    return "; ".join(edges) if edges else "none: every order is legal"


def knob(setting: object) -> str:
    """A setting as tables write it."""
    return f"{setting:g}" if isinstance(setting, float) else cell(setting)


def _trainings(models: list[tuple[str, str, dict[str, Any]]]) -> Table:
    """Every knob of every training."""
    columns = [("Experiment", of("experiment")), ("Model", of("model", label))]
    columns += [(spelt(name).capitalize(), of(name, knob)) for name in _KNOBS]
    frame = pd.DataFrame([{"experiment": name, "model": model} | knobs for name, model, knobs in models], dtype=object)
    return table(columns, records(frame))
