"""Networks that imitate GCC for blocks of all lengths: goals, comparisons, what they cost and where they fail."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from pipeline.report.evidence import ALL, Evidence
from pipeline.report.imitation import goals, plots
from pipeline.report.imitation.rows import (
    ABLATION,
    MAIN,
    SCALING,
    SPEED,
    TRANSFER,
    led,
    methods,
    of,
    sets,
    sizes,
)
from pipeline.report.names import DECODERS, decoder_label, label, set_label
from pipeline.report.numbers import count, percent, spread, with_interval
from pipeline.report.plots import Drawing, training
from pipeline.report.tables import Column, Line, Table, lines, metric, records, table, value
from pipeline.report.tables import of as place

_HEADS = ("pointer", "pairwise", "popocs", "sinkhorn")
_ENCODERS = {
    "attention": "attention that sees the dependencies",
    "plain": "attention, no dependencies",
    "lstm": "LSTM",
}
_CURVES = [("loss", "Loss, nats per choice"), ("exact_match", "Exact match, development blocks")]
_AXES = {"blocks": "train_blocks", "width": "parameters"}  # of names of models -> what varies
METHOD: list[Column] = [("Scheduler", place("method", label)), ("Decoder", place("decoder", decoder_label))]
ORDERS: list[Column] = [
    ("Exact match", metric(with_interval, "exact_match")),
    ("Exact, multi-order", metric(with_interval, "exact_match_multi_order")),
    ("Kendall tau distance", metric(with_interval, "kendall_tau_distance")),
]
MAIN_COLUMNS: list[Column] = [
    ("Blocks", place("set", set_label)),
    *METHOD,
    *ORDERS[:2],
    ("Slot accuracy", metric(with_interval, "slot_accuracy")),
    ORDERS[2],
    ("Valid", metric(with_interval, "valid_share")),
    ("Blocks per second", metric(lambda row: spread(row, count), "blocks_per_second")),
    ("Test blocks", value(count, "exact_match", "n")),
]
SIZE_COLUMNS: list[Column] = [
    ("Network", place("method", label)),
    ("Parameters", place("parameters", count)),
    ("File, MB", place("weights_bytes", lambda size: f"{size / 1e6:.1f}")),
    ("Training blocks", place("train_blocks", count)),
]
SCALING_COLUMNS: list[Column] = [
    ("Varied", place("axis", {"blocks": "training blocks", "width": "width"}.__getitem__)),
    ("Training blocks", place("train_blocks", count)),
    ("Parameters", place("parameters", count)),
    ("Exact match", lambda line: with_interval(line.rows[0])),
]
LEFT_OUT: list[Column] = [
    ("Library", place("library")),
    ("Trained with it", place("seen", with_interval)),
    ("Trained without it", place("unseen", with_interval)),
    ("Points", lambda line: f"{100 * (line['unseen']['value'] - line['seen']['value']):+.1f}"),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables by name, steps of the longest training of each experiment, names of the figures."""
    main = of(evidence, MAIN)
    rows = of(evidence, MAIN, SPEED) if len(main) else main
    history = evidence.table("history")
    longest = history.groupby("experiment")["step"].max().to_dict() if len(history) else {}
    return {
        "goals": goals.table(rows) if len(rows) else Table(),
        "main": table(MAIN_COLUMNS, _main(rows, evidence), right=3),
        "by_seed": _by_seed(rows, evidence),
        "sizes": table(SIZE_COLUMNS, records(sizes(evidence, MAIN).reset_index()), right=1),
        "ablation": _ablation(evidence),
        "scaling": table(SCALING_COLUMNS, records(_points(evidence)), right=1),
        "left_out": table(LEFT_OUT, _left_out(evidence), right=1),
        "steps": {str(name): int(step) for name, step in longest.items()},
        "figures": set(figures(evidence)),
    }


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """The section's figures by name, those whose rows were published."""
    drawn: dict[str, Drawing] = _of_parts(evidence)
    if len(points := _points(evidence)):
        drawn["imitation_scaling"] = partial(plots.scaling, points)
    transfer = led(of(evidence, TRANSFER))
    if len(exact := _exact(transfer)):
        matrix = exact.pivot_table(index="method", columns="set", values="value")
        shown = methods(transfer, evidence, TRANSFER), sets(transfer, evidence, TRANSFER)
        drawn["imitation_transfer"] = partial(plots.transfer, matrix.loc[shown])
    if len(history := evidence.table("history", MAIN)):
        drawn["imitation_training"] = partial(training, history, _CURVES, plots.MODELS)
    return drawn


def _of_parts(evidence: Evidence) -> dict[str, Drawing]:
    """Exact match by length, legal orders, instruction class and confidence, where it was published."""
    rows = evidence.table("parts", MAIN)
    if rows.empty:
        return {}
    tested, shown = sets(rows, evidence, MAIN), methods(rows, evidence, MAIN)
    length, orders, classes = (led(rows[rows["by"] == by]) for by in ("length", "legal_orders", "instruction_class"))
    several = length.groupby("set")["part"].nunique() > 1  # a set of one length says nothing by length
    length = length[length["set"].isin(several[several].index)]
    beliefs = rows[rows["by"] == "confidence"]
    beliefs = beliefs[beliefs["method"] == beliefs["method"].min()]
    figures = {
        "imitation_length": (length, partial(plots.by_range, length, "length", sets(length, evidence, MAIN), shown)),
        "imitation_legal_orders": (orders, partial(plots.by_range, orders, "legal_orders", tested, shown)),
        "imitation_class": (classes, partial(plots.by_class, classes, tested, shown)),
        "imitation_reliability": (beliefs, partial(plots.reliability, beliefs, tested)),
    }
    return {name: drawing for name, (part, drawing) in figures.items() if len(part)}


def _exact(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["metric"] == "exact_match"]


def _main(rows: pd.DataFrame, evidence: Evidence) -> list[Line]:
    """Every model and baseline on every set."""
    order = {"set": sets(rows, evidence, MAIN), "method": methods(rows, evidence, MAIN), "decoder": DECODERS}
    return lines(rows, ["set", "method", "decoder"], order, {"metric": "exact_match"})


def _by_seed(rows: pd.DataFrame, evidence: Evidence) -> Table:
    """Exact match of trained networks, with their leading decoder, seed by seed on each set."""
    tested = sets(rows[rows["metric"] == "exact_match"], evidence, MAIN)
    leading = led(rows[rows["decoder"] != "none"])
    pairs = list(dict.fromkeys(zip(leading["method"], leading["decoder"], strict=True)))
    every = evidence.results[evidence.results["experiment"] == MAIN]
    seeds = lines(every[every["seed"] != ALL], ["method", "decoder", "seed"], {"method": [name for name, _ in pairs]})
    columns = [*METHOD, ("Seed", place("seed"))]
    columns += [(set_label(name), value(percent, "exact_match", set=name)) for name in tested]
    chosen = [line for line in seeds if (line["method"], line["decoder"]) in pairs and line.find(metric="exact_match")]
    return table(columns, chosen, right=2)


def _ablation(evidence: Evidence) -> Table:
    """Every encoder with every head and decoder, the best exact match first."""
    known = sizes(evidence, ABLATION)

    def encoder(line: Line) -> str:
        name, _, head = line["method"].rpartition("_")
        return _ENCODERS.get(name, name) if head in _HEADS else "-"

    def head(line: Line) -> str:
        name = line["method"].rpartition("_")[2]
        return name if name in _HEADS else label(line["method"])

    def parameters(line: Line) -> str:
        return count(known["parameters"].get(line["method"], float("nan"))) if len(known) else "-"

    columns: list[Column] = [("Encoder", encoder), ("Head", head), METHOD[1], *ORDERS]
    columns += [("Valid", metric(with_interval, "valid_share")), ("Parameters", parameters)]
    found = lines(of(evidence, ABLATION), ["method", "decoder"], where={"metric": "exact_match"})

    def rank(line: Line) -> tuple:
        exact = line.find(metric="exact_match")
        return (-exact["value"] if exact else 0, encoder(line), head(line), METHOD[1][1](line))

    return table(columns, sorted(found, key=rank), right=3)


def _points(evidence: Evidence) -> pd.DataFrame:
    """Exact match and sizes of models that are named after what varies: columns `axis` and `x` say it."""
    exact, known = _exact(led(of(evidence, SCALING))), sizes(evidence, SCALING)
    axis = exact["method"].str.partition("_")[0] if len(exact) else pd.Series(dtype=str)
    exact = exact[axis.isin(_AXES) & exact["method"].isin(known.index)]
    if exact.empty:
        return exact
    exact = exact.assign(axis=axis).join(known, on="method")
    exact = exact.assign(x=[row[_AXES[row["axis"]]] for row in exact.to_dict("records")])
    return exact.sort_values(["axis", "x"])


def _left_out(evidence: Evidence) -> list[Line]:
    """Of each library, exact match on its blocks of a network that saw it and of one that did not."""
    rows, found = _exact(led(of(evidence, TRANSFER))), []
    exact = {(row["method"], row["set"]): row for row in rows.to_dict("records")}
    for name in sets(rows, evidence, TRANSFER):
        library = name.removeprefix("only_")
        seen, unseen = exact.get(("all", name)), exact.get((f"without_{library}", name))
        if seen is not None and unseen is not None and library != name:
            found.append(Line({"library": library, "seen": seen, "unseen": unseen}, []))
    return found
