"""SAGA's schedulers beside ours, and the graphs that are worst for ours (frozen)."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from pipeline.lab.page.asked import Question, answered
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import LIST, two_digits
from pipeline.lab.page.names import in_order, label, set_label, spelt
from pipeline.lab.page.numbers import count, two
from pipeline.lab.page.panels import panels, styles
from pipeline.lab.page.plots import drawings
from pipeline.lab.page.tables import Cell, Column, Table, lines, metric, of, ranked, table, value

EXPERIMENT, ADVERSARIAL = "saga_peers", "adversarial_small"
QUESTIONS = {  # by claim
    "outside_heft_differs_from_saga": Question("How many of SAGA's HEFT's schedules differ, unexplained?", count),
}
_SAGA = "saga_"
_SETS = ("unseen_real", "unseen_small")
_TARGETS = ("bandwidth", "latency", "pcie", "nvlink")
_OPTIMUM = {"comparison": "ratio", "baseline": "optimum", "judge": "simulator"}
_EQUALITY: list[Column] = [
    ("Target", of("target")),
    ("Graphs", value(count, "makespans_differ", "n", baseline="heft")),
    ("Makespans differ", value(count, "makespans_differ", baseline="heft")),
    ("with the same mean transfer in the ranks", value(count, "makespans_differ_with_one_mean", baseline="heft")),
    ("and ties broken alike: schedules differ", value(count, "schedules_differ_unexplained", baseline="heft")),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """Tables and a figure by name; they are empty if the benchmark was not run."""
    rows = evidence.of(EXPERIMENT)
    equality, to_list = rows[rows["baseline"] == "heft"], rows[rows["baseline"] == LIST]
    sets = in_order(to_list["set"], _SETS)
    parts = evidence.table("parts", EXPERIMENT)
    parts = parts[parts["by"] == "searched_for"] if len(parts) else parts
    adversarial = rows[rows["set"] == ADVERSARIAL]
    return {
        "questions": answered(evidence.claims, QUESTIONS),
        "equality": table(_EQUALITY, lines(equality, ["target"], {"target": (*_TARGETS, "all")}), right=1),
        "to_list": {set_label(name): _to_list(to_list[to_list["set"] == name]) for name in sets},
        "worst": _worst(adversarial, parts),
        "graphs": int(adversarial["n"].max()) if len(adversarial) else 0,
        "figures": drawings(outside_worst_graphs=(worst_graphs, parts[~parts["method"].str.startswith(_SAGA)])),
    }


def name_of(method: str) -> str:
    """SAGA's schedulers with their owner: `saga_heft` -> `SAGA, HEFT`."""
    if not method.startswith(_SAGA):
        return label(method)
    words = method.removeprefix(_SAGA)
    return f"SAGA, {words.upper() if len(words) <= 4 else spelt(words)}"  # the short ones are abbreviations


def _to_list(rows: pd.DataFrame) -> Table:
    """Ratios to list scheduling, a column for each target; the first one ranks the methods."""
    query = {"comparison": "ratio", "baseline": LIST, "judge": "simulator"}
    targets = in_order(rows["target"], _TARGETS)
    shown: list[Column] = [("Method", of("method", name_of))]
    shown += [(target, metric(two_digits, "makespan", target=target, **query)) for target in targets]
    return table(shown, ranked(lines(rows, ["method"]), metric="makespan", target=targets[0], **query), right=1)


def _worst(rows: pd.DataFrame, parts: pd.DataFrame) -> Table:
    """Makespans over the optimum: over all graphs, on the worst one, and on those that were searched for the method."""
    own_graphs = {part["method"]: part for part in parts[parts["part"] == parts["method"]].to_dict("records")}

    def on_its_graphs(column: str) -> Cell:
        return lambda line: two(own_graphs[line["method"]][column]) if line["method"] in own_graphs else "-"

    shown: list[Column] = [
        ("Method", of("method", name_of)),
        ("Over the optimum", metric(two_digits, "makespan", **_OPTIMUM)),
        ("On the worst graph", value(two, "worst_ratio", **_OPTIMUM)),
        ("On those searched for it", on_its_graphs("value")),
        ("The worst of them", on_its_graphs("high")),
    ]
    return table(shown, ranked(lines(rows, ["method"]), metric="makespan", **_OPTIMUM), right=1)


def worst_graphs(parts: pd.DataFrame) -> Figure:
    """A panel for each method that graphs were searched for: what every method of ours takes on them.

    A mark is the mean over the graphs, its line reaches from the least to the largest.
    """
    searched = parts.sort_values("rank")["part"].drop_duplicates().tolist()
    names = [*searched, *sorted({*parts["method"]} - {*searched})]
    style = styles(names)
    with panels(searched, 5, 1.7, 2.4, style, 5, linestyle="") as (figure, axes):
        for ax, of_method in zip(axes, searched, strict=True):
            for line in parts[parts["part"] == of_method].to_dict("records"):
                place, mark = names.index(line["method"]), style[line["method"]]
                ax.vlines(place, line["low"], line["high"], color=mark["color"], linewidth=1.2)
                ax.plot(place, line["value"], markersize=6, linestyle="", **mark)
            ax.set(title=f"worst for\n{label(of_method)}", xticks=[], xlim=(-0.5, len(names) - 0.5))
            ax.set_ylim(0.95, 1.05 * parts["high"].max())
        for ax in axes[1:]:
            ax.set_yticklabels([])
        axes[0].set_ylabel("makespan over the optimum")
    return figure
