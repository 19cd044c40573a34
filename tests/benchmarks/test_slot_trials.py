"""Published numbers of the trials follow from their makespans; both operators are tried with the same networks."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import slot_trials
from pipeline.config.graph_methods import graph_entry
from pipeline.graphs.models.best_orders import BestOrder
from pipeline.graphs.schedulers.rules.settling import by_tails, makespan
from tests.graphs.models.small_jobs import problem


def graphs() -> list[BestOrder]:
    rng = np.random.default_rng(0)
    drawn = [problem(rng, n) for n in (6, 9, 12)]
    lists = [(graph, by_tails(graph)) for graph in drawn]
    return [
        BestOrder(f"{k:02x}", f"family_{k % 2}", graph, order, makespan(graph, order), makespan(graph, order))
        for k, (graph, order) in enumerate(lists)
    ]


def test_both_operators_are_tried_alike() -> None:
    networks = slot_trials.networks()
    changes = {name.partition("_")[2]: settings.model_dump(exclude={"operator"}) for name, settings in networks.items()}
    for name, settings in networks.items():
        operator, _, change = name.partition("_")
        assert settings.operator == operator and settings.model_dump(exclude={"operator"}) == changes[change]
    counts = [len(slot_trials.methods(f"{operator}_base")) for operator in slot_trials.OPERATORS]
    assert counts[0] == counts[1] > 1


def test_the_first_proposal_of_the_control_is_list_scheduling() -> None:
    ratios = slot_trials.proposed(graph_entry("randomised_list"), graphs(), 0)
    assert ratios.first == pytest.approx(np.zeros(3), abs=1e-12) and (ratios.best <= 1e-12).all()


def test_random_orders_are_legal_and_worse_at_first() -> None:
    ratios = slot_trials.random_orders(graphs(), 0)
    assert (ratios.best <= ratios.first).all() and ratios.first.max() > 0


def test_published_ratios_are_geometric_means() -> None:
    trials = {0: slot_trials.Makespans(np.log([0.5, 1.0, 2.0]), np.log([1.0, 1.0, 8.0]))}
    rows = slot_trials.rows_of("method", graphs(), trials, "slot_trials", "development_synthetic")
    assert [row["value"] for row in rows] == pytest.approx([1.0, 2.0])
    assert [row["metric"] for row in rows] == ["makespan", "first_makespan"] and {row["n"] for row in rows} == {3}
