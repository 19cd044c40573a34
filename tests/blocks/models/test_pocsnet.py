"""The network: its encoder against torch's LSTM, its proposals, its batches."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from learned_schedulers.blocks.models.pocsnet import InstructionEncoder, POCSNet, assign, constrained
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
