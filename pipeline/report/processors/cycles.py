"""Every method on processor models: cycles against GCC's, time, what is proven, example blocks side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pipeline.report.evidence import Evidence
from pipeline.report.names import in_order, label, set_label, with_decoder
from pipeline.report.numbers import Row, count, percent, ratio, with_interval
from pipeline.report.plots import curve, drawings, key, legend, logarithmic, subplots
from pipeline.report.tables import SCHEDULER, Column, Line, Table, lines, metric, of, table, value

EXPERIMENT, SPEED = "processors", "processors_speed"
ONCE = "processors_speed_zen4"  # one run on another processor; of networks whose weights were not kept the only one
IN_ORDER = "atom"  # the target whose times, shares and examples are shown
SHOWN = "test_10_40"  # the set of the summary and of the figures
CHOSEN = ("none", "greedy", "beam", "timed")  # decoders; single samples are left out: they are drawn, not chosen
_TO_GCC = {"metric": "cycles", "comparison": "ratio", "baseline": "gcc"}
_CURVES = 8  # methods that a figure by length shows
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666", "#222222")  # Okabe & Ito, 2008
_ABREAST = 3  # panels
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
SHARES: list[Column] = [
    *SCHEDULER,
    ("Cycles, of the best order's", metric(ratio, "cycles", comparison="ratio", baseline="best", judge=IN_ORDER)),
    ("Of GCC's, mean", metric(ratio, "mean_cycles", comparison="ratio", baseline="gcc", judge=IN_ORDER)),
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
    """The section's tables and figures by name; without lines where nothing was published."""
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
        "short": table(_short_columns(evidence), _per_judge(shown, judges), right=2),
        "milp_nodes": evidence.params.get("methods", {}).get("milp", {}).get("nodes", 0),
        "milp_worse": _worse(_per_judge(shown, judges), "milp", "random_legal"),
        "ratios": {set_label(name): _ratios(tested, judges, evidence) for name, tested in on_set.items()},
        "shares": {set_label(name): _shares(tested) for name, tested in on_set.items()},
        "proven": table(PROVEN, lines(proven, ["set", "method"], {"set": sets}, _PROVEN), right=2),
        "n_examples": len(blocks),
        "figures": drawings(
            processors_pareto=(pareto, _points(shown, evidence)),
            processors_length=(by_length, _best_of_kinds(lengths, evidence), judges),
            **{name: (timelines, block) for name, block in blocks.items()},
        ),
    }


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


def _best_of_kinds(parts: pd.DataFrame, evidence: Evidence) -> pd.DataFrame:
    """The best method of each kind on the in-order processor, with a column `name`, the best of all first."""
    pairs = zip(parts["method"], parts["decoder"], strict=True)
    named = parts.assign(
        name=[with_decoder(*pair) for pair in pairs], kind=[_kind(name, evidence) for name in parts["method"]]
    )
    mean = named[named["judge"] == IN_ORDER].groupby(["kind", "name"])["value"].mean().sort_values()
    best = mean.reset_index().drop_duplicates("kind")["name"][:_CURVES].tolist()
    chosen = named[named["name"].isin(best)]
    return chosen.assign(place=chosen["name"].map(best.index)).sort_values("place", kind="stable")


def _per_judge(rows: pd.DataFrame, judges: list[str]) -> list[Line]:
    """A line for each judge with its ratios to GCC's cycles, the fewest first."""
    ratios = rows[(rows["metric"] == "cycles") & (rows["comparison"] == "ratio") & (rows["baseline"] == "gcc")]
    ratios = ratios.dropna(subset="value").sort_values(["value", "method"])
    return [Line({"judge": judge}, ratios[ratios["judge"] == judge].to_dict("records")) for judge in judges]


def _worse(judged: list[Line], method: str, other: str) -> list[str]:
    """The judges by which the method needs more cycles than the other one."""
    pairs = [
        (line["judge"], line.find(method=method, **_TO_GCC), line.find(method=other, **_TO_GCC)) for line in judged
    ]
    return [judge for judge, one, two in pairs if one and two and one["value"] > two["value"]]


def _short_columns(evidence: Evidence) -> list[Column]:
    """Who needs the fewest cycles, and the best ratio of each kind of method."""
    learned = set(evidence.settings(EXPERIMENT).get("models", ()))

    def best(line: Line, kind: str = "", decoder: str = "") -> Row | None:
        rows = [row for row in line.rows if not kind or _kind(row["method"], evidence) == kind]
        rows = [row for row in rows if not decoder or (row["decoder"] == decoder and row["method"] in learned)]
        return rows[0] if rows else None

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
    speed = evidence.of(SPEED, ONCE)
    speeds = speed[(speed["set"].isin(rows["set"])) & (speed["target"] == IN_ORDER)]
    columns: list[Column] = [
        *SCHEDULER,
        ("µs a block", value(count, "microseconds_per_block", experiment=SPEED)),
        ("On a Zen 4, once", value(count, "microseconds_per_block", experiment=ONCE)),
    ]
    columns += [(judge, metric(ratio, judge=judge, **_TO_GCC)) for judge in judges]
    return table(columns, _ranked(pd.concat([rows, speeds])), right=2)


def _shares(rows: pd.DataFrame) -> Table:
    """How near the best order methods come on the in-order processor."""
    best = {"metric": "cycles", "comparison": "ratio", "baseline": "best", "judge": IN_ORDER}
    judged = rows[rows["judge"] == IN_ORDER]
    return table(SHARES, [line for line in _ranked(judged) if line.find(**best)], right=2)


def _points(rows: pd.DataFrame, evidence: Evidence) -> pd.DataFrame:
    """Methods whose time was measured on the in-order processor: `name`, `microseconds`, and the ratio of cycles.

    The time is that of several series, of a method that has none the older one.
    """
    speed, points = evidence.of(SPEED, ONCE), []
    timed = speed[(speed["set"] == SHOWN) & (speed["target"] == IN_ORDER)]
    for line in _ranked(pd.concat([rows, timed])):
        row = line.find(judge=IN_ORDER, **_TO_GCC)
        times = [line.find(metric="microseconds_per_block", experiment=name) for name in (SPEED, ONCE)]
        time = times[0] or times[1]
        if row is not None and time is not None:
            name = with_decoder(line["method"], line["decoder"])
            points.append({**row, "name": name, "microseconds": time["value"]})
    return pd.DataFrame(points)


def styles(names: Sequence[str]) -> dict[str, Any]:
    """Colour and mark of every method, told apart by both."""
    return {
        name: {"color": _COLOURS[k % len(_COLOURS)], "marker": _MARKS[(k + k // len(_COLOURS)) % len(_MARKS)]}
        for k, name in enumerate(names)
    }


def pareto(points: pd.DataFrame) -> Figure:
    """Cycles against GCC's over microseconds per block; lower and further left is better.

    `points`: rows of table `results` with columns `name` and `microseconds`. The line joins those that no other beats
    in both.
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
        ax.set(xlabel="microseconds per block, one core", ylabel="cycles, of those of GCC's order")
        legend(figure, [key(name, linestyle="", **mark) for name, mark in style.items()], 3)
    return figure


def by_length(parts: pd.DataFrame, judges: Sequence[str]) -> Figure:
    """Cycles against GCC's by length, a panel for each processor, with intervals.

    `parts`: table `parts` of one set with a column `name`, in the order of the legend.
    """
    style = styles(parts["name"].unique().tolist())
    columns = min(_ABREAST, len(judges))
    rows = -(-len(judges) // columns)
    with subplots(1.2 + 3.7 * columns, 0.9 + 2.9 * rows, rows, columns) as (figure, axes):
        for ax in axes.flat[len(judges) :]:
            figure.delaxes(ax)
        for ax, judge in zip(axes.flat, judges, strict=False):
            judged = parts[parts["judge"] == judge]
            ranges = judged.drop_duplicates("part").sort_values("rank")["part"].tolist()
            for k, (name, mark) in enumerate(style.items()):
                points = judged[judged["name"] == name].sort_values("rank")
                x = points["part"].map(ranges.index).to_numpy(float) + 0.05 * (k - (len(style) - 1) / 2)
                curve(ax, x, points, 1.2, linewidth=1.3, markersize=4.5, **mark)
            ax.axhline(1, color="#222222", linewidth=0.8)
            ax.set_xticks(range(len(ranges)), ranges)
            ax.set(xlabel="instructions", title=judge)
        for ax in axes[:, 0]:
            ax.set_ylabel("cycles, of those of GCC's order")
        legend(figure, [key(name, linestyle="", **mark) for name, mark in style.items()], 3)
    return figure


def timelines(block: pd.DataFrame) -> Figure:
    """One block in several orders, side by side: a bar from issue to write-back for each instruction.

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
