"""The figure of tuned programs: the time of each build over that of the project's own."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from learned_schedulers.figures import subplots
from pipeline.lab.page.colours import series
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import in_order
from pipeline.lab.page.plots import Drawing, downwards, drawings, key, legend, point, saving

_WAYS = {
    "tuned": "tuned",
    "better_compiler": "the better compiler",
    "pgo": "clang, PGO",
    "clang": "clang",
    "bolt": "GCC, BOLT",
    "tuned_upon_pgo": "tuned upon PGO",
}
_STYLES = series(_WAYS)
_APART = 0.12  # between the builds of a program


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """The figure of all programs."""
    rows = evidence.of("tuning")
    over_gcc = (rows["metric"] == "time") & (rows["baseline"] == "gcc") & (rows["set"] != "all")
    return drawings(tuning_programs=(_by_program, rows[over_gcc]))


def _by_program(rows: pd.DataFrame) -> Figure:
    """Time of each build over GCC's, by program; the program that tuning helps most comes first."""
    gains = rows[rows["method"] == "tuned"].set_index("set")["value"]
    names = in_order(rows["set"], gains.sort_values().index.tolist())
    ways = in_order(rows["method"], list(_WAYS))
    with subplots(8, 1.2 + 0.85 * len(names)) as (figure, axes):
        ax = axes[0, 0]
        for row in rows.to_dict("records"):
            height = -names.index(row["set"]) + _APART * ((len(ways) - 1) / 2 - ways.index(row["method"]))
            point(ax, row, height, 1.2, markersize=5, **_STYLES[row["method"]])
        downwards(ax, names, 0.6)
        saving(ax.xaxis)
        legend(figure, [key(_WAYS[way], **_STYLES[way]) for way in ways], 3)
    return figure
