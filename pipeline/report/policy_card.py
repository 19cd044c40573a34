"""What comes with the shipped policy: what it is, how it was chosen and measured, where it fails."""

from __future__ import annotations

from functools import partial

import pandas as pd

from pipeline.graphs.models.policy import Policy
from pipeline.report.names import label, set_label
from pipeline.report.numbers import number, percent, ratio
from pipeline.report.tables import Column, Line, columns, lines, metric, of, table
from pipeline.report.templates import template

_TARGETS = ("proxy", "noisy", "bandwidth", "latency")
_RATIO = {"comparison": "ratio", "baseline": "list_scheduling", "judge": "simulator", "decoder": "best"}
TRAININGS = [
    *columns(seed="Seed"),
    *columns(partial(number, digits=3), loss="Loss"),
    *columns(percent, best="Best speedup, share of the bound"),
    *columns(shipped="Shipped"),
]


def best(histories: dict[str, pd.DataFrame]) -> dict[str, pd.Series]:
    """Seed -> the last measurement on development graphs, that with the best schedules first.

    Raises ValueError where a training has none.
    """
    if unseen := sorted(seed for seed, rows in histories.items() if "development" not in set(rows["split"])):
        raise ValueError(f"seeds {', '.join(unseen)} were not measured on development graphs; train them again")
    last = {seed: rows[rows["split"] == "development"].sort_values("step").iloc[-1] for seed, rows in histories.items()}
    return dict(sorted(last.items(), key=lambda pair: (-pair[1]["best"], int(pair[0]))))


def card(
    file: str, policy: Policy, n_bytes: int, chosen: dict[str, pd.Series], results: pd.DataFrame, most: int
) -> str:
    """The card as Markdown. chosen: of `best`; results: rows of the methods that use the policy; most: operations."""
    seed = next(iter(chosen))
    trainings = [
        Line({"seed": name, "shipped": "yes" if name == seed else ""} | row.to_dict())
        for name, row in sorted(chosen.items(), key=lambda pair: int(pair[0]))
    ]
    shown: list[Column] = [("Graphs", of("set", set_label)), ("Method", of("method", label))]
    shown += [(target, metric(ratio, "makespan", target=target, **_RATIO)) for target in _TARGETS]
    order = {"set": results["set"].unique(), "method": results["method"].unique()}
    return template("policy_card.md.j2").render(
        file=file,
        network=policy.settings,
        parameters=sum(weight.numel() for weight in policy.parameters()),
        megabytes=f"{n_bytes / 1e6:.1f}",
        n_trainings=len(chosen),
        trainings=table(TRAININGS, trainings, right=1),
        measured=table(shown, lines(results, ["set", "method"], order), right=2),
        most=most,
    )
