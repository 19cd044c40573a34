"""Figures of schedules on several devices."""

from __future__ import annotations

import pandas as pd

from pipeline.lab.page import graph_pictures as pictures
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import OF_PAPER
from pipeline.lab.page.names import in_order
from pipeline.lab.page.plots import Drawing, drawings


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """The figures of `devices`, or of `devices_quick` without it."""
    experiment = next((name for name in ("devices", "devices_quick") if evidence.measured(name)), "devices")
    parts, points = evidence.table("parts", experiment), evidence.table("kept_points", experiment)
    gantts, curves = evidence.table("gantts", experiment), evidence.table("memory_curves", experiment)
    examples = {f"devices_gantt_{k}": (pictures.gantt, bars) for k, (_, bars) in enumerate(gantts.groupby("rank"), 1)}
    sets = evidence.settings(experiment).get("sets", ())
    executed = evidence.table("executed_points", "this_machine")
    judged = evidence.settings("this_machine").get("targets", ())
    return drawings(
        **examples,
        devices_memory=(pictures.memory, curves[curves["rank"] == 0]),
        devices_diversity=(pictures.diversity, _scattered(evidence.of(experiment))),
        devices_proxy=(pictures.proxy_against_target, points[points["kept_by"] == "best"]),
        devices_executed=(pictures.executed, executed, in_order(executed["target"], judged)),
        devices_anytime=(pictures.anytime, parts[(parts["by"] == "evaluations") & parts["set"].isin(sets[:1])]),
    )


def _scattered(rows: pd.DataFrame) -> pd.DataFrame:
    """Speedups, with a column `diversity`, of methods that propose several schedules and do not know the target."""
    of_set = rows[(rows["set"] == "unseen_synthetic") & (rows["decoder"] == "best")]
    distances = of_set[(of_set["metric"] == "diversity") & (of_set["value"] > 0)]
    distance_of = dict(zip(distances["method"], distances["value"], strict=True))
    speedups = of_set[(of_set["metric"] == "speedup") & of_set["method"].isin(set(distance_of))]
    speedups = speedups[~speedups["method"].str.endswith("_on_target") & speedups["target"].isin(OF_PAPER)]
    return speedups.assign(diversity=speedups["method"].map(distance_of))
