"""The paper's tables and figures for the experiments of one page: the reproduction, or all others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd

from pipeline.analysis import paper
from pipeline.report.evidence import ALL, Evidence
from pipeline.report.index import plots, questions
from pipeline.report.names import METRICS, in_order, label, natural, spelt
from pipeline.report.numbers import cell, count, difference, number, shown, with_interval
from pipeline.report.pages import PAGES
from pipeline.report.plots import drawings, training
from pipeline.report.tables import Cell, Column, Line, Table, lines, measured, metric, of, records, table, value

DECODERS = ["hungarian", "topological", "expected_slots", "best", "none"]
BASELINES = ["random_legal", "input_order", "critical_path", "gcc"]
CURVES = [("loss", "Loss, nats per instruction"), ("exact_match", "Exact match"), ("valid_share", "Valid")]
_KNOBS = [
    "operator", "method", "proposal", "iterations", "loss", "floor", "optimiser", "learning_rate", "decay",
    "batch_size", "steps", "hidden",
]  # fmt: skip


def knob(setting: object) -> str:
    """A setting as tables write it."""
    return f"{setting:g}" if isinstance(setting, float) else cell(setting)


TRAININGS: list[Column] = [
    ("Experiment", of("experiment")),
    ("Model", of("model", label)),
    *((spelt(name).capitalize(), of(name, knob)) for name in _KNOBS),
]
_SCHEDULER: list[Column] = [("Scheduler", of("method", label)), ("Decoder", of("decoder", spelt))]


def others(evidence: Evidence) -> dict[str, Any]:
    """The reproductions that are not on the first page."""
    return section(evidence, lambda name: name not in PAGES[0].experiments)


def section(evidence: Evidence, wanted: Callable[[str], bool]) -> dict[str, Any]:
    """The reproductions among the parameters' experiments that are `wanted`, in their order; `settings` of all."""
    named = evidence.params.get("experiments", {})
    names = [name for name, settings in named.items() if settings.get("task") == "reproduction" and wanted(name)]
    measured = evidence.results[evidence.results["experiment"].isin(names)]
    places = lines(measured, ["experiment", "dependencies"], {"experiment": names})
    parts = [_part(evidence, line["experiment"], line["dependencies"]) for line in places]
    models = [
        {"experiment": name, "model": model} | named[name]["models"][model]
        for name in names
        for model in sorted(named[name]["models"], reverse=True)
    ]
    return {
        "parts": parts,
        "missing_latency": [part for part in parts if not part["table_2"]],
        "settings": table(TRAININGS, records(pd.DataFrame(models, dtype=object))),
        "trained_iterations": sorted({knobs["iterations"] for knobs in models if knobs["operator"] == "popocs"}),
        "margin": 100 * paper.ON_PAR_SHARE,  # of "on par", in per cent
        "figures": {name: drawing for part in parts for name, drawing in part["figures"].items()},
    }


def _part(evidence: Evidence, experiment: str, dependencies: str) -> dict[str, Any]:
    """One experiment with one kind of dependencies, as the template shows it."""

    def chosen(frame: pd.DataFrame) -> pd.DataFrame:
        if frame.empty:
            return frame
        return frame[(frame["experiment"] == experiment) & (frame["dependencies"] == dependencies)]

    rows, sweep = chosen(evidence.results), chosen(evidence.table("sweep"))
    history, examples = chosen(evidence.table("history")), chosen(evidence.table("examples"))
    place = f"{experiment}_{dependencies}"
    blocks = {
        f"example_{place}_{k + 1}": block for k, (_, block) in enumerate(examples.groupby("block_id", sort=False))
    }
    aggregate = rows[rows["seed"] == ALL]
    exact = aggregate.loc[aggregate["metric"] == "exact_match", "n"]
    trained = aggregate.loc[aggregate["metric"] == "train_blocks", "value"].dropna()
    asked, methods = questions.ask(aggregate), _methods(rows)
    figures = {
        f"accuracy_{place}": (plots.accuracy, rows, methods),
        f"figure_3_{place}": (plots.figure_3, sweep, rows),
        f"training_{place}": (training, history, CURVES),
    }
    return {
        "experiment": experiment,
        "dependencies": dependencies,
        "name": f"`{experiment}`, dependencies `{dependencies}`",
        "place": place,
        "fresh": experiment in evidence.fresh,
        "seeds": sorted(set(rows["seed"]) - {ALL, "none"}, key=natural),
        "n_test_blocks": int(exact.max()) if len(exact) else 0,
        "n_train_blocks": int(trained.max()) if len(trained) else None,
        "table_1": _table_1(aggregate, methods),
        "by_seed": _by_seed(rows, methods),
        "table_2": _table_2(aggregate, methods),
        "asked": asked,
        "claims": questions.table(asked),
        "examples": [(name, _edges(block)) for name, block in blocks.items()],
        "figures": drawings(**figures, **{name: (plots.example, block) for name, block in blocks.items()}),
    }


def _methods(rows: pd.DataFrame) -> list[str]:
    """Networks, Sinkhorn first, then the baselines, GCC last."""
    names = set(rows["method"])
    return [*in_order(names - set(BASELINES), ["sinkhorn"]), *(name for name in BASELINES if name in names)]


def _judged(rows: pd.DataFrame, methods: list[str], metrics: list[tuple[str, str]]) -> list[Line]:
    """A line for each method and decoder that has one of the metrics (with their judges)."""
    chosen = rows[rows["decoder"].isin(DECODERS)]
    pairs = lines(chosen, ["method", "decoder"], {"method": methods, "decoder": DECODERS})
    return [line for line in pairs if any(line.find(metric=name, judge=judge) for name, judge in metrics)]


def _table_1(rows: pd.DataFrame, methods: list[str]) -> Table:
    def papers(name: str) -> Cell:
        """The paper's value; it is of Hungarian decoding."""
        values = {(method, "hungarian"): row.get(name) for method, row in paper.TABLE_1.items()}
        return lambda line: shown(name, values.get((line["method"], line["decoder"])))

    names = ["exact_match", "exact_match_multi_order", "slot_accuracy", *list(paper.TABLE_1["sinkhorn"])[1:]]
    columns = [*_SCHEDULER]
    for name in names:
        columns += [*measured(name), *([("paper", papers(name))] if name in paper.TABLE_1["sinkhorn"] else [])]
    return table(columns, _judged(rows, methods, [(name, "none") for name in names]), 2)


def _by_seed(rows: pd.DataFrame, methods: list[str]) -> Table:
    """Each network's seeds beside each other, Hungarian decoding."""
    columns = [_SCHEDULER[0], ("Seed", of("seed"))]
    for name in ("exact_match", "violations_per_block", "valid_share"):
        columns.append((METRICS[name], value(partial(shown, name), name)))
    chosen = rows[(rows["decoder"] == "hungarian") & (rows["seed"] != ALL)]
    return table(columns, lines(chosen, ["method", "seed"], {"method": methods}), 2)


def _table_2(rows: pd.DataFrame, methods: list[str]) -> Table:
    """Cycles, cycles less GCC's, and blocks for each of the paper's machines."""
    judges = {"Haswell, cycles per iteration": "haswell_100", "Atom, single pass cycles": "atom"}

    def paper_s(line: Line) -> str:
        return number(paper.TABLE_2.get(line["method"]) if line["decoder"] in ("hungarian", "none") else None, 4)

    columns = [*_SCHEDULER, ("Paper, Haswell", paper_s)]
    for heading, judge in judges.items():
        columns += [
            (heading, metric(with_interval, "cycles", judge=judge)),
            ("less GCC", metric(difference, "cycles", judge=judge, comparison="difference", baseline="gcc")),
            ("blocks", value(count, "cycles", "n", judge=judge)),
        ]
    return table(columns, _judged(rows, methods, [("cycles", judge) for judge in judges.values()]), 2)


def _edges(rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    text = list(first["instructions"])
    edges = [f"`{text[a]}` before `{text[b]}`" for a, b in zip(first["before"], first["after"], strict=True)]
    return "; ".join(edges) if edges else "none: every order is legal"
