"""What comes with the shipped network for whole graphs: what it is, how it was chosen and measured, where it fails."""

from __future__ import annotations

import pandas as pd

from pipeline.config.whole_graph import Generalised
from pipeline.graphs.models.whole_graph.network import WholeGraph
from pipeline.report.names import label, set_label
from pipeline.report.numbers import number
from pipeline.report.placement.shared import over
from pipeline.report.tables import Column, Line, columns, lines, metric, of, table
from pipeline.report.templates import template

_RATIO = {"comparison": "ratio", "judge": "simulator"}
_BASELINES = {
    "go": "GO from scratch, 2,000 evaluations",
    "go_untaught_short": "random moves, 100",
    "go_short": "GO from scratch, 1,000",
}
TRAININGS = [
    *columns(seed="Seed"),
    *columns(lambda value: number(value, 3), value="Time over one device's, development graphs"),
    *columns(shipped="Shipped"),
]


def best(histories: dict[str, pd.DataFrame]) -> dict[str, float]:
    """Seed -> the last measurement on development graphs, the least first.

    Raises ValueError where a training has none.
    """
    if unseen := sorted(seed for seed, rows in histories.items() if "development" not in set(rows["split"])):
        raise ValueError(f"seeds {', '.join(unseen)} were not measured on development graphs; train them again")
    last = {
        seed: float(rows[rows["split"] == "development"].sort_values("update")["value"].iloc[-1])
        for seed, rows in histories.items()
    }
    return dict(sorted(last.items(), key=lambda pair: (pair[1], int(pair[0]))))


def card(
    file: str,
    network: WholeGraph,
    n_bytes: int,
    chosen: dict[str, float],
    trained: Generalised,
    results: pd.DataFrame,
) -> str:
    """The card as Markdown. chosen: of `best`; trained: how; results: rows of the methods that use the network."""
    seed = next(iter(chosen))
    trainings = [
        Line({"seed": name, "value": value, "shipped": "yes" if name == seed else ""})
        for name, value in sorted(chosen.items(), key=lambda pair: int(pair[0]))
    ]
    shown: list[Column] = [("Graphs", of("set", set_label)), ("Method", of("method", label))]
    shown += [(f"Over {said}", metric(over, "makespan", baseline=name, **_RATIO)) for name, said in _BASELINES.items()]
    both = results[results["target"] == "all"]
    order = {"set": both["set"].unique(), "method": both["method"].unique()}
    return template("whole_graph_card.md.j2").render(
        file=file,
        network=network.settings,
        parameters=sum(weight.numel() for weight in network.parameters()),
        kilobytes=f"{n_bytes / 1e3:.0f}",
        trained=trained,
        n_trainings=len(chosen),
        trainings=table(TRAININGS, trainings, right=1),
        measured=table(shown, lines(both, ["set", "method", "target"], order), right=2),
    )
