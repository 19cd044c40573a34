"""Every method on processor models: cycles against GCC's, time, what is proven, example blocks side by side."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pipeline.report.evidence import Evidence
from pipeline.report.names import decoder_label, in_order, label, set_label, with_decoder
from pipeline.report.numbers import Row, count, percent, ratio, with_interval
from pipeline.report.plots import Drawing
from pipeline.report.processors import plots
from pipeline.report.tables import Column, Line, Table, lines, metric, of, table, value

EXPERIMENT, SPEED = "processors", "processors_speed"
IN_ORDER = "atom"  # the target whose times, shares and examples are shown
SHOWN = "test_10_40"  # the set of the summary and of the figures
CHOSEN = ("none", "greedy", "beam", "timed")  # decoders; single samples are left out: they are drawn, not chosen
_TO_GCC = {"metric": "cycles", "comparison": "ratio", "baseline": "gcc"}
_CURVES = 8  # methods that a figure by length shows
METHOD: list[Column] = [("Scheduler", of("method", label)), ("Decoder", of("decoder", decoder_label))]
SHARES: list[Column] = [
    *METHOD,
    ("Cycles, of the best order's", metric(ratio, "cycles", comparison="ratio", baseline="best", judge=IN_ORDER)),
    ("Of GCC's, mean", metric(ratio, "mean_cycles", comparison="ratio", baseline="gcc", judge=IN_ORDER)),
    ("Fewer than GCC", value(percent, "fewer_cycles_share", baseline="gcc", judge=IN_ORDER)),
    ("As many", value(percent, "equal_cycles_share", baseline="gcc", judge=IN_ORDER)),
    ("More", value(percent, "more_cycles_share", baseline="gcc", judge=IN_ORDER)),
    ("GCC's own order", value(percent, "same_order_share", baseline="gcc", judge=IN_ORDER)),
    ("Blocks", value(count, "cycles", "n", comparison="ratio", baseline="best", judge=IN_ORDER)),
]
PROVEN: list[Column] = [
    ("Blocks", of("set", set_label)),
    ("Scheduler", of("method", label)),
    ("Up to 20 instructions", metric(with_interval, "proven_optimal_share", lengths="2-20")),
    ("All", metric(with_interval, "proven_optimal_share")),
    ("Number", value(count, "proven_optimal_share", "n")),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables by name; without lines where nothing was published."""
    rows = _rows(evidence)
    if rows.empty:
        return {"ratios": {}}
    judges, examples = _judges(rows, evidence), evidence.table("timelines")
    sets = in_order(rows["set"], evidence.settings(EXPERIMENT).get("sets", ()))
    on_set = {name: rows[rows["set"] == name] for name in sets}
    return {
        "in_order": IN_ORDER,
        "others": [name for name in judges if name != IN_ORDER],
        "short_of": set_label(SHOWN),
        "short": table(_short_columns(evidence), _per_judge(on_set.get(SHOWN, rows[:0]), judges), right=2),
        "ratios": {set_label(name): _ratios(own, judges, evidence) for name, own in on_set.items()},
        "shares": {set_label(name): _shares(own) for name, own in on_set.items()},
        "proven": _proven(rows, sets),
        "n_examples": examples["block_id"].nunique() if len(examples) else 0,
        "figures": list(figures(evidence)),
    }


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """The section's figures by name, those whose rows were published."""
    rows = _rows(evidence)
    if rows.empty:
        return {}
    drawn: dict[str, Drawing] = {}
    points = _points(rows[rows["set"] == SHOWN], evidence)
    if len(points):
        drawn["processors_pareto"] = partial(plots.pareto, points, list(points["name"]))
    parts = evidence.table("parts", EXPERIMENT)
    if len(parts):
        parts = parts[(parts["set"] == SHOWN) & parts["decoder"].isin(CHOSEN) & (parts["by"] == "length")]
    if len(parts):
        named = parts.assign(name=_names(parts), kind=[_kind(name, evidence) for name in parts["method"]])
        mean = named[named["judge"] == IN_ORDER].groupby(["kind", "name"])["value"].mean().sort_values()
        best = mean.reset_index().drop_duplicates("kind")["name"][:_CURVES].tolist()
        shown = named[named["name"].isin(best)]
        drawn["processors_length"] = partial(plots.by_length, shown, _judges(rows, evidence), best)
    examples = evidence.table("timelines")
    for place, (_, block) in enumerate(examples.groupby("rank") if len(examples) else []):
        drawn[f"processors_block_{place + 1}"] = partial(plots.timelines, _timelines(block))
    return drawn


def _rows(evidence: Evidence) -> pd.DataFrame:
    rows = evidence.of(EXPERIMENT)
    return rows[rows["decoder"].isin(CHOSEN)]


def _judges(rows: pd.DataFrame, evidence: Evidence) -> list[str]:
    """Processors as the parameters list them, those of many iterations behind their single pass."""
    judged = rows[rows["judge"] != "none"].drop_duplicates("judge")
    targets = list(evidence.settings(EXPERIMENT).get("targets", ()))
    place = {name: k for k, name in enumerate(in_order(judged["target"], targets))}
    target = dict(zip(judged["judge"], judged["target"], strict=True))
    return sorted(target, key=lambda judge: (place[target[judge]], judge))


def _kind(method: str, evidence: Evidence) -> str:
    """What the method is a kind of: methods that differ in settings alone are of one kind."""
    return str(evidence.params.get("methods", {}).get(method, {}).get("method", method))


def _names(rows: pd.DataFrame) -> list[str]:
    return [with_decoder(method, decoder) for method, decoder in zip(rows["method"], rows["decoder"], strict=True)]


def _per_judge(rows: pd.DataFrame, judges: list[str]) -> list[Line]:
    """A line for each judge with its ratios to GCC's cycles, the fewest first."""
    ratios = rows[(rows["metric"] == "cycles") & (rows["comparison"] == "ratio") & (rows["baseline"] == "gcc")]
    ratios = ratios.dropna(subset="value").sort_values(["value", "method"])
    return [Line({"judge": judge}, ratios[ratios["judge"] == judge].to_dict("records")) for judge in judges]


def _short_columns(evidence: Evidence) -> list[Column]:
    """Who needs the fewest cycles, and the best ratio of each kind of method."""
    learned = set(evidence.settings(EXPERIMENT).get("models", ()))

    def best(line: Line, kind: str = "", decoder: str = "") -> Row | None:
        return next(
            (
                row
                for row in line.rows
                if (not decoder or (row["decoder"] == decoder and row["method"] in learned))
                and (not kind or _kind(row["method"], evidence) == kind)
            ),
            None,
        )

    def fewest(line: Line) -> str:
        row = best(line)
        return "-" if row is None else with_decoder(row["method"], row["decoder"])

    return [
        ("Processor", of("judge")),
        ("Fewest cycles", fewest),
        ("Theirs", lambda line: ratio(best(line))),
        ("Network, fastest drawn", lambda line: ratio(best(line, decoder="timed"))),
        ("Network, greedy", lambda line: ratio(best(line, decoder="greedy"))),
        ("List scheduling, the best", lambda line: ratio(best(line, kind="list_scheduling"))),
        ("Imitator of GCC", lambda line: ratio(best(line, kind="ordering"))),
    ]


def _ranked(rows: pd.DataFrame) -> list[Line]:
    """A line for each method and decoder that was judged, the fewest cycles on the in-order processor first."""

    def rank(line: Line) -> tuple:
        row = line.find(judge=IN_ORDER, **_TO_GCC)
        return (np.inf if row is None else row["value"], line["method"], line["decoder"])

    kept = [
        line for line in lines(rows, ["method", "decoder"]) if any(row["comparison"] == "ratio" for row in line.rows)
    ]
    return sorted(kept, key=rank)


def _ratios(rows: pd.DataFrame, judges: list[str], evidence: Evidence) -> Table:
    """Microseconds a block, and the ratio to GCC's cycles on each processor."""
    speed = evidence.of(SPEED)
    own = speed[(speed["set"].isin(rows["set"])) & (speed["target"] == IN_ORDER)]
    columns: list[Column] = [*METHOD, ("µs a block", value(count, "microseconds_per_block"))]
    columns += [(judge, metric(ratio, judge=judge, **_TO_GCC)) for judge in judges]
    return table(columns, _ranked(pd.concat([rows, own])), right=2)


def _shares(rows: pd.DataFrame) -> Table:
    """How near the best order methods come on the in-order processor."""
    best = {"metric": "cycles", "comparison": "ratio", "baseline": "best", "judge": IN_ORDER}
    own = rows[rows["judge"] == IN_ORDER]
    return table(SHARES, [line for line in _ranked(own) if line.find(**best)], right=2)


def _proven(rows: pd.DataFrame, sets: list[str]) -> Table:
    """Shares of blocks whose order is proven to be optimal on the in-order processor."""
    proven = rows[(rows["metric"] == "proven_optimal_share") & (rows["target"] == IN_ORDER)]
    proven = proven.assign(judge="none")  # it stands for all of the columns
    return table(PROVEN, lines(proven, ["set", "method"], {"set": sets}, {"metric": "proven_optimal_share"}), right=2)


def _points(rows: pd.DataFrame, evidence: Evidence) -> pd.DataFrame:
    """Columns of `plots.pareto`: methods whose time was measured on the in-order processor."""
    speed, points = evidence.of(SPEED), []
    timed = speed[(speed["set"] == SHOWN) & (speed["target"] == IN_ORDER)]
    for line in _ranked(pd.concat([rows, timed])):
        row, time = line.find(judge=IN_ORDER, **_TO_GCC), line.find(metric="microseconds_per_block")
        if row is not None and time is not None:
            name = with_decoder(line["method"], line["decoder"])
            points.append((name, time["value"], row["value"], row["low"], row["high"]))
    return pd.DataFrame(points, columns=["name", "microseconds", "ratio", "low", "high"])


def _timelines(block: pd.DataFrame) -> list[plots.Timeline]:
    """Of one block of the table of examples: a row for each order and slot."""
    return [
        plots.Timeline(
            str(title),
            own["instruction"].tolist(),
            own["issue"].to_numpy(int),
            own["latency"].to_numpy(int),
            int(own["cycles"].iloc[0]),
        )
        for title, own in block.sort_values(["place", "slot"]).groupby("title", sort=False)
    ]
