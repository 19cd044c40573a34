"""The figure of speedups by the size of a state."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter

from pipeline.lab.page.colours import series
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.plots import Drawing, curve, drawings, logarithmic, panels


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """Speedups of fused steps, if they were measured."""
    rows = evidence.of("data_collection")
    return drawings(collection_sizes=(_by_size, rows[(rows["set"] == "sizes") & (rows["metric"] == "speedup")]))


def _by_size(rows: pd.DataFrame) -> Figure:
    """Speedup over one step per call by the size of a state; a line for each number of fused steps."""
    fused = sorted(set(rows["iterations"]), key=int)
    names = {number: f"{number} steps fused" if number != "1" else "one step" for number in fused}
    style = series(names.values())
    with panels(["all"], 1, 6, 3.4, style, 4, markersize=5) as (figure, (ax,)):
        for number, name in names.items():
            line = rows[rows["iterations"] == number]
            line = line.assign(size=line["lengths"].astype(int)).sort_values("size")
            curve(ax, line["size"], line, 1.2, markersize=5, **style[name])
        sizes = sorted({int(size) for size in rows["lengths"]})
        logarithmic(ax.xaxis, sizes)
        written = [f"{size // 1024} KB" if size >= 1024 else f"{size} B" for size in sizes]
        ax.xaxis.set_major_formatter(FixedFormatter(written))
        ax.set(xlabel="size of a state", ylabel="speedup over one step per call", ylim=(0, None))
    return figure
