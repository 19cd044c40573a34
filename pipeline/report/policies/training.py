"""How the policies were trained, what their schedules look like, and what a change of the network is worth."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.report.devices import pictures as of_schedules
from pipeline.report.evidence import Evidence
from pipeline.report.names import set_label
from pipeline.report.numbers import spread, two
from pipeline.report.panels import COLOURS
from pipeline.report.plots import drawings, training
from pipeline.report.policies.shared import (
    DIVERSITY,
    EXPERIMENTS,
    KEPT,
    METHOD,
    PROXY,
    SMALL_GRAPH,
    of_set,
    sets,
    speedups,
    targets,
)
from pipeline.report.tables import Column, Table, lines, metric, table

# Beside `gflownet`: the same network with one setting of its training changed.
_CHANGES = ("gflownet", "gflownet_uniform", "ppo")
_NETWORKS = ("list_scheduling", "randomised_list", "gflownet", "gflownet_every_step")
_MODELS = {"uniform": "gflownet_uniform", "robust": "gflownet_drawn", "every_step": "gflownet_every_step"}
PANELS = (("mean", "Mean of the schedules"), ("best", "Best schedule"))  # shares of the bound
CURVES = {
    "gflownet": "unseen graphs",
    "gflownet_one_graph": "one graph",
    "gflownet_small_graph": "one small graph",
}


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables and figures by name."""
    trainings = {name: evidence.table("policy_trainings", name) for name in EXPERIMENTS}
    trained = {f"policies_training_{name}": (_curves, rows) for name, rows in trainings.items()}
    drawn = {}
    for name in EXPERIMENTS:
        for rank, bars in evidence.table("gantts", name).groupby("rank"):
            drawn[f"policies_gantt_{name}_{int(str(rank)) + 1}"] = (of_schedules.gantt, bars)
    figures = drawings(**trained, **drawn)
    said = {f"policies_training_{name}": f"Development graphs during training, {CURVES[name]}:" for name in EXPERIMENTS}
    said |= {name: "Schedules on the proxy; bars are operations, the dashed line is the bound:" for name in drawn}
    return {
        "changes": {
            set_label(name): _compared(of_set(evidence, experiment, name), _CHANGES)
            for experiment in EXPERIMENTS
            for name in sets(evidence, experiment)
            if _several(of_set(evidence, experiment, name), _CHANGES)
        },
        "networks": {
            set_label(name): _compared(of_set(evidence, SMALL_GRAPH, name), _NETWORKS)
            for name in sets(evidence, SMALL_GRAPH)
        },
        "curves": {name: said[name] for name in trained if name in figures},
        "gantts": {name: said[name] for name in drawn if name in figures},
        "figures": figures,
    }


def _several(rows: pd.DataFrame, names: tuple[str, ...]) -> bool:
    return rows.loc[rows["method"].isin(names), "method"].nunique() > 1


def _compared(rows: pd.DataFrame, names: tuple[str, ...]) -> Table:
    """Speedups on every target, mean of the kept and their diversity on the proxy."""
    shown: list[Column] = [
        METHOD,
        *speedups(targets(rows[rows["metric"] == "speedup"])),
        ("Mean of the kept, proxy", metric(lambda row: spread(row, two), "kept_speedup", target=PROXY, **KEPT)),
        *DIVERSITY,
    ]
    return table(shown, lines(rows[rows["method"].isin(names)], ["method"], {"method": names}), right=1)


def _curves(history: pd.DataFrame) -> Any:
    """Shares of the bound on development graphs, against steps."""
    measured = history[history["split"] == "development"]
    named = measured.assign(model=measured["model"].replace(_MODELS))
    return training(named, PANELS, COLOURS, of="graphs")
