"""The model card of the shipped imitator: what it is, how it was chosen and measured, where it fails."""

from __future__ import annotations

from functools import partial

import pandas as pd

from pipeline.blocks.models.ordering_network import OrderingNetwork
from pipeline.report.names import decoder_label, set_label
from pipeline.report.numbers import count, number, percent
from pipeline.report.tables import Column, columns, lines, measured, of, table, value
from pipeline.report.templates import template
from pipeline.report.trainings import trainings

MEASURED: list[Column] = [
    ("Blocks", of("set", set_label)),
    ("Decoder", of("decoder", decoder_label)),
    *measured("exact_match", "kendall_tau_distance", "valid_share"),
    ("Number", value(count, "exact_match", "n")),
]
TRAININGS = [
    *columns(count, step="Best at step"),
    *columns(partial(number, digits=4), loss="Loss"),
    *columns(percent, exact_match="Exact match of development blocks"),
]


def best(histories: dict[str, pd.DataFrame]) -> dict[str, pd.Series]:
    """Seed -> its measurement with the lowest development loss; seeds are sorted by that loss."""
    development = {seed: rows[rows["split"] == "development"] for seed, rows in histories.items()}
    lowest = {seed: rows.sort_values("loss", kind="stable").iloc[0] for seed, rows in development.items()}
    return dict(sorted(lowest.items(), key=lambda pair: (pair[1]["loss"], int(pair[0]))))


def card(
    file: str,
    network: OrderingNetwork,
    n_bytes: int,
    chosen: dict[str, pd.Series],
    results: pd.DataFrame,
    n_blocks: int,
    sources: list[str],
) -> str:
    """The card as Markdown. `chosen`: result of `best`, the shipped seed first; `results`: rows of the model."""
    seed = next(iter(chosen))
    shipped = results[(results["seed"] == seed) & ~results["decoder"].isin(("sample", "none"))]
    order = {"set": shipped["set"].unique(), "decoder": shipped["decoder"].unique()}
    return template("model_card.md.j2").render(
        file=file,
        network=network.settings,
        parameters=sum(weight.numel() for weight in network.parameters()),
        megabytes=f"{n_bytes / 1e6:.1f}",
        tokens=len(network.vocabulary),
        seed=seed,
        n_trainings=len(chosen),
        trainings=trainings({name: row.to_dict() for name, row in chosen.items()}, TRAININGS),
        measured=table(MEASURED, lines(shipped, ["set", "decoder"], order, {"metric": "exact_match"}), right=2),
        blocks=n_blocks,
        sources=sources,
    )
