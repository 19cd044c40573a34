"""Every training by two processes takes the steps of one process, up to rounding."""

from __future__ import annotations

import os
import socket
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from learned_schedulers.learning import processes
from tests.learning.small_trainings import TRAININGS


class Result(NamedTuple):
    gradients: np.ndarray  # (steps, weights)
    buffers: np.ndarray  # at the end: running statistics
    losses: np.ndarray  # of the history, or what stands for them


def trained(name: str) -> Result:
    gradients: list[np.ndarray] = []

    def take(optimiser: torch.optim.Optimizer, args: object, kwargs: object) -> None:
        weights = optimiser.param_groups[0]["params"]
        gradients.append(np.concatenate([(torch.zeros_like(w) if w.grad is None else w.grad).ravel() for w in weights]))

    hook = register_optimizer_step_pre_hook(take)
    try:
        network, history = TRAININGS[name]({"seed": 0})
    finally:
        hook.remove()
    buffers = [np.ravel(buffer.numpy()) for buffer in network.buffers()]
    losses = [row["loss" if "loss" in row else "value"] for row in history]
    return Result(np.stack(gradients), np.concatenate([np.zeros(0), *buffers]), np.array(losses))


def _process(rank: int, port: int, folder: Path) -> None:
    numba.set_num_threads(1)
    torch.set_num_threads(1)
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    with processes.group():
        state = processes.of_first({"step": rank, "weights": torch.full((2,), float(rank))})
        assert state["step"] == 0 and not state["weights"].any()
        assert processes.of_first(state if rank else None) is None
        for name in TRAININGS:
            np.savez(folder / f"{name} {rank}.npz", **trained(name)._asdict())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(processes, "sum_gradients", lambda network, terms=0: terms)
            for name in TRAININGS:
                np.save(folder / f"{name} {rank} alone.npy", trained(name).gradients[0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of two processes: `<training> <rank>.npz`, and gradients of their own shares alone."""
    folder = tmp_path_factory.mktemp("two")
    context = get_context("forkserver")  # a fork of this process would inherit threads that do not run there
    context.set_forkserver_preload([__name__])
    with socket.create_server(("localhost", 0)) as server:
        port = server.getsockname()[1]
    two = [context.Process(target=_process, args=(rank, port, folder), daemon=True) for rank in (0, 1)]
    for process in two:
        process.start()
    for process in two:
        process.join(240)
    assert [process.exitcode for process in two] == [0, 0]
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAININGS)
def test_two_processes_take_the_steps_of_one(name: str, folder: Path) -> None:
    alone = trained(name)
    largest = abs(alone.gradients).max(1)
    assert largest[0] > 0
    for rank in (0, 1):
        together = np.load(folder / f"{name} {rank}.npz")
        # Sums have another order: a few roundings of float32. Adam divides roundings by their size where a gradient is
        # 0, and PPO clips, so later steps are compared less closely.
        difference = abs(together["gradients"][:2] - alone.gradients[:2]).max(1)
        assert (difference <= [1e-5, 1e-3] * largest[:2]).all()
        if name == "pocsnet sinkhorn":  # Adam moves the biases in front of a normalisation by roundings alone
            np.testing.assert_allclose(together["buffers"], alone.buffers, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(together["losses"], alone.losses, rtol=0.1)
        share = np.load(folder / f"{name} {rank} alone.npy")
        assert abs(share - alone.gradients[0]).max() > 0.05 * largest[0]  # no process does the work of both
    first, second = (np.load(folder / f"{name} {rank}.npz") for rank in (0, 1))
    np.testing.assert_array_equal(first["gradients"], second["gradients"])  # of all steps: weights stay the same
