"""A user's module with weights is the same every time it is built."""

from __future__ import annotations

import sys
from multiprocessing import Pipe
from pathlib import Path

import pytest
import torch

from learned_schedulers.graphs.plans.named_module import NamedModule
from tests.graphs.plans.test_module_export import MODULE


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "named.py").write_text(MODULE)
    monkeypatch.delitem(sys.modules, "named", raising=False)


def test_it_runs_and_travels_and_is_the_same() -> None:
    named = NamedModule("named:Small", ("int64:3,5", "3,5,8"))
    receiver, sender = Pipe(duplex=False)  # as it reaches another process
    sender.send(named)
    results = []
    for copy in (named, receiver.recv()):
        module, inputs = copy.build()
        assert [tensor.dtype for tensor in inputs] == [torch.int64, torch.float32]
        assert not module.training and not any(weights.requires_grad for weights in module.parameters())
        results.append(module(*inputs))
    assert torch.equal(*results) and results[0].shape == (3, 5, 4)
    assert "" not in sys.path or sys.path.count("") == 1


def test_inputs_are_of_their_type() -> None:
    _, inputs = NamedModule("named:Small", ("bool:9", "uint8:9", "float64:9", "2,")).build()
    assert [tensor.dtype for tensor in inputs] == [torch.bool, torch.uint8, torch.float64, torch.float32]
    assert inputs[1].max() <= 1 and inputs[2].abs().max() <= 0.5 and inputs[3].shape == (2,)


def test_in_training_all_weights_have_gradients() -> None:
    module, _ = NamedModule("named:Small", ("int64:3,5", "3,5,8"), training=True).build()
    assert module.training and all(weights.requires_grad for weights in module.parameters())
