"""Figures of placed schedules: over the graph, convergence of the searches, training, growth."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from learned_schedulers.figures import subplots
from pipeline.lab.page import graph_pictures as pictures
from pipeline.lab.page.colours import PALETTE, styles
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import label
from pipeline.lab.page.plots import Drawing, drawings, key, legend, logarithmic, panels, saving

_FOUR, _FEW, _SMALL, _SPEED = "placement", "placement_few", "placement_node_by_node", "placing_speed"
_COUNTS = ("1", "10", "100")
_ALL = 2000  # evaluations of each method of `placement_few` that searches
_SHOWN = (
    *("expert_layers", "placed_metis", "placed_heft", "hdp", "doppler", "decision_annealing", "placed_annealing"),
    *("placed_brkga", "node_by_node", "go", "go_untaught", "go_taught", "go_tuned"),
)


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """The figures that have rows."""
    few, large, small = _of_few(evidence), _of_parts(evidence, _FOUR), _of_parts(evidence, _SMALL)
    speeds, sized = evidence.of(_SPEED), evidence.of("whole_graph_scale")
    drawn = evidence.table("placed_operations", _FOUR)
    return drawings(
        placement_few=(_convergence, few, "evaluations"),
        placement_few_seconds=(_convergence, _in_seconds(few, speeds), "seconds"),
        placement_graph=(_over_the_graph, drawn),
        placement_timeline=(pictures.gantt, drawn),
        placement_memory=(pictures.memory, evidence.table("memory_curves", _FOUR)),
        placement_convergence=(_convergence, large, "evaluations"),
        placement_convergence_seconds=(_convergence, _in_seconds(small, speeds), "seconds"),
        placement_training=(_training, evidence.table("whole_graph_trainings", "placement_transfer")),
        placement_scale=(_growth, sized[sized["metric"].isin(("decision_seconds", "update_seconds"))]),
    )


def _of_few(evidence: Evidence) -> pd.DataFrame:
    """Time over the best known after 1, 10, 100 and all evaluations; methods of one evaluation have level curves."""
    rows = evidence.of(_FEW)
    query = {"set": "all", "metric": "makespan", "target": "all", "baseline": "best", "lengths": "all"}
    rows = rows[(rows[list(query)] == pd.Series(query)).all(axis=1) & rows["iterations"].isin((*_COUNTS, "none"))]
    return rows.assign(evaluations=rows["iterations"].replace("none", str(_ALL)).astype(float))


def _of_parts(evidence: Evidence, experiment: str) -> pd.DataFrame:
    """Best time so far over the best known, by evaluations, of the set with most graphs."""
    parts = evidence.table("parts", experiment)
    curves = parts[parts["by"] == "evaluations"]
    if curves.empty:
        return curves
    largest = curves.groupby("set")["n"].max().idxmax()
    return curves[curves["set"] == largest].assign(evaluations=lambda frame: frame["part"].astype(float))


def _in_seconds(curves: pd.DataFrame, speeds: pd.DataFrame) -> pd.DataFrame:
    """The curves of timed methods by seconds: evaluations times the mean seconds of one."""
    if curves.empty or speeds.empty:
        return curves[:0]
    seconds = speeds[(speeds["metric"] == "search_seconds") & (speeds["comparison"] == "value")]
    by_method = seconds.set_index("method")["value"]
    most = curves.groupby("method")["evaluations"].transform("max")
    timed = curves.assign(seconds=curves["evaluations"] / most * curves["method"].map(by_method))
    return timed.dropna(subset=["seconds"])


def _convergence(curves: pd.DataFrame, by: str) -> Figure:
    """Best time so far over the best known. curves: columns method, value, and `by`."""
    names = [name for name in _SHOWN if name in set(curves["method"])]
    style = styles(names)
    with panels(["all"], 1, 6.5, 3.6, style, 4) as (figure, (ax,)):
        for name in names:
            curve = curves[curves["method"] == name].sort_values(by)
            ax.plot(curve[by], curve["value"], markersize=4, linewidth=1.4, **style[name])
        logarithmic(ax.xaxis, 6)
        ax.set(xlabel=by, ylim=(0.98, min(3.0, 1.02 * curves["value"].max())))
        saving(ax.yaxis, "takes longer than the best known")
    return figure


def _over_the_graph(operations: pd.DataFrame) -> Figure:
    """Each operation at its depth in the graph, coloured by its device; a panel for each method."""
    schedules = list(operations.sort_values(["place", "operation"]).groupby("place"))
    widest = operations.groupby(["place", "depth"])["row"].transform("max") + 1
    operations = operations.assign(height=operations["row"] - (widest - 1) / 2)
    with subplots(9, 0.9 + 1.7 * len(schedules), len(schedules)) as (figure, axes):
        for ax, (place, _) in zip(axes[:, 0], schedules, strict=True):
            schedule = operations[operations["place"] == place]
            tints = np.array(PALETTE)[schedule["device"].to_numpy() % len(PALETTE)]
            ax.scatter(schedule["depth"], schedule["height"], s=5, c=tints, linewidths=0)
            ax.set_title(label(schedule["method"].iloc[0]))
            ax.set_yticks([])
            ax.grid(visible=False)
        axes[-1, 0].set_xlabel("depth in the graph: operations on the longest path before it")
        devices = sorted(set(operations["device"]))
        keys = [key(f"device {k}", color=PALETTE[k % len(PALETTE)], marker="o", linestyle="") for k in devices]
        legend(figure, keys, len(keys))
    return figure


def _training(history: pd.DataFrame) -> Figure:
    """Time after 200 evaluations without learning over one device's, on development graphs; lines are seeds."""
    measured = history[history["split"] == "development"]
    with subplots(6.5, 3.2) as (figure, axes):
        ax = axes[0, 0]
        for colour, (_, rows) in zip(PALETTE, measured.groupby("seed"), strict=False):
            ax.plot(rows["update"], rows["value"], "-o", markersize=3, color=colour)
        ax.set_xlabel("updates")
        saving(ax.yaxis)
        ax.xaxis.set_major_locator(MaxNLocator(6))
        seeds = sorted(set(measured["seed"]))
        legend(figure, [key(f"seed {s}", color=c) for s, c in zip(seeds, PALETTE, strict=False)], 5)
    return figure


def _growth(rows: pd.DataFrame) -> Figure:
    """Seconds against operations, both logarithmic; dotted lines show proportional growth."""
    with subplots(6, 3.4) as (figure, axes):
        ax, keys = axes[0, 0], []
        for colour, name in zip(PALETTE, ("decision", "update"), strict=False):
            points = rows[rows["metric"] == f"{name}_seconds"]
            points = points.assign(n=points["lengths"].astype(float)).sort_values("n")
            ax.plot(points["n"], points["value"], "-o", color=colour, markersize=4)
            last = points.iloc[-1]
            ax.plot(points["n"], points["n"] * last["value"] / last["n"], ":", color=colour, linewidth=1)
            keys.append(key(name, color=colour))
        logarithmic(ax.xaxis, 6)
        logarithmic(ax.yaxis, 6)
        ax.set(xlabel="operations", ylabel="seconds")
        legend(figure, [*keys, key("proportional growth", color="#444444", linestyle=":")], 3)
    return figure
