"""Learning and its effect: convergence, transfer, parts of the network left out, node by node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from learned_schedulers.figures import subplots
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import METHOD, methods, of_set, over, short
from pipeline.lab.page.names import label
from pipeline.lab.page.panels import COLOURS, panels, styles
from pipeline.lab.page.plots import drawings, legend, logarithmic
from pipeline.lab.page.plots import key as key_of
from pipeline.lab.page.tables import Column, Table, lines, metric, table
from pipeline.placement.page.shared import ABLATIONS, FOUR, NODE_BY_NODE, SHARE, SPEED, TRANSFER, sets

_SHOWN = (
    *("go", "go_taught", "go_untaught", "hdp", "doppler", "decision_annealing", "placed_annealing", "placed_brkga"),
    "node_by_node",
)
_OVER = {"judge": "simulator", "comparison": "ratio", "target": "all"}


def section(evidence: Evidence) -> dict[str, Any]:
    """Tables and figures by name."""
    large, small = (curves(evidence, name) for name in (FOUR, NODE_BY_NODE))
    timed = in_seconds(small, evidence.of(SPEED))
    history = evidence.table("whole_graph_trainings", TRANSFER)
    return {
        "ablations": _compared(evidence, ABLATIONS, "go"),
        "transfer": _compared(evidence, TRANSFER, "go"),
        "node_by_node": _compared(evidence, NODE_BY_NODE, "node_by_node"),
        "seconds": _seconds(evidence.of(SPEED)),
        "figures": drawings(
            placement_convergence=(convergence, large, "evaluations"),
            placement_convergence_seconds=(convergence, timed, "seconds"),
            placement_training=(training, history),
        ),
    }


def _compared(evidence: Evidence, experiment: str, baseline: str) -> Table:
    """Times over the baseline's, the best known and the best expert, and evaluations over HDP's; all graphs."""
    names = sets(evidence, experiment)
    if not names:
        return Table()
    shown: list[Column] = [METHOD]
    for text, name in ((label(baseline), baseline), ("best known", "best"), ("best expert", "expert")):
        shown.append((f"Against {text}", metric(over, "makespan", baseline=name, **_OVER)))
    rows = of_set(evidence, experiment, names[-1])
    shown.append(("Evaluations over HDP's", metric(short, "evaluations", **{**SHARE, "baseline": "hdp", **_OVER})))
    order = {"method": methods(evidence, experiment)}
    return table(shown, lines(rows[rows["target"] == "all"], ["method"], order), right=1)


def _seconds(rows: pd.DataFrame) -> Table:
    """Seconds that each method takes to place a graph."""
    shown: list[Column] = [METHOD, ("Seconds per graph", metric(short, "search_seconds"))]
    return table(shown, lines(rows, ["method"], {"method": _SHOWN}, {"metric": "search_seconds"}), right=1)


def curves(evidence: Evidence, experiment: str) -> pd.DataFrame:
    """Best time so far over the best known, by evaluations, of the set with most graphs."""
    parts = evidence.table("parts", experiment)
    if parts.empty:
        return parts
    names = sets(evidence, experiment)
    chosen = parts[(parts["by"] == "evaluations") & (parts["set"] == names[-1]) & parts["method"].isin(_SHOWN)]
    return chosen.assign(evaluations=chosen["part"].astype(float))


def in_seconds(curves: pd.DataFrame, speeds: pd.DataFrame) -> pd.DataFrame:
    """The curves of timed methods by seconds: evaluations times the mean seconds of one."""
    if curves.empty or speeds.empty:
        return curves[:0]
    seconds = speeds[(speeds["metric"] == "search_seconds") & (speeds["comparison"] == "value")]
    by_method = seconds.set_index("method")["value"]
    most = curves.groupby("method")["evaluations"].transform("max")
    timed = curves.assign(seconds=curves["evaluations"] / most * curves["method"].map(by_method))
    return timed.dropna(subset=["seconds"])


def convergence(curves: pd.DataFrame, by: str, shown: Sequence[str] = _SHOWN) -> Figure:
    """Best time so far over the best known. curves: columns method, value, and `by`."""
    names = [name for name in shown if name in set(curves["method"])]
    style = styles(names)
    with panels(["all"], 1, 6.5, 3.6, style, 4) as (figure, (ax,)):
        for name in names:
            curve = curves[curves["method"] == name].sort_values(by)
            ax.plot(curve[by], curve["value"], markersize=4, linewidth=1.4, **style[name])
        logarithmic(ax.xaxis, 6)
        ax.set(xlabel=by, ylabel="time over the best known", ylim=(0.98, min(3.0, 1.02 * curves["value"].max())))
    return figure


def training(history: pd.DataFrame) -> Figure:
    """Time after 200 evaluations without learning over one device's, on development graphs; lines are seeds."""
    measured = history[history["split"] == "development"]
    with subplots(6.5, 3.2) as (figure, axes):
        ax = axes[0, 0]
        for colour, (seed, rows) in zip(COLOURS, measured.groupby("seed"), strict=False):
            ax.plot(rows["update"], rows["value"], "-o", markersize=3, color=colour, label=f"seed {seed}")
        ax.set(xlabel="updates", ylabel="time over one device's")
        ax.xaxis.set_major_locator(MaxNLocator(6))
        seeds = sorted(set(measured["seed"]))
        legend(figure, [key_of(f"seed {s}", color=c) for s, c in zip(seeds, COLOURS, strict=False)], 5)
    return figure
