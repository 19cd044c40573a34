"""POCSNet: its encoder against torch's LSTM, its proposals, its batches; its losses and its training."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from learned_schedulers.blocks.models.pocsnet import InstructionEncoder, POCSNet, assign, constrained
from learned_schedulers.blocks.models.pocsnet_training import train
from learned_schedulers.learning.loop import Diverged
from learned_schedulers.operators.losses import cross_entropy, fenchel_young
from learned_schedulers.operators.popocs import popocs
from tests.blocks.models import made


def test_encoder_equals_an_lstm_over_every_instruction() -> None:
    part = made.blocks(30)
    torch.manual_seed(0)
    encoder = InstructionEncoder(part.trie.n_tokens, 8)
    paths, last_token = torch.from_numpy(part.trie.paths), torch.from_numpy(part.trie.last_token)
    embeddings = encoder(paths, last_token)
    for instruction, embedded in zip(paths, embeddings, strict=True):
        state = None
        for node in instruction[instruction >= 0]:
            state = encoder.lstm(encoder.embedding(last_token[node]).unsqueeze(0), state)
        assert state is not None
        torch.testing.assert_close(embedded, state[0][0])


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["sinkhorn", "popocs"])
@pytest.mark.parametrize("proposal", ["logits", "softmax", "sinkhorn"])
def test_every_parameter_learns(operator: str, proposal: str) -> None:
    settings = made.SETTINGS.model_copy(update={"operator": operator, "proposal": proposal})
    part = made.blocks(40)
    model = POCSNet(5, part.trie.n_tokens, settings)
    matrix = constrained(model, part.shown(part.input_order), part.trie, 20)
    matrix[:, 0, 0].sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() and p.grad.any() for p in model.parameters())


def test_batches_do_not_influence_each_other() -> None:
    part = made.blocks(50)
    model = POCSNet(5, part.trie.n_tokens, made.SETTINGS).eval()
    shown = part.shown(part.input_order)
    together = assign(model, shown, part.trie, 20)
    alone = assign(model, shown[7:8], part.trie, 20)
    np.testing.assert_allclose(together[7:8], alone, atol=1e-5)


def test_shown_renumbers_dependencies_latencies_and_instructions_alike() -> None:
    part = made.blocks(20)
    shown = part.shown(part.input_order)
    for b, order in enumerate(part.input_order):
        for t, i in enumerate(order):
            assert shown.latencies[b, t] == part.problems.latencies[b, i]
            assert shown.instructions[b, t] == part.problems.instructions[b, i]
            for u, k in enumerate(order):
                assert shown.precedes[b, t, u] == part.problems.precedes[b, i, k]
                assert shown.conflicts[b, t, u] == part.problems.conflicts[b, i, k]


def test_cross_entropy_of_a_known_matrix() -> None:
    matrix = torch.tensor([[[0.5, 0.5], [0.25, 0.75]]])
    loss = cross_entropy(matrix, torch.tensor([[0, 1]]), 1e-6)
    assert loss.item() == pytest.approx(-(math.log(0.5) + math.log(0.75)) / 2)


def test_cross_entropy_is_smooth_at_its_floor_and_learns_below() -> None:
    entry = torch.tensor([-0.5, 0.0, 0.0999, 0.1001], requires_grad=True)
    losses = [cross_entropy(e.view(1, 1, 1), torch.zeros(1, 1, dtype=torch.long), 0.1) for e in entry]
    assert losses[0] > losses[1] > losses[2] > losses[3]
    assert losses[2].item() == pytest.approx(losses[3].item(), abs=3e-3)
    torch.stack(losses).sum().backward()
    assert entry.grad is not None and entry.grad.tolist() == pytest.approx([-10, -10, -10, -1 / 0.1001], rel=1e-4)


def test_fenchel_young_gradient_is_projection_minus_truth() -> None:
    proposal = torch.randn(3, 4, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    precedes = torch.ones(3, 4, 4).triu(1).bool()
    slots = torch.arange(4).repeat(3, 1)
    matrix = popocs(proposal, precedes, method="nearest")
    fenchel_young(proposal, matrix, slots).backward()
    assert proposal.grad is not None
    torch.testing.assert_close(proposal.grad, (matrix.detach() - torch.eye(4)) / 3)


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["sinkhorn", "popocs"])
def test_training_lowers_the_loss(operator: str) -> None:
    settings = made.SETTINGS.model_copy(update={"operator": operator, "steps": 150, "learning_rate": 0.03})
    _, history = train(made.blocks(64), made.blocks(32, seed=1), settings, 0)
    losses = [row["loss"] for row in history if row["split"] == "training"]
    assert losses[-1] < losses[0] * 0.9


def test_a_diverging_loss_is_an_error() -> None:
    settings = made.SETTINGS.model_copy(update={"optimiser": "sgd", "learning_rate": 1e30})
    with pytest.raises(Diverged, match="lower learning_rate"):
        train(made.blocks(64), made.blocks(32, seed=1), settings, 0)
