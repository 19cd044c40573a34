"""The paper's tables, claims and figures, from the experiments that reproduce them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from pipeline.lab import paper
from pipeline.lab.page.anchors import anchor
from pipeline.lab.page.asked import answer
from pipeline.lab.page.evidence import ALL, Evidence
from pipeline.lab.page.names import in_order, label, natural, spelt
from pipeline.lab.page.numbers import (
    Write,
    cell,
    count,
    difference,
    is_share,
    number,
    percent,
    points,
    shown,
    signed,
    with_interval,
)
from pipeline.lab.page.plots import drawings, training
from pipeline.lab.page.tables import (
    Cell,
    Column,
    Line,
    Table,
    lines,
    measured,
    metric,
    of,
    records,
    table,
    value,
)
from pipeline.reproduction.page import plots

DECODERS = ["hungarian", "topological", "expected_slots", "best", "none"]
BASELINES = ["random_legal", "input_order", "critical_path", "gcc"]
CURVES = [("loss", "Loss, nats per instruction"), ("exact_match", "Exact match"), ("valid_share", "Valid")]
_KNOBS = [
    "operator", "method", "proposal", "iterations", "loss", "floor", "optimiser", "learning_rate", "decay",
    "batch_size", "steps", "hidden",
]  # fmt: skip


def knob(setting: object) -> str:
    """A setting in tables."""
    return f"{setting:g}" if isinstance(setting, float) else cell(setting)


TRAININGS: list[Column] = [
    ("Experiment", of("experiment")),
    ("Model", of("model", label)),
    *((spelt(name).capitalize(), of(name, knob)) for name in _KNOBS),
]
_SCHEDULER: list[Column] = [("Scheduler", of("method", label)), ("Decoder", of("decoder", spelt))]


EXPERIMENTS = ("quick", "paper")  # with our settings, and with those of the paper
# Question, metric, baseline, and schedulers.
_POPOCS = ("popocs_20", "popocs_40", "popocs_60", "popocs_150")
_DIFFERENCES = (
    ("Is accuracy (exact match) higher than Sinkhorn's?", "exact_match", "sinkhorn", _POPOCS),
    ("Is the Kendall tau distance smaller?", "kendall_tau_distance", "sinkhorn", _POPOCS),
    ("Are fewer dependencies violated?", "violations_per_block", "sinkhorn", _POPOCS),
    ("Are more orders valid?", "valid_share", "sinkhorn", _POPOCS),
    ("Does the valid share grow with test-time iterations?", "valid_share", "popocs_20", _POPOCS[1:]),
)
_ON_PAR = {
    "haswell_100": "Is latency on Haswell on par with GCC's?",
    "atom": "Is it on par on Atom, where order matters more?",
}
_HEADED = {"cycles": "single pass cycles"}  # units, as headings spell them
_LEGAL = {"topological": "topological fill", "expected_slots": "expected slots", "best": "best legal order"}


def section(evidence: Evidence) -> dict[str, Any]:
    """A part for each experiment and kind of dependencies, and the settings of all."""
    named = evidence.params.get("experiments", {})
    names = [name for name in EXPERIMENTS if name in named]
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
    """One experiment with one kind of dependencies, for the template."""

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
    methods = _methods(rows)
    tested = next(iter(sorted(set(aggregate["set"]) - {"training"})), "")
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
        "table_2": _table_2(aggregate, methods),
        "claims": _claims(evidence.claims, f"{experiment}_{tested}"),
        "examples": [(name, _edges(block)) for name, block in blocks.items()],
        "figures": drawings(**figures, **{name: (plots.example, block) for name, block in blocks.items()}),
    }


def _claims(claims: pd.DataFrame, place: str) -> Table:
    """The paper's claims: does the difference have the right sign, and is it as large as in the paper?"""
    lines = []

    def add(text: str, scheduler: str, name: str, write: Write, papers: str = "-") -> None:
        names = [f"{place}_{claim}" for claim in (name, f"{name}_as_in_paper")]
        reply, size = (answer(claims, claim, write) for claim in names)
        places = anchor(names[0]) + (anchor(names[1]) if size else "")
        if reply:
            lines.append(
                [
                    places + text,
                    scheduler,
                    papers,
                    reply.measured,
                    reply.holds,
                    size.holds if size else "-",
                ]
            )

    for text, metric_name, baseline, methods in _DIFFERENCES:
        write = partial(points, digits=2) if is_share(metric_name) else partial(signed, digits=4)
        for method in methods:
            papers = paper.difference(method, baseline, metric_name)
            add(text, label(method), f"{method}_{metric_name}_minus_{baseline}", write, write(papers))
    for judge, text in _ON_PAR.items():
        write = partial(percent, digits=2)
        papers = paper.TABLE_2["popocs_20"] / paper.TABLE_2["gcc"] - 1 if judge == "haswell_100" else float("nan")
        add(text, label("popocs_20"), f"gap_to_gcc_{judge}", write, write(papers))
    for decoder, name in _LEGAL.items():
        add("Is decoding that is legal by construction always valid?", name, f"valid_share_{decoder}", percent)
    return Table(["Question", "Scheduler", "Paper", "Ours", "Holds", "As large"], lines, right=2)


def _methods(rows: pd.DataFrame) -> list[str]:
    """Networks, Sinkhorn first, then the baselines, GCC last."""
    names = set(rows["method"])
    return [*in_order(names - set(BASELINES), ["sinkhorn"]), *(name for name in BASELINES if name in names)]


def _judged(rows: pd.DataFrame, methods: list[str], metrics: list[tuple[str, str]]) -> list[Line]:
    """A line for each method and decoder that has one of the pairs of metric and judge."""
    chosen = rows[rows["decoder"].isin(DECODERS)]
    pairs = lines(chosen, ["method", "decoder"], {"method": methods, "decoder": DECODERS})
    return [line for line in pairs if any(line.find(metric=name, judge=judge) for name, judge in metrics)]


def _table_1(rows: pd.DataFrame, methods: list[str]) -> Table:
    def papers(name: str) -> Cell:
        """The paper's value, which uses Hungarian decoding."""
        values = {(method, "hungarian"): row.get(name) for method, row in paper.TABLE_1.items()}
        return lambda line: shown(name, values.get((line["method"], line["decoder"])))

    names = ["exact_match", "exact_match_multi_order", "slot_accuracy", *list(paper.TABLE_1["sinkhorn"])[1:]]
    head = [*_SCHEDULER]
    for name in names:
        head += [*measured(name), *([("paper", papers(name))] if name in paper.TABLE_1["sinkhorn"] else [])]
    return table(head, _judged(rows, methods, [(name, "none") for name in names]), 2)


def _table_2(rows: pd.DataFrame, methods: list[str]) -> Table:
    """Cycles, cycles minus GCC's, and number of blocks for each of the paper's processors."""
    judges = {"Haswell": "haswell_100", "Atom": "atom"}

    def heading(processor: str, judge: str) -> str:
        """With the unit of this run: a trial may give a judge other iterations."""
        units = rows.loc[(rows["metric"] == "cycles") & (rows["judge"] == judge), "unit"].unique()
        return ", ".join([processor, *(_HEADED.get(unit, unit) for unit in units)])

    def of_paper(line: Line) -> str:
        return number(paper.TABLE_2.get(line["method"]) if line["decoder"] in ("hungarian", "none") else None, 4)

    head = [*_SCHEDULER, ("Paper, Haswell", of_paper)]
    for processor, judge in judges.items():
        head += [
            (heading(processor, judge), metric(with_interval, "cycles", judge=judge)),
            ("less GCC", metric(difference, "cycles", judge=judge, comparison="difference", baseline="gcc")),
            ("blocks", value(count, "cycles", "n", judge=judge)),
        ]
    return table(head, _judged(rows, methods, [("cycles", judge) for judge in judges.values()]), 2)


def _edges(rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    text = list(first["instructions"])
    edges = [f"`{text[a]}` before `{text[b]}`" for a, b in zip(first["before"], first["after"], strict=True)]
    return "; ".join(edges) if edges else "none: every order is legal"
