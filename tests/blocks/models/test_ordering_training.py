"""Training of an imitator: learning, resuming, stopping."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from learned_schedulers.blocks.models.inputs import Vocabulary
from learned_schedulers.blocks.models.ordering_network import OrderingNetwork
from learned_schedulers.blocks.models.ordering_training import measure, train
from learned_schedulers.blocks.problems.batches import by_length
from learned_schedulers.blocks.problems.relations import relations
from tests.blocks.models import imitated

pytestmark = pytest.mark.slow

STORE, ENCODINGS, SAMPLE = imitated.corpus(150)
SETTINGS = imitated.settings()


def test_it_learns_the_artificial_order() -> None:
    network, history = train(STORE, ENCODINGS, SAMPLE, SAMPLE, SETTINGS, 0)
    assert measure(network, STORE, ENCODINGS, SAMPLE)["exact_match"] > 0.95
    losses = [row["loss"] for row in history if row["split"] == "training"]
    assert losses[-1] < 0.3 * losses[0]
    assert history[-1]["step"] == SETTINGS.steps


@pytest.mark.parametrize("following", [True, False])
def test_it_can_learn_an_order_that_following_instructions_decide(following: bool) -> None:
    store, encodings, sample = imitated.decided_by_following()
    encoder = SETTINGS.encoder.model_copy(update={"following": following})
    settings = SETTINGS.model_copy(update={"encoder": encoder, "steps": 80})
    network, _ = train(store, encodings, sample, sample, settings, 0)
    exact = measure(network, store, encodings, sample)["exact_match"]
    assert exact > 0.95 if following else exact < 0.7  # the corpus has each pair in both orders
    assert following == ("mnemonic:ret" in network.vocabulary.tokens)


def test_gradients_on_two_threads_have_the_same_bits_every_time() -> None:
    store, encodings, sample = imitated.corpus(700, behind=True)
    encoder = SETTINGS.encoder.model_copy(update={"following": True, "width": 64})
    settings = SETTINGS.model_copy(update={"encoder": encoder})
    network = OrderingNetwork(Vocabulary.of(encodings, store.instructions_of(sample.rows), 1), settings)
    bags = network.vocabulary.bags(encodings)
    items = np.flatnonzero(store.lengths[sample.rows] == 8)

    def gradients() -> list[torch.Tensor]:
        network.zero_grad()
        problems = store.problems(sample.rows[items], np.stack([sample.orders[item] for item in items]))
        related = relations(problems, encodings.compared)
        gcc = np.argsort(np.stack([sample.orders[item] for item in items]), axis=1)
        network.head.loss(network.embed(problems, related, bags), problems, related, gcc)[0].backward()
        return [p.grad.clone() for p in network.parameters() if p.grad is not None]

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        first, *repetitions = [gradients() for _ in range(6)]
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for repetition in repetitions for a, b in zip(first, repetition, strict=True))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU of CUDA")
def test_a_gpu_gives_the_loss_and_the_gradient_of_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the first step; this training alone takes a GPU where there is one."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)  # products of float32 like the CPU's
    network = OrderingNetwork(Vocabulary.of(ENCODINGS, STORE.instructions_of(SAMPLE.rows), 1), SETTINGS)
    problems = STORE.as_emitted(max(by_length(STORE.lengths, 10_000), key=len))
    related, bags = relations(problems, ENCODINGS.compared), network.vocabulary.bags(ENCODINGS)
    gcc = np.broadcast_to(np.arange(problems.instructions.shape[1]), problems.instructions.shape)
    first = []
    for device in ("cpu", "cuda"):
        network.to(device).zero_grad()
        loss, _ = network.head.loss(network.embed(problems, related, bags), problems, related, gcc)
        loss.backward()
        gradients = [p.grad.flatten() for p in network.parameters() if p.grad is not None]
        first.append((float(loss.detach()), torch.cat(gradients).cpu()))
    (loss_here, gradient), (loss_there, gradient_there) = first
    assert loss_there == pytest.approx(loss_here, rel=1e-3)
    assert (gradient_there - gradient).abs().max() < 1e-3 * gradient.abs().max()


def test_a_share_of_the_blocks_is_drawn_by_the_seed() -> None:
    settings = SETTINGS.model_copy(update={"blocks": 20, "steps": 20})
    first, second = (train(STORE, ENCODINGS, SAMPLE, SAMPLE, settings, seed)[0] for seed in (0, 1))
    again = train(STORE, ENCODINGS, SAMPLE, SAMPLE, settings, 0)[0]
    assert all(torch.equal(w, again.state_dict()[name]) for name, w in first.state_dict().items())
    assert first.vocabulary.tokens != second.vocabulary.tokens or not torch.equal(
        next(first.parameters()), next(second.parameters())
    )


def test_batches_contain_every_block_once() -> None:
    lengths = np.array([2, 5, 5, 9, 5, 2, 64, 5])
    for rng in (None, np.random.default_rng(0)):
        batches = by_length(lengths, 10, rng)
        assert sorted(np.concatenate(batches)) == list(range(8))
        assert all(len(set(lengths[batch])) == 1 for batch in batches)
        assert max(map(len, batches)) == 2
    different = [by_length(lengths, 10, np.random.default_rng(seed)) for seed in (0, 1)]
    assert [list(batch) for batch in different[0]] != [list(batch) for batch in different[1]]
