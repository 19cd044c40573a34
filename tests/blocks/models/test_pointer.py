"""Pointer decoding: the features at every step, and orders from the beam, against slow definitions."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import torch

from learned_schedulers.blocks.dag.topology import count_violations
from learned_schedulers.blocks.models.decoders import DECODERS
from learned_schedulers.blocks.models.issue import STEP_FEATURES, decisions
from learned_schedulers.blocks.models.pointer import Pointer
from learned_schedulers.blocks.problems.relations import relations
from tests.blocks.models import imitated

N = 6
STORE, ENCODINGS, SAMPLE = imitated.corpus(60, shortest=N, longest=N)
PROBLEMS = STORE.problems(SAMPLE.rows, np.stack(SAMPLE.orders))
RELATED = relations(PROBLEMS, ENCODINGS.compared)
GCC = np.argsort(np.stack(SAMPLE.orders), 1)
STARTS = np.cumsum(list(STEP_FEATURES.values())) - list(STEP_FEATURES.values())


@pytest.fixture
def pointer() -> Pointer:
    torch.manual_seed(0)
    head = Pointer(8, imitated.settings().head.model_copy(update={"beam": 400}))
    torch.nn.init.normal_(head.weight, std=2.0)  # clear preferences
    return head


@pytest.fixture
def embedded() -> torch.Tensor:
    return torch.randn(len(PROBLEMS), N, 8, generator=torch.Generator().manual_seed(1))


def legal(b: int) -> list[np.ndarray]:
    orders = np.array(list(permutations(range(N))))
    wrong = count_violations(np.broadcast_to(PROBLEMS.precedes[b], (len(orders), N, N)), orders)
    return list(orders[wrong == 0])


def test_choices_are_the_steps_with_several_ready_instructions() -> None:
    choices = decisions(PROBLEMS, RELATED, GCC)
    row = step = 0
    for b in range(len(PROBLEMS)):
        issued: list[int] = []
        for i in GCC[b]:
            needed = [set(np.flatnonzero(PROBLEMS.precedes[b, :, k])) for k in range(N)]
            ready = [k for k in range(N) if k not in issued and needed[k] <= set(issued)]
            if len(ready) > 1:
                assert (choices.instruction[row : row + len(ready)] - b * N).tolist() == ready
                assert (choices.step[row : row + len(ready)] == step).all()
                assert choices.chosen[step] == row + ready.index(i)
                before = [b * N + k for k in issued]
                assert [choices.last[step], choices.last_but_one[step]] == [*reversed(before), -1, -1][:2]
                for feature_row, k in enumerate(ready, row):
                    features = dict(zip(STEP_FEATURES, choices.features[feature_row] - STARTS, strict=True))
                    conflicting = [t for t, m in enumerate(issued) if PROBLEMS.conflicts[b, m, k]]
                    assert features["slots_since_conflict"] == (len(issued) - conflicting[-1] if conflicting else 0)
                    assert features["conflict_with_last"] == (PROBLEMS.conflicts[b, issued[-1], k] if issued else 0)
                    assert features["ready"] == len(ready)
                    assert (features["issued"], features["to_issue"]) == (len(issued), N - len(issued))
                    heights = RELATED.heights[b]
                    assert features["below_highest"] == max(heights[m] for m in ready) - heights[k]
                    waits_alone = [
                        m for m in np.flatnonzero(PROBLEMS.precedes[b, k]) if needed[m] - set(issued) == {k}
                    ]  # fmt: skip
                    assert features["frees"] == len(waits_alone)
                row, step = row + len(ready), step + 1
            issued.append(int(i))
    assert (row, step) == (len(choices.features), len(choices.chosen))


def test_probabilities_of_all_legal_orders_sum_to_one(pointer: Pointer, embedded: torch.Tensor) -> None:
    for b in range(15):
        orders = np.array(legal(b))
        part = PROBLEMS[np.full(len(orders), b)]
        related = relations(part, ENCODINGS.compared)
        chances = pointer.confidence(embedded[[b]].expand(len(orders), -1, -1), part, related, orders)
        assert chances.sum() == pytest.approx(1, abs=1e-4)


def test_a_wide_beam_finds_the_likeliest_order_and_greedy_the_likeliest_steps(
    pointer: Pointer, embedded: torch.Tensor
) -> None:
    scores, rng = pointer.output(embedded), np.random.default_rng(0)
    orders_of = {
        "greedy": pointer.decode(scores, PROBLEMS, RELATED),
        "beam": DECODERS["beam"](pointer, scores, PROBLEMS, RELATED, rng),
    }
    differs = 0
    for b in range(25):
        legal_orders = np.array(legal(b))
        part = PROBLEMS[np.full(len(legal_orders), b)]
        related = relations(part, ENCODINGS.compared)
        chances = pointer.confidence(embedded[[b]].expand(len(legal_orders), -1, -1), part, related, legal_orders)
        np.testing.assert_array_equal(orders_of["beam"][b], legal_orders[chances.argmax()])
        consistent, weights = legal_orders, chances
        for t in range(N):  # the likeliest next instruction has the largest sum of its orders' probabilities
            chosen = max(set(consistent[:, t]), key=lambda i: weights[consistent[:, t] == i].sum())
            assert orders_of["greedy"][b, t] == chosen
            keep = consistent[:, t] == chosen
            consistent, weights = consistent[keep], weights[keep]
        differs += (orders_of["beam"][b] != orders_of["greedy"][b]).any()
    assert differs  # otherwise the test would not cover the beam


def test_an_order_is_decoded_with_its_probability(pointer: Pointer, embedded: torch.Tensor) -> None:
    orders, chances = pointer.decode_with_probability(pointer.output(embedded), PROBLEMS, RELATED)
    np.testing.assert_array_equal(orders, pointer.decode(pointer.output(embedded), PROBLEMS, RELATED))
    np.testing.assert_allclose(chances, pointer.confidence(embedded, PROBLEMS, RELATED, orders), atol=1e-5)


def test_samples_follow_the_network(pointer: Pointer, embedded: torch.Tensor) -> None:
    b = max(range(20), key=lambda b: -abs(len(legal(b)) - 8))
    orders = np.array(legal(b))
    draws = 4000
    part = PROBLEMS[np.full(draws, b)]
    related = relations(part, ENCODINGS.compared)
    same = embedded[[b]].expand(draws, -1, -1)
    samples = DECODERS["sample"](pointer, pointer.output(same), part, related, np.random.default_rng(2))
    few = PROBLEMS[np.full(len(orders), b)]
    chances = pointer.confidence(same[: len(orders)], few, relations(few, ENCODINGS.compared), orders)
    for order, chance in zip(orders, chances, strict=True):
        share = (samples == order).all(1).mean()
        assert share == pytest.approx(chance, abs=4 * np.sqrt(chance * (1 - chance) / draws) + 1e-3)


def test_the_loss_is_that_of_gccs_choices(pointer: Pointer, embedded: torch.Tensor) -> None:
    loss, terms = pointer.loss(embedded, PROBLEMS, RELATED, GCC)
    chances = pointer.confidence(embedded, PROBLEMS, RELATED, GCC)
    assert loss.item() == pytest.approx(-np.log(chances).sum(), rel=1e-4)
    assert terms == len(decisions(PROBLEMS, RELATED, GCC).chosen)
