"""Every method on processor models: cycles against GCC's, run time, proven optima, example blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from learned_schedulers.figures import subplots
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import in_order, label, set_label, with_decoder
from pipeline.lab.page.numbers import count, percent, ratio, with_interval
from pipeline.lab.page.panels import panels, styles
from pipeline.lab.page.plots import curve, drawings, key, legend, logarithmic
from pipeline.lab.page.tables import (
    CHOSEN,
    SCHEDULER,
    TO_GCC,
    Column,
    Line,
    Table,
    lines,
    metric,
    of,
    ranked,
    table,
    value,
)

EXPERIMENT, SPEED = "processors", "processors_speed"
ONCE = "processors_speed_zen4"  # one run elsewhere, the only one of the networks whose weights were not stored
IN_ORDER = "atom"  # the target whose times, shares and examples are shown
SHOWN = "test_10_40"  # the set of the summary and of the figures
DELETED = ("learned_atom", "learned_atom_small", "learned_machines")  # methods whose code is deleted; their rows stay
LAST_COMMIT = "a42b4bdd0"  # that has the code
_CURVES = 8  # number of methods that a figure by length shows
SHARES: list[Column] = [
    *SCHEDULER,
    ("Cycles over the best order's", metric(ratio, "cycles", comparison="ratio", baseline="best", judge=IN_ORDER)),
    ("Over GCC's, mean", metric(ratio, "mean_cycles", comparison="ratio", baseline="gcc", judge=IN_ORDER)),
    ("Fewer than GCC", value(percent, "fewer_cycles_share", baseline="gcc", judge=IN_ORDER)),
    ("As many", value(percent, "equal_cycles_share", baseline="gcc", judge=IN_ORDER)),
    ("More", value(percent, "more_cycles_share", baseline="gcc", judge=IN_ORDER)),
    ("GCC's own order", value(percent, "same_order_share", baseline="gcc", judge=IN_ORDER)),
    ("Blocks", value(count, "cycles", "n", comparison="ratio", baseline="best", judge=IN_ORDER)),
]
_PROVEN = {"metric": "proven_optimal_share"}
PROVEN: list[Column] = [
    ("Blocks", of("set", set_label)),
    ("Scheduler", of("method", label)),
    ("Up to 20 instructions", metric(with_interval, "proven_optimal_share", lengths="2-20")),
    ("All", metric(with_interval, "proven_optimal_share")),
    ("Number", value(count, "proven_optimal_share", "n")),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables and figures by name; they are empty if nothing was published."""
    rows, parts = evidence.of(EXPERIMENT), evidence.table("parts", EXPERIMENT)
    rows, parts = (frame[frame["decoder"].isin(CHOSEN)] for frame in (rows, parts))
    if rows.empty:
        return {"ratios": {}}
    judges, examples = _judges(rows, evidence), evidence.table("timelines")
    sets = in_order(rows["set"], evidence.settings(EXPERIMENT).get("sets", ()))
    on_set = {name: rows[rows["set"] == name] for name in sets}
    shown = on_set.get(SHOWN, rows[:0])
    proven = rows[(rows["metric"] == _PROVEN["metric"]) & (rows["target"] == IN_ORDER)].assign(judge="none")
    lengths = parts[(parts["set"] == SHOWN) & (parts["by"] == "length")]
    blocks = {f"processors_block_{k + 1}": block for k, (_, block) in enumerate(examples.groupby("rank"))}
    return {
        "in_order": IN_ORDER,
        "others": [name for name in judges if name != IN_ORDER],
        "short_of": set_label(SHOWN),
        "milp_nodes": evidence.params.get("methods", {}).get("milp", {}).get("nodes", 0),
        "ratios": {set_label(name): _ratios(tested, judges, evidence) for name, tested in on_set.items()},
        "shares": {set_label(name): _shares(tested) for name, tested in on_set.items()},
        "proven": table(PROVEN, lines(proven, ["set", "method"], {"set": sets}, _PROVEN), right=2),
        "deleted": [label(name) for name in DELETED if name in set(rows["method"])],
        "last_commit": LAST_COMMIT,
        "n_examples": len(blocks),
        "figures": drawings(
            processors_pareto=(pareto, _points(shown, evidence)),
            processors_length=(by_length, _best_of_kinds(lengths, evidence), judges),
            **{name: (timelines, block) for name, block in blocks.items()},
        ),
    }


def _judges(rows: pd.DataFrame, evidence: Evidence) -> list[str]:
    """Processors in the sequence of the parameters, each with its single pass before its many iterations."""
    judged = rows[rows["judge"] != "none"].drop_duplicates("judge")
    targets = list(evidence.settings(EXPERIMENT).get("targets", ()))
    place = {name: k for k, name in enumerate(in_order(judged["target"], targets))}
    target = dict(zip(judged["judge"], judged["target"], strict=True))
    return sorted(target, key=lambda judge: (place[target[judge]], judge))


def _kind(method: str, evidence: Evidence) -> str:
    """The kind of the method: methods that differ in settings alone are of one kind."""
    return str(evidence.params.get("methods", {}).get(method, {}).get("method", method))


def _best_of_kinds(parts: pd.DataFrame, evidence: Evidence) -> pd.DataFrame:
    """The best method of each kind on the in-order processor, with a column `name`; the best of all is first."""
    pairs = zip(parts["method"], parts["decoder"], strict=True)
    named = parts.assign(
        name=[with_decoder(*pair) for pair in pairs], kind=[_kind(name, evidence) for name in parts["method"]]
    )
    mean = named[named["judge"] == IN_ORDER].groupby(["kind", "name"])["value"].mean().sort_values()
    best = mean.reset_index().drop_duplicates("kind")["name"][:_CURVES].tolist()
    chosen = named[named["name"].isin(best)]
    return chosen.assign(place=chosen["name"].map(best.index)).sort_values("place", kind="stable")


def _ranked(rows: pd.DataFrame) -> list[Line]:
    """A line for each method and decoder that was judged, the fewest cycles on the in-order processor first."""
    pairs = lines(rows, ["method", "decoder"])
    judged = [line for line in pairs if any(row["comparison"] == "ratio" for row in line.rows)]
    return ranked(judged, judge=IN_ORDER, **TO_GCC)


def _ratios(rows: pd.DataFrame, judges: list[str], evidence: Evidence) -> Table:
    """Microseconds per block, and the ratio to GCC's cycles on each processor."""
    speed = evidence.of(SPEED, ONCE)
    speeds = speed[(speed["set"].isin(rows["set"])) & (speed["target"] == IN_ORDER)]
    columns: list[Column] = [
        *SCHEDULER,
        ("µs per block", value(count, "microseconds_per_block", experiment=SPEED)),
        ("On a Zen 4, once", value(count, "microseconds_per_block", experiment=ONCE)),
    ]
    columns += [(judge, metric(ratio, judge=judge, **TO_GCC)) for judge in judges]
    return table(columns, _ranked(pd.concat([rows, speeds])), right=2)


def _shares(rows: pd.DataFrame) -> Table:
    """How near the methods are to the best order on the in-order processor."""
    best = {"metric": "cycles", "comparison": "ratio", "baseline": "best", "judge": IN_ORDER}
    judged = rows[rows["judge"] == IN_ORDER]
    return table(SHARES, [line for line in _ranked(judged) if line.find(**best)], right=2)


def _points(rows: pd.DataFrame, evidence: Evidence) -> pd.DataFrame:
    """Methods whose time was measured on the in-order processor: `name`, `microseconds`, and the ratio of cycles.

    The time is the median of several series; a method that has none is shown with the earlier run.
    """
    speed, points = evidence.of(SPEED, ONCE), []
    timed = speed[(speed["set"] == SHOWN) & (speed["target"] == IN_ORDER)]
    for line in _ranked(pd.concat([rows, timed])):
        row = line.find(judge=IN_ORDER, **TO_GCC)
        times = [line.find(metric="microseconds_per_block", experiment=name) for name in (SPEED, ONCE)]
        time = times[0] or times[1]
        if row is not None and time is not None:
            name = with_decoder(line["method"], line["decoder"])
            points.append({**row, "name": name, "microseconds": time["value"]})
    return pd.DataFrame(points)


def pareto(points: pd.DataFrame) -> Figure:
    """Cycles relative to GCC's against microseconds per block; lower and further left is better.

    `points`: rows of table `results` with columns `name` and `microseconds`. The line joins the Pareto front.
    """
    style = styles(points["name"].tolist())
    with subplots(9.5, 6.4) as (figure, axes):
        ax = axes[0, 0]
        points = points.sort_values(["microseconds", "value"])
        front = points[points["value"] < points["value"].cummin().shift(fill_value=np.inf)]
        ax.plot(front["microseconds"], front["value"], color="#bbbbbb", linewidth=1.2, drawstyle="steps-post", zorder=1)
        for _, row in points.iterrows():
            ax.vlines(row["microseconds"], row["low"], row["high"], color=style[row["name"]]["color"])
            ax.plot(row["microseconds"], row["value"], linestyle="", markersize=6.5, **style[row["name"]])
        ax.axhline(1, color="#222222", linewidth=0.8)
        logarithmic(ax.xaxis, 9)
        ax.set(xlabel="microseconds per block, one core", ylabel="cycles over GCC's")
        legend(figure, [key(name, linestyle="", **mark) for name, mark in style.items()], 3)
    return figure


def by_length(parts: pd.DataFrame, judges: list[str]) -> Figure:
    """Cycles relative to GCC's by length, with intervals, a panel for each processor.

    `parts`: table `parts` of one set with a column `name`, in the sequence of the legend.
    """
    style = styles(parts["name"].unique().tolist())
    with panels(judges, 3, 3.7, 2.9, style, 3, str, linestyle="") as (figure, axes):
        for ax, judge in zip(axes, judges, strict=True):
            judged = parts[parts["judge"] == judge]
            ranges = judged.drop_duplicates("part").sort_values("rank")["part"].tolist()
            for k, (name, mark) in enumerate(style.items()):
                points = judged[judged["name"] == name].sort_values("rank")
                x = points["part"].map(ranges.index).to_numpy(float) + 0.05 * (k - (len(style) - 1) / 2)
                curve(ax, x, points, 1.2, linewidth=1.3, markersize=4.5, **mark)
            ax.axhline(1, color="#222222", linewidth=0.8)
            ax.set_xticks(range(len(ranges)), ranges)
            ax.set(xlabel="instructions", title=judge)
        for ax in axes[::3]:
            ax.set_ylabel("cycles over GCC's")
    return figure


def timelines(block: pd.DataFrame) -> Figure:
    """One block in several orders side by side: a bar from issue to write-back for each instruction.

    `block`: table `timelines`, rows of one block.
    """
    orders = list(block.sort_values(["place", "slot"]).groupby("title", sort=False))
    rows = block["slot"].nunique()
    with subplots(1.0 + 4.2 * len(orders), 0.27 * rows + 1.3, 1, len(orders)) as (figure, axes):
        for ax, (title, order) in zip(axes[0], orders, strict=True):
            slots, cycles = np.arange(rows), order["cycles"].iloc[0]
            bars: Any = {"height": 0.7, "color": "#56b4e9", "edgecolor": "#0072b2"}
            ax.barh(slots, np.maximum(order["latency"], 1), left=order["issue"], **bars)
            ax.axvline(cycles - 1, color="#d55e00", linewidth=1.2)
            ax.set_yticks(slots, order["instruction"])
            ax.tick_params(axis="y", labelsize=7, labelfontfamily="DejaVu Sans Mono")
            ax.set(ylim=(rows - 0.4, -0.6), xlim=(-0.3, block["cycles"].max() + 0.3))
            ax.grid(axis="y", visible=False)
            ax.set(xlabel="cycle", title=f"{title}: {cycles} cycles")
    return figure
