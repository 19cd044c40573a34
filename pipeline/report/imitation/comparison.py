"""Networks that imitate GCC for blocks of all lengths: goals, comparisons, what they cost and where they fail."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.report.evidence import ALL, Evidence
from pipeline.report.imitation import goals, plots
from pipeline.report.imitation.rows import (
    ABLATION,
    MAIN,
    SCALING,
    SHIPPED,
    SPEED,
    TRANSFER,
    exact,
    led,
    methods,
    of,
    sets,
    sizes,
)
from pipeline.report.names import DECODERS, label, set_label
from pipeline.report.numbers import count, number, percent, spread, with_interval
from pipeline.report.plots import Drawing, drawings, training
from pipeline.report.tables import (
    SCHEDULER,
    Column,
    Line,
    Table,
    columns,
    lines,
    measured,
    metric,
    records,
    table,
    value,
)
from pipeline.report.tables import of as place

_HEADS = ("pointer", "pairwise", "popocs", "sinkhorn")
_ENCODERS = {
    "attention": "attention that sees the dependencies",
    "plain": "attention, no dependencies",
    "lstm": "LSTM",
}
_CURVES = [("loss", "Loss, nats per choice"), ("exact_match", "Exact match, development blocks")]
_AXES = {"blocks": "training blocks", "width": "width"}  # of names of models -> what varies
ORDERS = ("exact_match", "exact_match_multi_order", "kendall_tau_distance")
MAIN_COLUMNS: list[Column] = [
    ("Blocks", place("set", set_label)),
    *SCHEDULER,
    *measured("exact_match", "exact_match_multi_order", "slot_accuracy", "kendall_tau_distance", "valid_share"),
    ("Test blocks", value(count, "exact_match", "n")),
]
SIZE_COLUMNS: list[Column] = [
    *columns(label, method="Network"),
    *columns(count, parameters="Parameters"),
    ("File, MB", place("weights_bytes", lambda size: f"{size / 1e6:.1f}")),
    *columns(count, train_blocks="Training blocks"),
]
SCALING_COLUMNS: list[Column] = [
    *columns(_AXES.__getitem__, axis="Varied"),
    *columns(count, train_blocks="Training blocks", parameters="Parameters"),
    ("Exact match", lambda line: with_interval(line.rows[0])),
]
COMMAND: list[Column] = [
    ("Blocks", place("set", set_label)),
    *SCHEDULER,
    ("Blocks per second", metric(lambda row: spread(row, count), "blocks_per_second")),
    ("Seconds to start", metric(lambda row: spread(row, lambda seconds: number(seconds, 2)), "start_up_seconds")),
    ("Seconds in all", metric(lambda row: spread(row, lambda seconds: number(seconds, 2)), "command_seconds")),
    ("Lines", value(count, "blocks_per_second", "n")),
    ("Lines without a row", value(count, "lost_lines")),
]
LEFT_OUT: list[Column] = [
    *columns(library="Library"),
    *columns(with_interval, seen="Trained with it", unseen="Trained without it"),
    ("Points", lambda line: f"{100 * (line['unseen']['value'] - line['seen']['value']):+.1f}"),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables and figures by name, and the steps of the longest training of each experiment."""
    main = of(evidence, MAIN)
    rows = of(evidence, MAIN, SPEED) if len(main) else main
    points, transfer = _points(evidence), exact(of(evidence, TRANSFER))
    history = evidence.table("history")
    shown = methods(transfer, evidence, TRANSFER), sets(transfer, evidence, TRANSFER)
    shipped = of(evidence, SHIPPED)
    return {
        "shipped": table(MAIN_COLUMNS[:-2] + MAIN_COLUMNS[-1:], in_sets(shipped, evidence, SHIPPED), right=3),
        "goals": goals.table(rows) if len(rows) else Table(),
        "main": table(MAIN_COLUMNS, in_sets(main, evidence, MAIN), right=3),
        "command": table(COMMAND, lines(of(evidence, SPEED), ["set", "method", "decoder"]), right=3),
        "by_seed": _by_seed(rows, evidence),
        "sizes": table(SIZE_COLUMNS, records(sizes(evidence, MAIN).reset_index()), right=1),
        "ablation": _ablation(evidence),
        "scaling": table(SCALING_COLUMNS, records(points), right=1),
        "left_out": table(LEFT_OUT, _left_out(transfer, shown[1]), right=1),
        "steps": history.groupby("experiment")["step"].max().to_dict(),
        "figures": _of_parts(evidence)
        | drawings(
            imitation_scaling=(plots.scaling, points),
            imitation_transfer=(plots.transfer, transfer, *shown),
            imitation_training=(training, evidence.table("history", MAIN), _CURVES, plots.MODELS),
        ),
    }


def in_sets(rows: pd.DataFrame, evidence: Evidence, experiment: str) -> list[Line]:
    """Every model and baseline on every set."""
    order = {
        "set": sets(rows, evidence, experiment),
        "method": methods(rows, evidence, experiment),
        "decoder": DECODERS,
    }
    return lines(rows, list(order), order, {"metric": "exact_match"})


def _of_parts(evidence: Evidence) -> dict[str, Drawing]:
    """Exact match by length, legal orders, instruction class and confidence, where it was published."""
    rows = evidence.table("parts", MAIN)
    tested, shown = sets(rows, evidence, MAIN), methods(rows, evidence, MAIN)
    length, orders, classes = (led(rows[rows["by"] == by]) for by in ("length", "legal_orders", "instruction_class"))
    several = length.groupby("set")["part"].nunique() > 1  # a set of one length says nothing by length
    length = length[length["set"].isin(several[several].index)]
    beliefs = rows[rows["by"] == "confidence"]
    beliefs = beliefs[beliefs["method"] == beliefs["method"].min()]
    return drawings(
        imitation_length=(plots.by_range, length, sets(length, evidence, MAIN), shown),
        imitation_legal_orders=(plots.by_range, orders, tested, shown),
        imitation_class=(plots.by_class, classes, tested, shown),
        imitation_reliability=(plots.reliability, beliefs, tested),
    )


def _by_seed(rows: pd.DataFrame, evidence: Evidence) -> Table:
    """Exact match of trained networks, with their leading decoder, seed by seed on each set."""
    tested = sets(rows[rows["metric"] == "exact_match"], evidence, MAIN)
    leading = led(rows[rows["decoder"] != "none"])
    pairs = list(dict.fromkeys(zip(leading["method"], leading["decoder"], strict=True)))
    every = evidence.results[evidence.results["experiment"] == MAIN]
    seeds = lines(every[every["seed"] != ALL], ["method", "decoder", "seed"], {"method": [name for name, _ in pairs]})
    shown = [*SCHEDULER, *columns(seed="Seed")]
    shown += [(set_label(name), value(percent, "exact_match", set=name)) for name in tested]
    chosen = [line for line in seeds if (line["method"], line["decoder"]) in pairs and line.find(metric="exact_match")]
    return table(shown, chosen, right=2)


def _ablation(evidence: Evidence) -> Table:
    """Every encoder with every head and decoder, the best exact match first."""
    parameters = sizes(evidence, ABLATION)["parameters"]
    ranked = []
    for line in lines(of(evidence, ABLATION), ["method", "decoder"], where={"metric": "exact_match"}):
        encoder, _, head = line["method"].rpartition("_")
        of_head = head in _HEADS
        names = {
            "encoder": _ENCODERS.get(encoder, encoder) if of_head else "-",
            "head": head if of_head else label(line["method"]),
            "parameters": parameters.get(line["method"], float("nan")),
        }
        ranked.append(Line({**line.place, **names}, line.rows))
    shown = [*columns(encoder="Encoder", head="Head"), SCHEDULER[1], *measured(*ORDERS, "valid_share")]
    shown += columns(count, parameters="Parameters")

    def rank(line: Line) -> tuple:
        row = line.find(metric="exact_match")
        return (-row["value"] if row else 0, line["encoder"], line["head"], SCHEDULER[1][1](line))

    return table(shown, sorted(ranked, key=rank), right=3)


def _points(evidence: Evidence) -> pd.DataFrame:
    """Exact match and sizes of models that are named after what varies: columns `axis` and `x` say it."""
    rows = exact(of(evidence, SCALING))
    rows = rows.assign(axis=rows["method"].str.split("_").str[0]).join(
        sizes(evidence, SCALING), on="method", how="inner"
    )
    rows = rows.assign(x=rows["train_blocks"].where(rows["axis"] == "blocks", rows["parameters"]))
    return rows[rows["axis"].isin(_AXES)].sort_values(["axis", "x"])


def _left_out(rows: pd.DataFrame, tested: list[str]) -> list[Line]:
    """Of each library, exact match on its blocks of a network that saw it and of one that did not."""
    by_name = {(row["method"], row["set"]): row for row in rows.to_dict("records")}
    libraries = [name.removeprefix("only_") for name in tested if name.startswith("only_")]
    pairs = [(name, ("all", f"only_{name}"), (f"without_{name}", f"only_{name}")) for name in libraries]
    return [
        Line({"library": name, "seen": by_name[seen], "unseen": by_name[unseen]})
        for name, seen, unseen in pairs
        if seen in by_name and unseen in by_name
    ]
