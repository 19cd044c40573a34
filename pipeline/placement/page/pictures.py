"""Figures of placed schedules: devices over the graph, timelines, memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from learned_schedulers.figures import subplots
from pipeline.lab.page import graph_pictures as pictures
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import label
from pipeline.lab.page.panels import COLOURS
from pipeline.lab.page.plots import drawings, key, legend
from pipeline.placement.page.shared import FOUR


def section(evidence: Evidence) -> dict[str, Any]:
    """Figures of the graph that is shown, with its name and link."""
    drawn = evidence.table("placed_operations", FOUR)
    figures = drawings(
        placement_graph=(over_the_graph, drawn),
        placement_timeline=(pictures.gantt, drawn),
        placement_memory=(pictures.memory, evidence.table("memory_curves", FOUR)),
    )
    caption = "" if drawn.empty else f"{drawn['graph'].iloc[0]}, {drawn['link'].iloc[0]}"
    return {"figures": figures, "of": caption}


def over_the_graph(operations: pd.DataFrame) -> Figure:
    """Each operation at its depth in the graph, coloured by its device; a panel for each method."""
    schedules = list(operations.sort_values(["place", "operation"]).groupby("place"))
    widest = operations.groupby(["place", "depth"])["row"].transform("max") + 1
    operations = operations.assign(height=operations["row"] - (widest - 1) / 2)
    with subplots(9, 0.9 + 1.7 * len(schedules), len(schedules)) as (figure, axes):
        for ax, (place, _) in zip(axes[:, 0], schedules, strict=True):
            schedule = operations[operations["place"] == place]
            tints = np.array(COLOURS)[schedule["device"].to_numpy() % len(COLOURS)]
            ax.scatter(schedule["depth"], schedule["height"], s=5, c=tints, linewidths=0)
            ax.set_title(label(schedule["method"].iloc[0]))
            ax.set_yticks([])
            ax.grid(visible=False)
        axes[-1, 0].set_xlabel("depth in the graph: operations on the longest path before it")
        devices = sorted(set(operations["device"]))
        keys = [key(f"device {k}", color=COLOURS[k % len(COLOURS)], marker="o", linestyle="") for k in devices]
        legend(figure, keys, len(keys))
    return figure
