"""The figure of time and memory on growing corpora."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from learned_schedulers.figures import subplots
from pipeline.lab.page.colours import GREEN, PALETTE
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.plots import Drawing, drawings, key, legend, logarithmic, thousands

_MOST_GIGABYTES = 2.5  # the goal


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """Time and memory by blocks, if they were measured."""
    return drawings(scale_blocks=(_growth, evidence.table("scale_sizes").sort_values("blocks")))


def _growth(sizes: pd.DataFrame) -> Figure:
    """Seconds and gigabytes against blocks; a dotted line shows growth in proportion."""
    with subplots(6.4, 3.1, 1, 2) as (figure, axes):
        left, right = axes[0]
        keys = []
        lines = {"seconds": "seconds", "processor_seconds": "seconds of the processor"}
        for colour, (name, text) in zip(PALETTE, lines.items(), strict=False):
            left.plot(sizes["blocks"], sizes[name], "-o", color=colour, markersize=4)
            keys.append(key(text, color=colour))
        last = sizes.iloc[-1]
        left.plot(sizes["blocks"], sizes["blocks"] * (last["processor_seconds"] / last["blocks"]), ":", color="#444444")
        keys.append(key("growth in proportion", color="#444444", linestyle=":"))
        right.plot(sizes["blocks"], sizes["peak_memory_gb"], "-o", color=GREEN, markersize=4)
        right.axhline(_MOST_GIGABYTES, color="#444444", linestyle="--", linewidth=1)
        keys += [key("gigabytes", color=GREEN), key("goal", color="#444444", linestyle="--")]
        logarithmic(left.yaxis, [10, 30, 100, 300, 1000, 3000])
        logarithmic(right.yaxis, [0.5, 1, 2, 4])
        right.yaxis.set_major_formatter("{x:g}")
        right.set_ylim(0.5, 4)
        for ax, title in ((left, "time"), (right, "memory")):
            logarithmic(ax.xaxis, 6)
            thousands(ax.xaxis)
            ax.set(xlabel="distinct blocks", title=title)
        legend(figure, keys, 3)
    return figure
