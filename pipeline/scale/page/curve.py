"""Time and memory of the pipeline on growing corpora, as published by benchmarks/blocks_scale.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from learned_schedulers.figures import subplots
from pipeline.lab.page.asked import Question, answered
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import mode
from pipeline.lab.page.numbers import count, number, two
from pipeline.lab.page.panels import COLOURS
from pipeline.lab.page.plots import drawings, key, legend, logarithmic, thousands
from pipeline.lab.page.tables import Column, Line, columns, of, records, table

QUESTIONS = {  # by claim
    "blocks_30_million_gigabytes": Question("How many gigabytes do 30 million blocks need?", two),
    "blocks_growth_exponent": Question("With which power of the blocks do the processor's seconds grow?", two),
}
_MOST_GIGABYTES = 2.5  # the goal
_PLANNED = 10**9  # blocks whose costs are computed from those of the largest corpus


def _per_block(name: str, unit: float) -> Column:
    headings = {"processor_seconds": "Processor, µs per block", "bytes_written": "Written, bytes per block"}
    return headings[name], lambda line: number(line[name] / line["blocks"] * unit, 1)


def _power(line: Line) -> str:
    """The exponent of growth of the processor's seconds from the next smaller corpus to this one."""
    return number(line["power"], 2)


def _jobs(line: Line) -> str:
    return f"{line['shards']} and {line['partitions']}"


SIZES: list[Column] = [
    *columns(count, blocks="Distinct blocks", instructions="Instructions"),
    ("Shards and partitions", _jobs),
    *columns(count, seconds="Seconds", processor_seconds="Processor seconds"),
    _per_block("processor_seconds", 1e6),
    ("Exponent from the size before", _power),
    *columns(two, peak_memory_gb="Peak memory, GB"),
]
RULES: list[Column] = [
    ("Rule", of("rule", mode)),
    *columns(count, jobs="Jobs", seconds="Seconds of its jobs", processor_seconds="Processor seconds"),
    _per_block("processor_seconds", 1e6),
    *columns(two, peak_memory_gb="Memory of a job, GB"),
    _per_block("bytes_written", 1),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables and figure; they are empty if the benchmark was not run."""
    sizes = evidence.table("scale_sizes").sort_values("blocks")
    steps = sizes[["blocks", "processor_seconds"]].astype(float).apply(np.log).diff()
    sizes = sizes.assign(power=steps["processor_seconds"] / steps["blocks"])
    rules = evidence.table("scale_rules")
    rules = rules[rules["blocks"] == rules["blocks"].max()]
    return {
        "questions": answered(evidence.claims, QUESTIONS),
        "sizes": table(SIZES, records(sizes), right=1),
        "rules": table(RULES, records(rules), right=1),
        "planned": _planned(sizes.iloc[-1], rules) if len(sizes) else {},
        "figures": drawings(scale_blocks=(growth, sizes)),
    }


def _planned(size: pd.Series, rules: pd.DataFrame) -> dict[str, str]:
    """What _PLANNED blocks would take, in proportion to the largest corpus and its rules.

    Seconds outside the rules are Snakemake's own, in one thread; it checks the digests of what its jobs read.
    """
    times = _PLANNED / size["blocks"]
    between_jobs = size["processor_seconds"] - rules["processor_seconds"].sum()
    return {
        "blocks": count(_PLANNED),
        "hours": number(size["processor_seconds"] * times / 3600, 1),
        "serial": number((rules["serial_seconds"].sum() + between_jobs) * times / 3600, 1),
        "written": number(rules["bytes_written"].sum() * times / 1e12, 2),
    }


def growth(sizes: pd.DataFrame) -> Figure:
    """Seconds and gigabytes against blocks; a dotted line shows growth in proportion."""
    with subplots(6.4, 3.1, 1, 2) as (figure, axes):
        left, right = axes[0]
        keys = []
        for colour, (name, text) in zip(
            COLOURS, {"seconds": "seconds", "processor_seconds": "seconds of the processor"}.items(), strict=False
        ):
            left.plot(sizes["blocks"], sizes[name], "-o", color=colour, markersize=4)
            keys.append(key(text, color=colour))
        last = sizes.iloc[-1]
        left.plot(sizes["blocks"], sizes["blocks"] * (last["processor_seconds"] / last["blocks"]), ":", color="#444444")
        keys.append(key("growth in proportion", color="#444444", linestyle=":"))
        right.plot(sizes["blocks"], sizes["peak_memory_gb"], "-o", color=COLOURS[2], markersize=4)
        right.axhline(_MOST_GIGABYTES, color="#444444", linestyle="--", linewidth=1)
        keys += [key("gigabytes", color=COLOURS[2]), key("goal", color="#444444", linestyle="--")]
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
