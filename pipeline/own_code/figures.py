"""The figure of users' code: cycles under both orders of memory."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from learned_schedulers.figures import subplots
from pipeline.lab.page.colours import series
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import in_order
from pipeline.lab.page.plots import Drawing, downwards, drawings, key, legend, point, saving
from pipeline.own_code.claims import PROCESSORS

_STYLES = series(("tso", "single_thread"))
_APART = 0.13  # between the two models of memory of a processor


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """The figure of the best method of each processor."""
    rows = evidence.of("own_cycles")
    ratios = (rows["metric"] == "cycles") & (rows["comparison"] == "ratio") & (rows["baseline"] == "gcc")
    return drawings(own_code_memory=(_by_memory, rows[ratios & (rows["method"] == "best")]))


def _by_memory(rows: pd.DataFrame) -> Figure:
    """The best method's cycles over GCC's on each processor, under both models of memory.

    `rows`: rows of table `results` of method `best`.
    """
    names = in_order(rows["target"], PROCESSORS)
    with subplots(7, 0.9 + 0.5 * len(names)) as (figure, axes):
        ax = axes[0, 0]
        for row in rows.to_dict("records"):
            height = -names.index(row["target"]) + (_APART if row["dependencies"] == "tso" else -_APART)
            point(ax, row, height, 1.6, markersize=6, **_STYLES[row["dependencies"]])
        downwards(ax, names)
        saving(ax.xaxis)
        legend(figure, [key(name, **style) for name, style in _STYLES.items()], 2)
    return figure
