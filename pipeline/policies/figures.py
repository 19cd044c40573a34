"""Figures of policies: training, strengths of targets, speedup against diversity, probabilities, schedules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterSciNotation, LogLocator, MaxNLocator, NullFormatter

from learned_schedulers.figures import subplots
from pipeline.lab.page import graph_pictures as pictures
from pipeline.lab.page.colours import BLUE, INK, series, styles
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import in_order, spelt
from pipeline.lab.page.plots import Drawing, downwards, drawings, key, legend, panels, saving, shares, training
from pipeline.lab.paper import GFLOWNET_TABLE_3

_SIZES, _UNSEEN, _TRAINED = "gflownet_paper_sizes", "gflownet", ("gflownet", "gflownet_one_graph")
_MODELS = {"uniform": "gflownet_uniform", "robust": "gflownet_drawn", "larger": "gflownet_larger_drawn"}
_DRAWN = ("randomised_list", "brkga", "ppo", "gflownet", "gflownet_drawn")  # against the strength of the target
_SIGMAS = {"gflownet_cold": "colder", "gflownet": "", "gflownet_warm": "warmer", "gflownet_hot": "hot"}
_PEERS = ("list_scheduling", "randomised_list", "brkga", "ppo")


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """The figures that have rows."""
    strengths = evidence.table("parts", _SIZES)
    strengths = strengths[strengths["metric"] == "strength"]
    frozen = dict(zip(strengths["part"].astype(str), strengths["value"].astype(float), strict=True))
    exact = evidence.of("exact_flow")
    trained = {name: evidence.table("policy_trainings", name) for name in (_SIZES, "gflownet_test_bed", *_TRAINED)}
    charts = {
        f"policies_gantt_{name}_{k}": (pictures.gantt, bars)
        for name in _TRAINED
        for k, (_, bars) in enumerate(evidence.table("gantts", name).groupby("rank"), 1)
    }
    return drawings(
        **{f"policies_training_{name}": (_training, history) for name, history in trained.items()},
        **charts,
        policies_over_strength=(_over_strength, _by_strength(evidence.of(_SIZES), frozen), frozen),
        policies_test_bed=(_test_bed, evidence.table("test_bed")),
        policies_sigma=(_by_temperature, _scattered(evidence.of(_UNSEEN))),
        policies_exactness=(_exactness, exact[exact["metric"] == "total_variation"]),
        policies_probabilities=(_probabilities, evidence.table("schedule_probabilities")),
    )


def _training(history: pd.DataFrame) -> Figure:
    """Speedup on development graphs as a share of the bound, against steps."""
    measured = history[history["split"] == "development"]
    named = measured.assign(model=measured["model"].replace(_MODELS))
    return training(named, (("mean", "Mean of the schedules"), ("best", "Best schedule")), of="graphs")


def _test_bed(settings: pd.DataFrame) -> Figure:
    """What BRKGA gains over list scheduling on both targets by every setting, and in the paper."""
    ties = in_order(settings["ties"], ["longest_idle"])
    tints = series(ties)
    with subplots(6.5, 4.6) as (figure, axes):
        ax = axes[0, 0]
        for row in settings.to_dict("records"):
            place = [np.log(row[f"brkga_{target}"] / row[f"list_{target}"]) for target in ("bandwidth", "latency")]
            fill = tints[row["ties"]]["color"] if row["decoder"] == "parents" else "white"
            ax.plot(*place, linestyle="none", markerfacecolor=fill, markersize=6, **tints[row["ties"]])
        of_list, of_brkga = (GFLOWNET_TABLE_3[name] for name in ("list_scheduling", "brkga"))
        papers = [np.log(of_brkga[target] / of_list[target]) for target in ("bandwidth", "latency")]
        ax.plot(*papers, "*", color=INK, markersize=15)
        ax.axhline(0, color=INK, lw=0.6)
        ax.axvline(0, color=INK, lw=0.6)
        ax.set(xlabel="log of BRKGA's speedup over list scheduling's, bandwidth", ylabel="the same, latency")
        names = [key(f"list: {spelt(name)}", linestyle="none", **tints[name]) for name in ties]
        legend(figure, [*names, key("Zhang et al. 2023", color=INK, marker="*", linestyle="none", markersize=12)], 2)
    return figure


def _by_strength(rows: pd.DataFrame, frozen: dict[str, float]) -> pd.DataFrame:
    """Ratios to list scheduling with columns `kind` and `strength`, if schedules on few devices are kept too."""
    ratios = rows[(rows["metric"] == "makespan") & (rows["comparison"] == "ratio")]
    ratios = ratios[(ratios["baseline"] == "list_scheduling") & (ratios["decoder"] == "spread")]
    ratios = ratios[ratios["method"].isin(_DRAWN)]
    parts = ratios["target"].str.extract(r"^(bandwidth|latency)(?:_([\d.]+))?$")
    strength = pd.to_numeric(parts[1]).fillna(parts[0].map(frozen))
    return ratios.assign(kind=parts[0], strength=strength).dropna(subset=["strength"])


def _over_strength(rows: pd.DataFrame, frozen: dict[str, float]) -> Figure:
    """Makespan over list scheduling's against the strength of a target, which a line marks, a panel for each kind."""
    kinds, marks = in_order(rows["kind"], ()), styles(in_order(rows["method"], ()))
    with panels(kinds, 2, 4.0, 3.4, marks, 4) as (figure, axes):
        for ax, kind in zip(axes, kinds, strict=True):
            for method, mark in marks.items():
                line = rows[(rows["kind"] == kind) & (rows["method"] == method)].sort_values("strength")
                ax.plot(line["strength"], line["value"], markersize=5, linewidth=1.2, **mark)
                ends: Any = (line["strength"], line["low"], line["high"])
                ax.fill_between(*ends, color=mark["color"], alpha=0.1, linewidth=0)
            if kind in frozen:
                ax.axvline(frozen[kind], color=INK, linewidth=0.8, linestyle="--")
            ax.set(xscale="log", xlabel="mean transfer in mean operations", title=kind)
            saving(ax.yaxis)
    return figure


def _scattered(rows: pd.DataFrame) -> pd.DataFrame:
    """Columns set, method, speedup, kept_speedup, diversity: on the proxy, where all temperatures were measured."""
    rows = rows[(rows["target"] == "proxy") & (rows["decoder"] == "best") & (rows["comparison"] == "value")]
    rows = rows[rows["method"].isin([*_SIGMAS, *_PEERS])]
    rows = rows[rows["metric"].isin(("speedup", "kept_speedup", "diversity"))]
    wide = rows.pivot_table(index=["set", "method"], columns="metric", values="value").dropna().reset_index()
    return wide[wide["set"] == "unseen_synthetic"]  # of real graphs, some temperatures have the small ones alone


def _by_temperature(points: pd.DataFrame) -> Figure:
    """Speedup against diversity: means of the kept are filled, the best hollow; a line joins the temperatures."""
    points = points.set_index("method")
    marks = styles(["gflownet", *(name for name in _PEERS if name in points.index)])
    peers = {name: mark for name, mark in marks.items() if name != "gflownet"}
    line = points.loc[[name for name in _SIGMAS if name in points.index]]
    with panels(["all"], 1, 5.0, 3.4, marks, 3, linestyle="") as (figure, (ax,)):
        for column, hollow in (("kept_speedup", {}), ("speedup", {"markerfacecolor": "none"})):
            ax.plot(line["diversity"], line[column], linewidth=1, **(marks["gflownet"] | hollow))
            for name, mark in peers.items():
                point = points.loc[name]
                ax.plot(point["diversity"], point[column], linestyle="", markersize=6, **(mark | hollow))
        for name, x, y in zip(line.index, line["diversity"], line["kept_speedup"], strict=True):
            ax.annotate(_SIGMAS[str(name)], (x, y), (0, -11), textcoords="offset points", ha="center", fontsize=8)
        ax.set(xlim=(-0.05, 1.05), xlabel="mean distance of the kept", ylabel="speedup on the proxy")
        ax.margins(y=0.15)
        shares(ax.xaxis)
    return figure


def _exactness(rows: pd.DataFrame) -> Figure:
    """Exact total variation of each graph, a mark for each sigma. rows: of table `results`; `decoder` is sigma."""
    graphs = in_order(rows["set"], ())
    sigmas = sorted(set(rows["decoder"]), key=float, reverse=True)
    marks = series(sigmas)
    with subplots(8, 1.2 + 0.4 * len(graphs)) as (figure, axes):
        ax = axes[0, 0]
        for k, (sigma, mark) in enumerate(marks.items()):
            shift = 0.2 * (k - (len(marks) - 1) / 2)  # equal values would cover each other
            of_sigma = rows[rows["decoder"] == sigma]
            heights = [-graphs.index(name) - shift for name in of_sigma["set"]]
            ax.plot(of_sigma["value"], heights, linestyle="", **mark)
        downwards(ax, [spelt(name) for name in graphs])
        ax.set(xlabel="total variation between probabilities and R/Z: 0 is exact, 1 is disjoint", xlim=(0, None))
        keys = [key(f"sigma {sigma}", linestyle="", **mark) for sigma, mark in marks.items()]
        legend(figure, keys, 5)
    return figure


def _probabilities(schedules: pd.DataFrame) -> Figure:
    """Probabilities of schedules against their shares of the reward, a panel for each graph and sigma."""
    graphs, sigmas = in_order(schedules["graph"], ()), sorted(set(schedules["sigma"]), reverse=True)
    with subplots(3.1 * len(sigmas), 3.0 * len(graphs), rows=len(graphs), columns=len(sigmas)) as (figure, axes):
        for k, graph in enumerate(graphs):
            for j, sigma in enumerate(sigmas):
                ax = axes[k, j]
                of_panel = schedules[(schedules["graph"] == graph) & (schedules["sigma"] == sigma)]
                ax.loglog(of_panel["target"], of_panel["probability"], ".", color=BLUE, markersize=3, alpha=0.4)
                ends = [of_panel["target"].min(), of_panel["target"].max()]
                ax.plot(ends, ends, color=INK, linewidth=1)
                ax.set(title=f"{spelt(graph)}, sigma {sigma:g}", xlabel="R/Z")
                for axis in (ax.xaxis, ax.yaxis):
                    _few_labels(axis, ends)
            axes[k, 0].set_ylabel("probability of the schedule")
    return figure


def _few_labels(axis: Axis, ends: list[float]) -> None:
    """Labels of a logarithmic axis: decades; on less than a decade also 2 and 5 times a power of ten, or what fits."""
    span = ends[1] / ends[0]
    subs = (1.0, 2.0, 5.0) if span < 10 else (1.0,)
    axis.set_major_locator(MaxNLocator(3) if span < 2.5 else LogLocator(subs=subs, numticks=5))
    axis.set_major_formatter(LogFormatterSciNotation(labelOnlyBase=False, minor_thresholds=(np.inf, np.inf)))
    axis.set_minor_formatter(NullFormatter())
