"""The model card of the shipped network for whole graphs: what it is, how it was chosen and measured, its limits."""

from __future__ import annotations

import pandas as pd

from pipeline.config.whole_graph import Generalised
from pipeline.graphs.models.whole_graph.network import WholeGraph
from pipeline.report.devices.shared import METHOD
from pipeline.report.names import set_label
from pipeline.report.numbers import number
from pipeline.report.placement.shared import over
from pipeline.report.tables import Column, columns, lines, metric, of, table
from pipeline.report.templates import template
from pipeline.report.trainings import last_on_development, trainings

_RATIO = {"comparison": "ratio", "judge": "simulator"}
_BASELINES = {
    "go": "GO from scratch, 2,000 evaluations",
    "go_untaught_short": "random moves, 100",
    "go_short": "GO from scratch, 1,000",
}
TRAININGS = columns(number, value="Time over one device's, development graphs")


def best(histories: dict[str, pd.DataFrame]) -> dict[str, float]:
    """Seed -> the last measurement on development graphs, in ascending order.

    Raises ValueError where a training has none.
    """
    last = {seed: float(row["value"]) for seed, row in last_on_development(histories, "update").items()}
    return dict(sorted(last.items(), key=lambda pair: (pair[1], int(pair[0]))))


def card(
    file: str,
    network: WholeGraph,
    n_bytes: int,
    chosen: dict[str, float],
    trained: Generalised,
    results: pd.DataFrame,
) -> str:
    """The card as Markdown. chosen: from `best`; trained: settings; results: of methods that use the network."""
    shown: list[Column] = [("Graphs", of("set", set_label)), METHOD]
    shown += [
        (f"Against {text}", metric(over, "makespan", baseline=name, **_RATIO)) for name, text in _BASELINES.items()
    ]
    both_links = results[results["target"] == "all"]
    order = {"set": both_links["set"].unique(), "method": both_links["method"].unique()}
    return template("whole_graph_card.md.j2").render(
        file=file,
        network=network.settings,
        parameters=sum(weight.numel() for weight in network.parameters()),
        kilobytes=f"{n_bytes / 1e3:.0f}",
        trained=trained,
        n_trainings=len(chosen),
        trainings=trainings({seed: {"value": value} for seed, value in chosen.items()}, TRAININGS),
        measured=table(shown, lines(both_links, ["set", "method", "target"], order), right=2),
    )
