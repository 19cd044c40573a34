"""Networks for blocks of any length."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from learned_schedulers.blocks.dag.topology import count_violations
from learned_schedulers.blocks.models.inputs import Vocabulary, inputs
from learned_schedulers.blocks.models.ordering_network import OrderingNetwork
from learned_schedulers.blocks.problems.batches import by_length
from learned_schedulers.blocks.problems.instructions import Encodings
from learned_schedulers.blocks.problems.outside import outside_relations
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.relations import relations
from learned_schedulers.blocks.problems.sample import Sample
from learned_schedulers.blocks.problems.store import BlockStore
from tests.blocks.models import imitated

STORE, ENCODINGS, SAMPLE = imitated.corpus(80)


def network(**changed: object) -> OrderingNetwork:
    torch.manual_seed(0)
    return OrderingNetwork(Vocabulary(ENCODINGS.tokens), imitated.settings(**changed)).eval()


def orders_of(model: OrderingNetwork, sample: Sample = SAMPLE) -> dict[str, list[np.ndarray]]:
    """Orders from all decoders, with the instructions' numbers in GCC's order: name -> B arrays (n,)."""
    rng, orders = np.random.default_rng(0), defaultdict(lambda: [np.empty(0)] * len(sample.rows))
    for items in by_length(STORE.lengths[sample.rows], 8192):
        shown = np.stack([sample.orders[item] for item in items])
        problems = STORE.problems(sample.rows[items], shown)
        for decoder, order in imitated.decoded(model, problems, ENCODINGS, rng).items():
            for item, emitted in zip(items, np.take_along_axis(shown, order.astype(np.int64), 1), strict=True):
                orders[decoder][item] = emitted
    return dict(orders)


@pytest.mark.slow
def test_orders_of_all_lengths_are_legal_and_do_not_depend_on_the_order_shown() -> None:
    model = network()
    in_emitted_order = Sample(SAMPLE.block_ids, SAMPLE.rows, [np.arange(len(order)) for order in SAMPLE.orders])
    orders, orders_again = orders_of(model), orders_of(model, in_emitted_order)
    for decoder in orders:
        for row, order in zip(SAMPLE.rows, orders[decoder], strict=True):
            assert sorted(order) == list(range(len(order)))
            assert not count_violations(STORE.as_emitted(np.array([row])).precedes, order[None])[0]
        if decoder != "sample":  # equal instructions may change places
            same = [
                (STORE.instructions_of(np.array([row]))[a] == STORE.instructions_of(np.array([row]))[b]).all()
                for row, a, b in zip(SAMPLE.rows, orders[decoder], orders_again[decoder], strict=True)
            ]
            assert np.mean(same) > 0.95  # ties alone


@pytest.mark.slow
def test_every_parameter_learns() -> None:
    model = network().train()
    bags = model.vocabulary.bags(ENCODINGS)
    for items in by_length(STORE.lengths, 64):
        problems = STORE.as_emitted(items)
        related = relations(problems, ENCODINGS.compared)
        gcc = np.broadcast_to(np.arange(problems.instructions.shape[1]), problems.instructions.shape)
        model.head.loss(model.embed(problems, related, bags), problems, related, gcc)[0].backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


def test_blocks_of_a_batch_do_not_influence_each_other() -> None:
    model = network()
    bags = model.vocabulary.bags(ENCODINGS)
    items = max(by_length(STORE.lengths, 10_000), key=len)
    together, alone = STORE.as_emitted(items), STORE.as_emitted(items[3:4])
    embeddings = [model.embed(part, relations(part, ENCODINGS.compared), bags) for part in (together, alone)]
    torch.testing.assert_close(embeddings[0][3:4], embeddings[1], atol=1e-5, rtol=1e-4)


def test_only_training_steps_are_in_bfloat16() -> None:
    problems, models = STORE.as_emitted(by_length(STORE.lengths, 64)[0]), [network(), network(precision="bfloat16")]
    schedules, steps = [embedded(model, problems, ENCODINGS) for model in models], []
    for model in models:
        steps.append(embedded(model.train(), problems, ENCODINGS))
    assert torch.equal(*schedules)
    assert not torch.equal(*steps)
    torch.testing.assert_close(*steps, atol=0.1, rtol=0.1)


def test_without_relations_the_dag_changes_nothing() -> None:
    settings = imitated.settings()
    blind = settings.model_copy(update={"encoder": settings.encoder.model_copy(update={"relations": False})})
    torch.manual_seed(0)
    model = OrderingNetwork(Vocabulary(ENCODINGS.tokens), blind).eval()
    problems = STORE.as_emitted(max(by_length(STORE.lengths, 10_000), key=len))
    related = relations(problems, ENCODINGS.compared)
    nothing = related._replace(nodes=np.zeros_like(related.nodes), pairs=np.zeros_like(related.pairs))
    bags = model.vocabulary.bags(ENCODINGS)
    torch.testing.assert_close(model.embed(problems, related, bags), model.embed(problems, nothing, bags))


BEHIND, ALL_ENCODINGS, _ = imitated.corpus(80, behind=True)
HIDDEN = replace(BEHIND, following=np.full_like(BEHIND.following, -1))


def network_with_following(**changed: object) -> OrderingNetwork:
    """A network of random weights that reads the instructions after a block."""
    encoder = imitated.settings().encoder.model_copy(update={"following": True, **changed})
    torch.manual_seed(0)
    model = OrderingNetwork(
        Vocabulary(ALL_ENCODINGS.tokens), imitated.settings().model_copy(update={"encoder": encoder})
    )
    for parameter in model.encoder.parameters():
        torch.nn.init.normal_(parameter, std=0.3)  # parameters of zero would hide differences
    return model.eval()


def embedded(model: OrderingNetwork, problems: Problems, encodings: Encodings = ALL_ENCODINGS) -> torch.Tensor:
    return model.embed(problems, relations(problems, encodings.compared), model.vocabulary.bags(encodings))


def largest(store: BlockStore) -> np.ndarray:
    return max(by_length(store.lengths, 10_000), key=len)


@pytest.mark.parametrize("with_relations", [True, False])
def test_following_instructions_change_the_embedding_in_any_order_shown(with_relations: bool) -> None:
    model, items = network_with_following(relations=with_relations), largest(BEHIND)
    emitted, order = BEHIND.as_emitted(items), np.stack([SAMPLE.orders[item] for item in items]).astype(np.int64)
    with_following = embedded(model, emitted)
    assert with_following.shape == (*order.shape, model.settings.encoder.width)
    shown = embedded(model, BEHIND.problems(items, order))
    expected = torch.take_along_dim(with_following, torch.from_numpy(order)[..., None], 1)
    torch.testing.assert_close(shown, expected, atol=1e-4, rtol=1e-4)
    without_following = embedded(model, HIDDEN.as_emitted(items))
    exists = torch.from_numpy((emitted.following >= 0).any(1))
    differs = ~torch.isclose(with_following, without_following, atol=1e-3).flatten(1).all(1)
    assert exists.any() and (~exists).any()
    assert torch.equal(differs, exists)
    unknown = replace(HIDDEN.as_emitted(items), following=None)
    assert torch.equal(embedded(model, unknown), without_following)


def test_inputs_list_each_kind_of_pair_once() -> None:
    problems = BEHIND.as_emitted(largest(BEHIND))
    related, bags = relations(problems, ALL_ENCODINGS.compared), Vocabulary(ALL_ENCODINGS.tokens).bags(ALL_ENCODINGS)
    batch = inputs(problems, related, bags, following=True)
    behind = outside_relations(problems.instructions, BEHIND.following[largest(BEHIND)], ALL_ENCODINGS.compared)
    for kinds, pairs, expected in (
        (batch.kinds, batch.pairs, related.pairs), (batch.following_kinds, batch.following_pairs, behind),
    ):  # fmt: skip
        np.testing.assert_array_equal(kinds[pairs], expected)
        assert len(np.unique(kinds, axis=0)) == len(kinds) < pairs.numel()


def test_the_order_of_following_instructions_matters() -> None:
    model, items = network_with_following(), largest(BEHIND)
    problems = BEHIND.as_emitted(items)
    assert problems.following is not None
    reversed_following = np.ascontiguousarray(problems.following[:, ::-1])
    changed = (reversed_following != problems.following).any(1)
    original, reordered = embedded(model, problems), embedded(model, replace(problems, following=reversed_following))
    assert torch.equal(~torch.isclose(original, reordered, atol=1e-3).flatten(1).all(1), torch.from_numpy(changed))


def test_every_parameter_for_following_instructions_learns() -> None:
    model = network_with_following(layers=3).train()
    for items in by_length(BEHIND.lengths, 64):
        problems = BEHIND.as_emitted(items)
        related = relations(problems, ALL_ENCODINGS.compared)
        gcc = np.broadcast_to(np.arange(problems.instructions.shape[1]), problems.instructions.shape)
        model.head.loss(embedded(model, problems), problems, related, gcc)[0].backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.any() and parameter.grad.isfinite().all(), name
    pairs = dict(model.named_parameters())["encoder.following.pairs.weight"].grad
    assert pairs is not None
    assert pairs[: BEHIND.following.shape[1]].any(1).all()  # all distances from the block


def test_without_the_setting_following_instructions_change_nothing() -> None:
    model, items = network(), largest(BEHIND)
    expected = embedded(model, STORE.as_emitted(items), ENCODINGS)
    assert torch.equal(embedded(model, BEHIND.as_emitted(items)), expected)
    assert not any("following" in name for name, _ in model.named_parameters())


def test_no_step_goes_through_onednn_whose_numbers_differ_between_processors() -> None:
    """The control, nn.LSTM of a padded batch, does."""
    model = network().train()
    problems = STORE.as_emitted(by_length(STORE.lengths, 64)[0])
    related, bags = relations(problems, ENCODINGS.compared), model.vocabulary.bags(ENCODINGS)
    names = operations(lambda: model.embed(problems, related, bags))
    assert "aten::addmm" in names and not [name for name in names if "mkldnn" in name]
    padded = nn.LSTM(16, 16, batch_first=True)
    names = operations(lambda: padded(torch.zeros(2, 3, 16, requires_grad=True))[0])
    assert "aten::mkldnn_rnn_layer_backward" in names


def operations(forward: Callable[[], torch.Tensor]) -> set[str]:
    """Names of the operations that torch runs, forward and backward."""
    with torch.profiler.profile() as profile:
        forward().square().sum().backward()
    return {event.name for event in profile.events()}
