"""Learning from other graphs: training curves, and their effect on unseen graphs."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from learned_schedulers.figures import subplots
from pipeline.fusion.page.shared import ALONE, DEFAULT, DEVELOPMENT, FUSION, OVER, UNSEEN, over
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import METHOD, of_set
from pipeline.lab.page.names import label
from pipeline.lab.page.panels import COLOURS
from pipeline.lab.page.plots import drawings, key, legend, shares
from pipeline.lab.page.tables import Column, Table, filled, lines, metric, table

_UNTAUGHT = "go_fusion_untaught"
_COMPARED = ("go_fusion_zero_shot", "go_fusion_fine_tuned", "go_fusion", _UNTAUGHT, "fusion_annealing")
_BASELINES = {DEFAULT: "the best default", _UNTAUGHT: "GO untaught", "fusion_annealing": "annealing"}


def section(evidence: Evidence) -> dict[str, Any]:
    """The table of methods with and without learning, and the training curves."""
    controls = of_set(evidence, DEVELOPMENT, DEVELOPMENT)
    return {
        "worth": _worth(of_set(evidence, FUSION, UNSEEN)),
        "figures": drawings(
            fusion_training=(training, evidence.table("whole_graph_trainings", FUSION), untaught(controls))
        ),
    }


def untaught(rows: pd.DataFrame) -> float | None:
    """Run time of the control without learning over the best default's, on development graphs."""
    query = {**OVER, "method": _UNTAUGHT, "metric": "run_time", "baseline": DEFAULT, "target": ALONE}
    for column, name in query.items():
        rows = rows[rows[column] == name]
    return None if rows.empty else float(rows["value"].iloc[0])


def _worth(rows: pd.DataFrame) -> Table:
    """Methods that learned, against the best default and controls without learning; whole unseen graphs."""
    chosen = rows[rows["method"].isin(_COMPARED)]
    query = {**OVER, "target": ALONE}
    shown: list[Column] = [METHOD]
    shown += [
        (f"Against {text}", metric(over, "run_time", baseline=name, **query)) for name, text in _BASELINES.items()
    ]
    return filled(table(shown, lines(chosen, ["method"], {"method": _COMPARED}), right=1))


def training(history: pd.DataFrame, control: float | None) -> Figure:
    """Development and training graphs by updates; lines are seeds, the dashed line is the control without learning."""
    panels = {
        "development": "Development: time over the best default's",
        "training": "Training: share saved by a round",
    }
    tints = dict(zip(sorted(set(history["seed"])), COLOURS, strict=False))
    with subplots(9, 3.4, 1, len(panels)) as (figure, axes):
        for ax, (split, title) in zip(axes[0], panels.items(), strict=True):
            for seed, rows in history[history["split"] == split].groupby("seed"):
                ax.plot(rows["update"], rows["value"], "-o", markersize=3, linewidth=1.2, color=tints[seed])
            ax.set(title=title, xlabel="updates")
            ax.xaxis.set_major_locator(MaxNLocator(6))
        axes[0, 0].axhline(1, color="#444444", linewidth=0.8)
        axes[0, 1].set_yscale("log", nonpositive="mask")
        shares(axes[0, 1].yaxis)
        keys = [key(f"seed {seed}", color=tint, marker="o", markersize=3) for seed, tint in tints.items()]
        if control is not None:
            axes[0, 0].axhline(control, color="#444444", linestyle="--", linewidth=1.2)
            keys.append(key(f"{label(_UNTAUGHT)}, 1,000 evaluations", color="#444444", linestyle="--"))
        legend(figure, keys, 6)
    return figure
