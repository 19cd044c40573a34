"""What comes with shipped weights: what they are, how they were chosen and measured, where they fail."""

from __future__ import annotations

import pandas as pd

from pipeline.blocks.models.ordering_network import OrderingNetwork
from pipeline.report.imitation.rows import decoder_label, set_label
from pipeline.report.numbers import count, number, percent, with_interval
from pipeline.report.templates import template

_METRICS = ("exact_match", "kendall_tau_distance", "valid_share")


def best(histories: dict[str, pd.DataFrame]) -> dict[str, pd.Series]:
    """Seed -> the measurement with the lowest loss on the development blocks, the lowest seed first."""
    development = {seed: rows[rows["split"] == "development"] for seed, rows in histories.items()}
    found = {seed: rows.sort_values("loss", kind="stable").iloc[0] for seed, rows in development.items()}
    return dict(sorted(found.items(), key=lambda pair: (pair[1]["loss"], int(pair[0]))))


def card(
    file: str,
    network: OrderingNetwork,
    n_bytes: int,
    chosen: dict[str, pd.Series],
    results: pd.DataFrame,
    n_blocks: int,
    sources: list[str],
) -> str:
    """The card as Markdown. `chosen`: of `best`, the shipped seed first; `results`: table of the model, all seeds."""
    seed = next(iter(chosen))
    own = results[(results["seed"] == seed) & ~results["decoder"].isin(("sample", "none"))]
    found = {(row["split"], row["decoder"], row["metric"]): row for _, row in own.iterrows()}
    places = dict.fromkeys((split, decoder) for split, decoder, _ in found)
    measured = [
        [set_label(split), decoder_label(decoder)]
        + [with_interval(metric, found[split, decoder, metric]) for metric in _METRICS]
        + [count(found[split, decoder, "exact_match"]["n_blocks"])]
        for split, decoder in places
    ]
    trainings = [
        [of, count(row["step"]), number(row["loss"], 4), percent(row["exact_match"]), "yes" if of == seed else ""]
        for of, row in sorted(chosen.items(), key=lambda pair: int(pair[0]))
    ]
    return template("model_card.md.j2").render(
        file=file,
        network=network.settings,
        parameters=sum(weight.numel() for weight in network.parameters()),
        megabytes=f"{n_bytes / 1e6:.1f}",
        tokens=len(network.vocabulary),
        seed=seed,
        trainings=trainings,
        measured=measured,
        blocks=n_blocks,
        sources=sources,
    )
