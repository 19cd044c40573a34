"""The model card of the shipped policy: what it is, how it was chosen and measured, its limits."""

from __future__ import annotations

import pandas as pd

from pipeline.graphs.models.policy import Policy
from pipeline.report.devices.shared import LIST, METHOD, OF_PAPER
from pipeline.report.names import set_label
from pipeline.report.numbers import number, percent, ratio
from pipeline.report.tables import Column, columns, lines, metric, of, table
from pipeline.report.templates import template
from pipeline.report.trainings import last_on_development, trainings

_RATIO = {"comparison": "ratio", "baseline": LIST, "judge": "simulator", "decoder": "best"}
TRAININGS = [
    *columns(number, loss="Loss"),
    *columns(percent, best="Best speedup, share of the bound"),
]


def best(histories: dict[str, pd.DataFrame]) -> dict[str, pd.Series]:
    """Seed -> the last measurement on development graphs; the seed with the best schedules is first.

    Raises ValueError where a training has none.
    """
    last = last_on_development(histories, "step")
    return dict(sorted(last.items(), key=lambda pair: (-pair[1]["best"], int(pair[0]))))


def card(
    file: str, policy: Policy, n_bytes: int, chosen: dict[str, pd.Series], results: pd.DataFrame, most: int
) -> str:
    """The card as Markdown. chosen: from `best`; results: of methods that use the policy; most: most operations."""
    shown: list[Column] = [("Graphs", of("set", set_label)), METHOD]
    shown += [(target, metric(ratio, "makespan", target=target, **_RATIO)) for target in OF_PAPER]
    order = {"set": results["set"].unique(), "method": results["method"].unique()}
    return template("policy_card.md.j2").render(
        file=file,
        network=policy.settings,
        parameters=sum(weight.numel() for weight in policy.parameters()),
        megabytes=f"{n_bytes / 1e6:.1f}",
        n_trainings=len(chosen),
        trainings=trainings({seed: row.to_dict() for seed, row in chosen.items()}, TRAININGS),
        measured=table(shown, lines(results, ["set", "method"], order), right=2),
        most=most,
    )
