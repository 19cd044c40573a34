"""One process alone, and what is said where several are described wrongly."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import distributed, nn

from learned_schedulers.learning import processes
from learned_schedulers.learning.batch_norm import share_statistics

DESCRIBED = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*DESCRIBED, "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("world", [None, "1"])
def test_one_process_joins_no_group_and_nothing_changes(world: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if world:
        monkeypatch.setenv("WORLD_SIZE", world)
    network = nn.Sequential(nn.BatchNorm1d(2))
    with processes.group():
        assert not distributed.is_initialized()
        assert processes.place() == (0, 1) and processes.is_first()
        items, values, state = np.arange(3), torch.rand(2), {"step": 3}
        assert processes.share(items).tolist() == [0, 1, 2]
        assert processes.summed(values) is values and processes.of_first(state) is state
        assert processes.sum_gradients(network, 5) == 5 and network[0].weight.grad is None
        share_statistics(network)
        assert type(network[0]) is nn.BatchNorm1d


@pytest.mark.parametrize("name", ["RANK", "MASTER_ADDR", "MASTER_PORT"])
def test_a_missing_variable_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for other in DESCRIBED.keys() - {name}:
        monkeypatch.setenv(other, DESCRIBED[other])
    with (
        pytest.raises(ValueError, match=f"WORLD_SIZE is '2', but {name} is not set; start all .* `torchrun"),
        processes.group(),
    ):
        pass


@pytest.mark.parametrize(("name", "value"), [("RANK", "2"), ("RANK", "-1"), ("WORLD_SIZE", "x"), ("MASTER_PORT", "p")])
def test_a_wrong_variable_is_shown(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for other, described in (DESCRIBED | {name: value}).items():
        monkeypatch.setenv(other, described)
    with pytest.raises(ValueError, match=f"{name}={value}.*RANK has to be 0 to WORLD_SIZE - 1"), processes.group():
        pass


def test_a_first_process_that_cannot_be_reached_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (DESCRIBED | {"RANK": "0", "MASTER_PORT": "1"}).items():
        monkeypatch.setenv(name, value)

    def refused(*arguments: object, **named: object) -> None:
        raise distributed.DistNetworkError("refused")

    monkeypatch.setattr(distributed, "init_process_group", refused)
    with (
        pytest.raises(ConnectionError, match=r"process 0 of 2 did not meet the others at localhost:1 .refused."),
        processes.group(),
    ):
        pass


def test_the_end_of_another_process_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(tensor: torch.Tensor) -> None:
        raise RuntimeError("Connection closed by peer")

    monkeypatch.setattr(distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(distributed, "all_reduce", broken)
    with pytest.raises(ConnectionError, match=r"another process .* ended .*peer.* type the same command again"):
        processes.summed(torch.zeros(1))
