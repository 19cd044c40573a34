"""Networks for blocks of all lengths: every encoder with every head."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from pipeline.blocks.dag.topology import count_violations
from pipeline.blocks.models.inputs import Vocabulary
from pipeline.blocks.models.ordering_network import OrderingNetwork
from pipeline.blocks.problems.batches import by_length
from pipeline.blocks.problems.instructions import Encodings
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.problems.relations import relations
from pipeline.blocks.problems.sample import Sample
from pipeline.blocks.problems.store import BlockStore
from tests.blocks.models import imitated

STORE, ENCODINGS, SAMPLE = imitated.corpus(80)
ENCODERS, HEADS = ["attention", "lstm"], ["pointer", "pairwise", "sinkhorn", "popocs"]


def network(encoder: str = "attention", head: str = "pointer", **changed: object) -> OrderingNetwork:
    torch.manual_seed(0)
    return OrderingNetwork(Vocabulary(ENCODINGS.tokens), imitated.settings(encoder, head, **changed)).eval()


def orders_of(model: OrderingNetwork, sample: Sample = SAMPLE) -> dict[str, list[np.ndarray]]:
    """Orders by all decoders, numbered as GCC emitted them: name -> B arrays (n,)."""
    rng, found = np.random.default_rng(0), defaultdict(lambda: [np.empty(0)] * len(sample.rows))
    for items in by_length(STORE.lengths[sample.rows], 8192):
        shown = np.stack([sample.orders[item] for item in items])
        problems = STORE.problems(sample.rows[items], shown)
        for decoder, order in imitated.decoded(model, problems, ENCODINGS, rng).items():
            for item, emitted in zip(items, np.take_along_axis(shown, order.astype(np.int64), 1), strict=True):
                found[decoder][item] = emitted
    return dict(found)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_orders_of_all_lengths_are_legal_and_do_not_depend_on_the_order_shown(encoder: str, head: str) -> None:
    model = network(encoder, head)
    other = Sample(SAMPLE.block_ids, SAMPLE.rows, [np.arange(len(order)) for order in SAMPLE.orders])
    found, again = orders_of(model), orders_of(model, other)
    for decoder in found:
        for row, order in zip(SAMPLE.rows, found[decoder], strict=True):
            assert sorted(order) == list(range(len(order)))
            if decoder != "hungarian":
                assert not count_violations(STORE.as_emitted(np.array([row])).precedes, order[None])[0]
        if decoder != "sample":  # equal instructions may change places
            same = [
                (STORE.instructions_of(np.array([row]))[a] == STORE.instructions_of(np.array([row]))[b]).all()
                for row, a, b in zip(SAMPLE.rows, found[decoder], again[decoder], strict=True)
            ]
            assert np.mean(same) > 0.95  # ties alone


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_parameter_learns(encoder: str, head: str) -> None:
    model = network(encoder, head).train()
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
    both = [model.embed(part, relations(part, ENCODINGS.compared), bags) for part in (together, alone)]
    torch.testing.assert_close(both[0][3:4], both[1], atol=1e-5, rtol=1e-4)


def test_only_the_steps_of_training_are_made_in_bfloat16() -> None:
    problems, models = STORE.as_emitted(by_length(STORE.lengths, 64)[0]), [network(), network(precision="bfloat16")]
    schedules, steps = [embedded(model, problems, ENCODINGS) for model in models], []
    for model in models:
        steps.append(embedded(model.train(), problems, ENCODINGS))
    assert torch.equal(*schedules)
    assert not torch.equal(*steps)
    torch.testing.assert_close(*steps, atol=0.1, rtol=0.1)


def test_without_relations_the_dag_is_not_seen() -> None:
    settings = imitated.settings()
    blind = settings.model_copy(update={"encoder": settings.encoder.model_copy(update={"relations": False})})
    torch.manual_seed(0)
    model = OrderingNetwork(Vocabulary(ENCODINGS.tokens), blind).eval()
    problems = STORE.as_emitted(max(by_length(STORE.lengths, 10_000), key=len))
    related = relations(problems, ENCODINGS.compared)
    nothing = related._replace(nodes=np.zeros_like(related.nodes), pairs=np.zeros_like(related.pairs))
    bags = model.vocabulary.bags(ENCODINGS)
    torch.testing.assert_close(model.embed(problems, related, bags), model.embed(problems, nothing, bags))


@pytest.mark.parametrize("head", HEADS)
def test_a_file_of_weights_says_all_about_a_network(head: str, tmp_path: Path) -> None:
    model = network(head=head)
    model.save(tmp_path / "weights.safetensors")
    loaded = OrderingNetwork.load(tmp_path / "weights.safetensors")
    assert loaded.settings == model.settings
    loaded.save(tmp_path / "again.safetensors")
    assert (tmp_path / "weights.safetensors").read_bytes() == (tmp_path / "again.safetensors").read_bytes()
    once_more = OrderingNetwork.load(tmp_path / "again.safetensors")
    for decoder, orders in orders_of(loaded).items():
        for one, other in zip(orders, orders_of(once_more)[decoder], strict=True):
            np.testing.assert_array_equal(one, other)


def test_other_weights_are_refused(tmp_path: Path) -> None:
    save_file({"weight": torch.zeros(1)}, tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match=r"other\.safetensors is no imitator"):
        OrderingNetwork.load(tmp_path / "other.safetensors")


def test_confidence_is_a_probability_and_unknown_to_other_heads() -> None:
    problems = STORE.as_emitted(max(by_length(STORE.lengths, 10_000), key=len))
    for head in HEADS:
        model = network(head=head)
        orders, found = model.schedule(problems, ENCODINGS, model.vocabulary.bags(ENCODINGS))
        assert not count_violations(problems.precedes, orders).any()
        assert ((found >= 0) & (found <= 1)).all() if head == "pointer" else np.isnan(found).all()


BEHIND, ALL_ENCODINGS, _ = imitated.corpus(80, behind=True)
HIDDEN = replace(BEHIND, following=np.full_like(BEHIND.following, -1))


def looking_behind(**changed: object) -> OrderingNetwork:
    """A network of random weights that sees what stands behind a block."""
    encoder = imitated.settings().encoder.model_copy(update={"following": True, **changed})
    torch.manual_seed(0)
    model = OrderingNetwork(
        Vocabulary(ALL_ENCODINGS.tokens), imitated.settings().model_copy(update={"encoder": encoder})
    )
    for parameter in model.encoder.parameters():
        torch.nn.init.normal_(parameter, std=0.3)  # of zeros nothing would be seen
    return model.eval()


def embedded(model: OrderingNetwork, problems: Problems, encodings: Encodings = ALL_ENCODINGS) -> torch.Tensor:
    return model.embed(problems, relations(problems, encodings.compared), model.vocabulary.bags(encodings))


def largest(store: BlockStore) -> np.ndarray:
    return max(by_length(store.lengths, 10_000), key=len)


@pytest.mark.parametrize("relations_seen", [True, False])
def test_what_stands_behind_is_seen_whatever_the_order_shown(relations_seen: bool) -> None:
    model, items = looking_behind(relations=relations_seen), largest(BEHIND)
    emitted, order = BEHIND.as_emitted(items), np.stack([SAMPLE.orders[item] for item in items]).astype(np.int64)
    found = embedded(model, emitted)
    assert found.shape == (*order.shape, model.settings.encoder.width)
    shown = embedded(model, BEHIND.problems(items, order))
    expected = torch.take_along_dim(found, torch.from_numpy(order)[..., None], 1)
    torch.testing.assert_close(shown, expected, atol=1e-4, rtol=1e-4)
    nothing = embedded(model, HIDDEN.as_emitted(items))
    there = torch.from_numpy((emitted.following >= 0).any(1))
    differs = ~torch.isclose(found, nothing, atol=1e-3).flatten(1).all(1)
    assert there.any() and (~there).any()
    assert torch.equal(differs, there)
    unknown = replace(HIDDEN.as_emitted(items), following=None)
    assert torch.equal(embedded(model, unknown), nothing)


def test_the_places_behind_are_told_apart() -> None:
    model, items = looking_behind(), largest(BEHIND)
    problems = BEHIND.as_emitted(items)
    assert problems.following is not None
    back = np.ascontiguousarray(problems.following[:, ::-1])
    changed = (back != problems.following).any(1)
    found, turned = embedded(model, problems), embedded(model, replace(problems, following=back))
    assert torch.equal(~torch.isclose(found, turned, atol=1e-3).flatten(1).all(1), torch.from_numpy(changed))


def test_every_parameter_of_what_stands_behind_learns() -> None:
    model = looking_behind(layers=3).train()
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
    assert pairs[1:].any(1).all() and not pairs[0].any()  # pairs of the block's own are none of them


def test_who_does_not_look_behind_sees_no_difference() -> None:
    model, items = network(), largest(BEHIND)
    found = embedded(model, STORE.as_emitted(items), ENCODINGS)
    assert torch.equal(embedded(model, BEHIND.as_emitted(items)), found)
    assert not any("following" in name for name, _ in model.named_parameters())


def test_a_network_that_looks_behind_is_kept_whole(tmp_path: Path) -> None:
    model = looking_behind()
    model.save(tmp_path / "weights.safetensors")
    loaded = OrderingNetwork.load(tmp_path / "weights.safetensors")
    assert loaded.settings.encoder.following
    problems = BEHIND.as_emitted(largest(BEHIND))
    torch.testing.assert_close(embedded(loaded, problems), embedded(model.half().float(), problems))


def test_the_lstm_does_not_look_behind() -> None:
    encoder = imitated.settings("lstm").encoder.model_copy(update={"following": True})
    with pytest.raises(ValueError, match="the encoder lstm has no positions, no following"):
        OrderingNetwork(Vocabulary(ENCODINGS.tokens), imitated.settings().model_copy(update={"encoder": encoder}))


@pytest.mark.parametrize("encoder", ENCODERS)
def test_no_step_goes_through_onednn_whose_numbers_differ_between_processors(encoder: str) -> None:
    """nn.LSTM does for a padded batch; for a packed one it does not, forward or backward."""
    model = network(encoder).train()
    problems = STORE.as_emitted(by_length(STORE.lengths, 64)[0])
    related, bags = relations(problems, ENCODINGS.compared), model.vocabulary.bags(ENCODINGS)
    names = operations(lambda: model.embed(problems, related, bags))
    assert "aten::addmm" in names and not [name for name in names if "mkldnn" in name]
    padded = nn.LSTM(16, 16, batch_first=True)
    names = operations(lambda: padded(torch.zeros(2, 3, 16, requires_grad=True))[0])
    assert "aten::mkldnn_rnn_layer_backward" in names


def operations(forward: Callable[[], torch.Tensor]) -> set[str]:
    """What torch runs, forward and backward."""
    with torch.profiler.profile() as profile:
        forward().square().sum().backward()
    return {event.name for event in profile.events()}
