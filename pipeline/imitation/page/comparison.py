"""Networks that imitate GCC on blocks of all lengths: goals, comparisons, costs and failures."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from pipeline.imitation.claims import GOALS
from pipeline.imitation.page import plots
from pipeline.imitation.page.rows import (
    ABLATION,
    MAIN,
    SCALING,
    SECOND,
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
from pipeline.lab.claims import parsed
from pipeline.lab.page.asked import SIGNS, answer
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import DECODERS, label, set_label, spelt, with_decoder
from pipeline.lab.page.numbers import count, number, percent, spread, two, with_interval
from pipeline.lab.page.plots import Drawing, drawings, training
from pipeline.lab.page.tables import (
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
from pipeline.lab.page.tables import of as place

_HEADS = ("pointer", "pairwise", "popocs", "sinkhorn")
_ENCODERS = {
    "attention": "attention that sees the dependencies",
    "plain": "attention, no dependencies",
    "lstm": "LSTM",
}
_CHOSEN = ("greedy", "beam")  # decoders that are compared with the goals
_CURVES = [("loss", "Loss, nats per choice"), ("exact_match", "Exact match, development blocks")]
_AXES = {"blocks": "training blocks", "width": "width"}  # first word of a model's name -> the quantity that varies
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
    ("Blocks per second", metric(partial(spread, write=count), "blocks_per_second")),
    ("Seconds to start", metric(partial(spread, write=two), "start_up_seconds")),
    ("Seconds in total", metric(partial(spread, write=two), "command_seconds")),
    ("Lines", value(count, "blocks_per_second", "n")),
    ("Lines without a row", value(count, "lost_lines")),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables and figures by name, and the steps of each experiment's longest training."""
    main, shipped = of(evidence, MAIN), of(evidence, SHIPPED)
    return {
        "shipped": table(MAIN_COLUMNS[:-2] + MAIN_COLUMNS[-1:], in_sets(shipped, evidence, SHIPPED), right=3),
        "goals": _goals(evidence.claims),
        "second": table(MAIN_COLUMNS, in_sets(of(evidence, SECOND), evidence, SECOND), right=3),
        "main": table(MAIN_COLUMNS, in_sets(main, evidence, MAIN), right=3),
        "command": table(COMMAND, lines(of(evidence, SPEED), ["set", "method", "decoder"]), right=3),
        "sizes": table(SIZE_COLUMNS, records(sizes(evidence, MAIN).reset_index()), right=1),
        "ablation": _ablation(evidence),
        "gains": _gains(evidence),
        "scaling": table(SCALING_COLUMNS, records(_points(evidence)), right=1),
        "transfer": _transfer(evidence),
        "steps": evidence.table("history").groupby("experiment")["step"].max().to_dict(),
        "figures": _of_parts(evidence)
        | drawings(imitation_training=(training, evidence.table("history", MAIN), _CURVES, plots.MODELS)),
    }


def _goals(claims: pd.DataFrame) -> Table:
    """Each goal beside the paper's number and the result of every network with each decoder."""
    writers = {"exact_match": percent, "valid_share": percent, "kendall_tau_distance": number}
    runs = [(model, decoder) for model in ("attention_pointer", "attention_pointer_following") for decoder in _CHOSEN]
    lines = []
    for goal in (goal for goal in GOALS if goal.metric in writers):
        write = writers[goal.metric]
        names = ["_".join(filter(None, ("imitation", *run, goal.set, goal.metric))) for run in runs]
        replies = [answer(claims, name, write) for name in names]
        cells = [f"{reply.holds}, {reply.measured}" if reply else "-" for reply in replies]
        sign, target = parsed(goal.target)
        paper = "-" if goal.paper is None else write(goal.paper)
        lines.append([goal.question, paper, f"{SIGNS[sign]} {write(target)}", *cells])
    if all(set(line[3:]) == {"-"} for line in lines):
        return Table()
    return Table(["Question", "Paper", "Goal", *(with_decoder(*run) for run in runs)], lines, right=1)


def in_sets(rows: pd.DataFrame, evidence: Evidence, experiment: str) -> list[Line]:
    """Every model and baseline on every set."""
    order = {
        "set": sets(rows, evidence, experiment),
        "method": methods(rows, evidence, experiment),
        "decoder": DECODERS,
    }
    return lines(rows, list(order), order, {"metric": "exact_match"})


def _of_parts(evidence: Evidence) -> dict[str, Drawing]:
    """Exact match by length, legal orders, instruction class and confidence, if it was published."""
    rows = evidence.table("parts", MAIN)
    tested, shown = sets(rows, evidence, MAIN), methods(rows, evidence, MAIN)
    length, orders, classes = (led(rows[rows["by"] == by]) for by in ("length", "legal_orders", "instruction_class"))
    several = length.groupby("set")["part"].nunique() > 1  # a set with a single length gives no curve
    length = length[length["set"].isin(several[several].index)]
    beliefs = rows[rows["by"] == "confidence"]
    beliefs = beliefs[beliefs["method"] == beliefs["method"].min()]
    return drawings(
        imitation_length=(plots.by_part, length, sets(length, evidence, MAIN), shown),
        imitation_legal_orders=(plots.by_part, orders, tested, shown),
        imitation_class=(plots.by_part, classes, tested, shown),
        imitation_reliability=(plots.reliability, beliefs, tested),
    )


def _ablation(evidence: Evidence) -> Table:
    """Every encoder with every head and decoder; the best exact match is first."""
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


def _gains(evidence: Evidence) -> dict[str, float]:
    """Points of exact match by which POPOCS is ahead of Sinkhorn for each encoder; `pointer`: the pointer of POPOCS.

    The decoder is the leading one of each head. Empty if a network of the ablation was not published.
    """
    shares = exact(of(evidence, ABLATION)).set_index("method")["value"]
    pairs = {encoder: (f"{encoder}_popocs", f"{encoder}_sinkhorn") for encoder in _ENCODERS}
    pairs["pointer"] = ("attention_pointer", "attention_popocs")
    if not shares.index.is_unique or not {name for pair in pairs.values() for name in pair} <= set(shares.index):
        return {}
    return {name: float(100 * (shares[ahead] - shares[behind])) for name, (ahead, behind) in pairs.items()}


def _transfer(evidence: Evidence) -> Table:
    """Exact match of each network on each set."""
    rows = exact(of(evidence, TRANSFER))
    shown: list[Column] = columns(spelt, method="Trained on")
    shown += [(set_label(name), metric(with_interval, set=name)) for name in sets(rows, evidence, TRANSFER)]
    return table(shown, lines(rows, ["method"], {"method": methods(rows, evidence, TRANSFER)}), right=1)


def _points(evidence: Evidence) -> pd.DataFrame:
    """Exact match and sizes of models that are named after the quantity that varies; column `axis` names it."""
    rows = exact(of(evidence, SCALING))
    rows = rows.assign(axis=rows["method"].str.split("_").str[0])
    rows = rows[rows["axis"].isin(_AXES)].join(sizes(evidence, SCALING), on="method", how="inner")
    return rows.sort_values(["axis", "train_blocks", "parameters"])
