"""Training curves of the policies, their schedules, and the effect of changes to training and network."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.lab.page import graph_pictures as pictures
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import of_set
from pipeline.lab.page.names import set_label
from pipeline.lab.page.panels import COLOURS
from pipeline.lab.page.plots import drawings, training
from pipeline.policies.page.shared import EXPERIMENTS, SMALL_GRAPH, compared, sets, with_extensions

# `gflownet`, and the same network with one setting of its training changed.
_CHANGES = ("gflownet", "gflownet_uniform", "ppo")
_NETWORKS = ("list_scheduling", "randomised_list", "gflownet", "gflownet_every_step")
MODELS = {"uniform": "gflownet_uniform", "robust": "gflownet_drawn", "every_step": "gflownet_every_step"}
MODELS |= {"larger": "gflownet_larger_drawn"}
PANELS = (("mean", "Mean of the schedules"), ("best", "Best schedule"))  # shares of the bound
CURVES = {  # the graphs that the policies of an experiment are trained for
    "gflownet": "unseen graphs",
    "gflownet_one_graph": "one graph",
    "gflownet_small_graph": "one small graph",
}


@with_extensions
def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables and figures by name."""
    trainings = {name: evidence.table("policy_trainings", name) for name in EXPERIMENTS}
    trained = {f"policies_training_{name}": (curves, rows) for name, rows in trainings.items()}
    drawn = {}
    for name in EXPERIMENTS:
        for rank, bars in evidence.table("gantts", name).groupby("rank"):
            drawn[f"policies_gantt_{name}_{int(str(rank)) + 1}"] = (pictures.gantt, bars)
    figures = drawings(**trained, **drawn)
    captions = {
        f"policies_training_{name}": f"Development graphs during training for {CURVES[name]}:" for name in EXPERIMENTS
    }
    captions |= {name: "Schedules on the proxy. Bars are operations; the dashed line is the bound:" for name in drawn}
    return {
        "changes": {
            set_label(name): compared(of_set(evidence, experiment, name), _CHANGES)
            for experiment in EXPERIMENTS
            for name in sets(evidence, experiment)
            if _several(of_set(evidence, experiment, name), _CHANGES)
        },
        "networks": {
            set_label(name): compared(of_set(evidence, SMALL_GRAPH, name), _NETWORKS)
            for name in sets(evidence, SMALL_GRAPH)
        },
        "curves": {name: captions[name] for name in trained if name in figures},
        "gantts": {name: captions[name] for name in drawn if name in figures},
        "figures": figures,
    }


def _several(rows: pd.DataFrame, names: tuple[str, ...]) -> bool:
    return rows.loc[rows["method"].isin(names), "method"].nunique() > 1


def curves(history: pd.DataFrame) -> Any:
    """Speedup on development graphs as a share of the bound, against steps."""
    measured = history[history["split"] == "development"]
    named = measured.assign(model=measured["model"].replace(MODELS))
    return training(named, PANELS, COLOURS, of="graphs")
