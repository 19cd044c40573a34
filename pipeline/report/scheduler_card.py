"""The model card of the shipped policies and the shipped network that order blocks for processors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from pipeline.blocks.models.ordering_network import OrderingNetwork
from pipeline.blocks.schedulers.on_machine.preference import FEATURES
from pipeline.report.model_card import TRAININGS
from pipeline.report.numbers import number
from pipeline.report.tables import Column, Line, columns, of, table
from pipeline.report.templates import template
from pipeline.report.trainings import trainings


def card(
    network: OrderingNetwork,
    n_bytes: int,
    chosen: dict[str, pd.Series],
    policies: Mapping[str, np.ndarray],
    n_blocks: Mapping[str, int],
    sources: Sequence[str],
) -> str:
    """The card as Markdown.

    chosen: result of `model_card.best`, the shipped seed first; policies: processor -> weights (F,) of FEATURES;
    n_blocks: number of training blocks of `network` and of `policy`.
    """
    shown: list[Column] = [("Feature", of("feature")), *columns(number, **{name: name for name in policies})]
    lines = [
        Line({"feature": feature} | {name: weights[k] for name, weights in policies.items()})
        for k, feature in enumerate(FEATURES)
    ]
    return template("scheduler_card.md.j2").render(
        network=network.settings,
        parameters=sum(weight.numel() for weight in network.parameters()),
        megabytes=f"{n_bytes / 1e6:.1f}",
        tokens=len(network.vocabulary),
        n_trainings=len(chosen),
        trainings=trainings({seed: row.to_dict() for seed, row in chosen.items()}, TRAININGS),
        processors=list(policies),
        preferences=table(shown, lines, right=1),
        blocks=n_blocks,
        sources=sources,
    )
