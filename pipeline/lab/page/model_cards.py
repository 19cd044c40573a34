"""The shipped networks: how the training of each is chosen, and the model card beside its file of weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from learned_schedulers.blocks.methods.on_machine import choice, guessing
from learned_schedulers.blocks.models import ordering_network
from learned_schedulers.blocks.models.ordering_network import OrderingNetwork
from learned_schedulers.blocks.order.methods import GUESS
from learned_schedulers.graphs import models
from learned_schedulers.graphs.models import policy, whole_graph
from learned_schedulers.graphs.models.whole_graph import network as whole_graph_network
from learned_schedulers.projects import models as project_models
from learned_schedulers.projects.models import candidate_policy, candidates
from pipeline.lab.page.graphs import LIST, METHOD, OF_PAPER, over
from pipeline.lab.page.names import decoder_label, set_label
from pipeline.lab.page.numbers import count, number, percent, ratio
from pipeline.lab.page.tables import Column, Line, Table, columns, lines, measured, metric, of, table, value
from pipeline.lab.page.templates import template

_BASELINES = {"best": "the best known", "go_untaught": "random moves", "doppler": "DOPPLER", "placed_heft": "HEFT"}


@dataclass(frozen=True)
class Shipped:
    """A network in the package. Its card is the template `<kind>_card.md.j2`."""

    file: Path
    load: Callable[[Path], Any]
    history: str  # table of its trainings
    weights: str  # kind of place of their weights (places.py)
    best_by: str  # the history's column by which a training is chosen, on development rows
    trainings: list[Column]  # the card's columns of every training
    measured: Callable[[pd.DataFrame], Table] | None = None  # the card's table of results
    counter: str | None = None  # a training is judged by its last row by this column; None: by its lowest one
    highest: bool = False  # whether the highest number is the best

    def best(self, histories: Mapping[str, pd.DataFrame]) -> dict[str, pd.Series]:
        """Seed -> the row by which its training is judged; the best seed is first.

        Raises ValueError where a training has no row on the development set.
        """
        chosen = {}
        for seed, rows in histories.items():
            rows = rows[rows["split"] == "development"]
            if rows.empty:
                raise ValueError(f"seed {seed} was not measured on development graphs or blocks; train it again")
            if self.counter is None:
                chosen[seed] = rows.sort_values(self.best_by, kind="stable").iloc[0]
            else:
                chosen[seed] = rows.sort_values(self.counter).iloc[-1]
        sign = -1 if self.highest else 1
        return dict(sorted(chosen.items(), key=lambda pair: (sign * pair[1][self.best_by], int(pair[0]))))


def _measured_imitator(results: pd.DataFrame) -> Table:
    shown: list[Column] = [
        ("Blocks", of("set", set_label)),
        ("Decoder", of("decoder", decoder_label)),
        *measured("exact_match", "kendall_tau_distance", "valid_share"),
        ("Number", value(count, "exact_match", "n")),
    ]
    shipped = results[~results["decoder"].isin(("sample", "none"))]
    order = {"set": shipped["set"].unique(), "decoder": shipped["decoder"].unique()}
    return table(shown, lines(shipped, ["set", "decoder"], order, {"metric": "exact_match"}), right=2)


def _measured_policy(results: pd.DataFrame) -> Table:
    best = {"comparison": "ratio", "baseline": LIST, "judge": "simulator", "decoder": "best"}
    shown: list[Column] = [("Graphs", of("set", set_label)), METHOD]
    shown += [(target, metric(ratio, "makespan", target=target, **best)) for target in OF_PAPER]
    order = {"set": results["set"].unique(), "method": results["method"].unique()}
    return table(shown, lines(results, ["set", "method"], order), right=2)


def _measured_whole_graph(results: pd.DataFrame) -> Table:
    against = {"comparison": "ratio", "judge": "simulator"}
    shown: list[Column] = [("Graphs", of("set", set_label)), METHOD]
    shown += [
        (f"Against {text}", metric(over, "makespan", baseline=name, **against)) for name, text in _BASELINES.items()
    ]
    both_links = results[(results["target"] == "all") & (results["iterations"] == "none")]
    order = {"set": both_links["set"].unique(), "method": both_links["method"].unique()}
    return table(shown, lines(both_links, ["set", "method", "target"], order), right=2)


_OF_ORDERS = [
    *columns(count, step="Best at step"),
    *columns(partial(number, digits=4), loss="Loss"),
    *columns(percent, exact_match="Exact match of development blocks"),
]
SHIPPED: dict[str, Shipped] = {
    "imitator": Shipped(
        ordering_network.SHIPPED, OrderingNetwork.load, "history", "weights", "loss", _OF_ORDERS, _measured_imitator
    ),
    "schedulers": Shipped(
        GUESS,
        guessing.load,
        "guess_history",
        "weights",
        "gap",
        columns(partial(percent, digits=2), gap="Cycles over the best orders', development blocks"),
        counter="round",
    ),
    "policy": Shipped(
        models.SHIPPED,
        policy.load,
        "policy_history",
        "network_weights",
        "best",
        [*columns(number, loss="Loss"), *columns(percent, best="Best speedup, share of the bound")],
        _measured_policy,
        counter="step",
        highest=True,
    ),
    "whole_graph": Shipped(
        whole_graph.SHIPPED,
        whole_graph_network.load,
        "whole_graph_history",
        "network_weights",
        "value",
        columns(number, value="Time over one device's, development graphs"),
        _measured_whole_graph,
        counter="update",
    ),
    "job_shop": Shipped(
        project_models.SHIPPED,
        candidate_policy.load,
        "job_shop_history",
        "network_weights",
        "ratio",
        columns(number, ratio="Makespan over a lower bound, first choices"),
        counter="step",
    ),
}


def card(
    kind: str,
    network: Any,
    n_bytes: int,
    chosen: Mapping[str, pd.Series],
    results: pd.DataFrame | None = None,
    **facts: object,
) -> str:
    """The card as Markdown.

    network: the shipped one; n_bytes: of its file; chosen: from `Shipped.best`; results: rows of methods that use it;
    facts: what else the template tells.
    """
    shipped = SHIPPED[kind]
    if shipped.measured is not None and results is not None:
        facts["measured"] = shipped.measured(results)
    return template(f"{kind}_card.md.j2").render(
        file=shipped.file.name,
        network=getattr(network, "settings", None),
        parameters=_parameters(network),
        features=choice.FEATURES,
        numbers=candidates.FEATURES,
        tokens=len(network.vocabulary) if isinstance(network, OrderingNetwork) else 0,
        megabytes=f"{n_bytes / 1e6:.1f}",
        kilobytes=f"{n_bytes / 1e3:.0f}",
        seed=next(iter(chosen)),
        n_trainings=len(chosen),
        trainings=trainings(chosen, shipped.trainings),
        **facts,
    )


def _parameters(network: Any) -> int:
    if isinstance(network, tuple):  # arrays of a network that runs without torch
        return sum(part.size for part in network)
    return sum(weight.numel() for weight in network.parameters())


def trainings(chosen: Mapping[str, pd.Series], shown: Sequence[Column]) -> Table:
    """A line for each seed with the columns `shown`; `chosen` has the shipped seed first."""
    shipped = next(iter(chosen))
    seeds = [
        Line({**row.to_dict(), "seed": seed, "shipped": "yes" if seed == shipped else ""})
        for seed, row in sorted(chosen.items(), key=lambda pair: int(pair[0]))
    ]
    return table([*columns(seed="Seed"), *shown, *columns(shipped="Shipped")], seeds, right=1)
