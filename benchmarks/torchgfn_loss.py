"""The log-partition variance as torchgfn computes it, for tests/graphs/models/test_torchgfn_loss.py: half a minute.

    python -m benchmarks.torchgfn_loss trajectories     # here: draw schedules, store how probable their steps are
    python3 -m venv .venv-torchgfn && .venv-torchgfn/bin/pip install torchgfn==2.4.1
    .venv-torchgfn/bin/python -m benchmarks.torchgfn_loss losses    # there: add torchgfn's losses to the same file

torchgfn requires NumPy 1, so it has an environment of its own and is no dependency. Its estimators are not used: it
gets log P_F, log P_B and log R, and computes the scores, their deviation from the mean and the loss. Everything is
float64.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

STORED = Path(__file__).parents[1] / "tests/graphs/models/torchgfn_loss.json"
TRAJECTORIES = 8  # of a batch
_NOISE = 0.1  # on all weights: some are 0 before training, so that nothing that is learned would count
# Batch: number of operations, of devices, temperature, what is changed in the settings of the policy.
BATCHES: dict[str, tuple[int, int, float, dict[str, str]]] = {
    "once": (7, 3, 0.5, {}),
    "once, uniform backward": (9, 2, 0.1, {"backward": "uniform"}),
    "once, by start": (6, 3, 0.5, {"sequence": "by_start"}),
    "every step": (6, 2, 1.0, {"reads": "every_step"}),
    "once, at a low temperature": (12, 4, 0.005, {}),
}


def trajectories() -> None:
    """Draw from untrained policies, and store the inputs of the loss."""
    from pipeline.graphs.environment.batched import Environment
    from pipeline.graphs.models import rollout
    from pipeline.graphs.models.conditions import PLAIN, condition
    from pipeline.graphs.models.policy import make
    from pipeline.graphs.models.topoformer import graph_view
    from tests.graphs.models.small_policies import problem, settings

    stored = {}
    for seed, (name, (n, devices, sigma, changes)) in enumerate(BATCHES.items()):
        job = problem(seed, n, devices, density=0.1)
        torch.manual_seed(seed)
        network = make(settings(**changes))
        with torch.no_grad():
            for weight in network.parameters():
                weight.add_(torch.randn_like(weight), alpha=_NOISE)
        environment = Environment(job, TRAJECTORIES, network.settings.sequence)
        conditions = condition(job, sigma, PLAIN, TRAJECTORIES)
        tails, generator = torch.from_numpy(job.tails.copy()), torch.Generator().manual_seed(seed)
        with torch.no_grad():
            graph = network.read(graph_view(job))
            drawn = rollout.trajectories(network, graph, environment, tails, conditions, generator)
            logs = rollout.log_probabilities(network, graph, drawn, conditions)
        stored[name] = {
            "log_rewards": ((job.seconds.sum() / environment.makespan - devices) / sigma).double().tolist(),
            "forward": logs.forward.double().tolist(),
            "backward": logs.backward.double().tolist(),
        }
    _write(stored)


def losses() -> None:
    """Add torchgfn's loss of each batch, and its gradient by the sums of log P_F."""
    torch.set_default_dtype(torch.float64)
    gflownet: Any = import_module("gfn.gflownet")

    class OfStored(gflownet.LogPartitionVarianceGFlowNet):
        """Takes (log P_F, log P_B), (n, B) each, in place of trajectories that estimators are asked about."""

        def get_pfs_and_pbs(
            self, trajectories: tuple[torch.Tensor, torch.Tensor], recalculate_all_logprobs: bool = True
        ) -> tuple[torch.Tensor, torch.Tensor]:
            return trajectories

    stored = json.loads(STORED.read_text())
    for batch in stored.values():
        forward, backward, log_rewards = (torch.tensor(batch[key]) for key in ("forward", "backward", "log_rewards"))
        forward.requires_grad_(True)
        judge = OfStored(pf=torch.nn.Identity(), pb=None, constant_pb=True)
        loss = judge.loss(None, (forward, backward), log_rewards=log_rewards)
        (gradient,) = torch.autograd.grad(loss, forward)
        batch["loss"], batch["gradient"] = float(loss.detach()), gradient[0].tolist()  # the same in every step
    _write(stored)


def _write(stored: dict[str, Any]) -> None:
    """A line for each batch."""
    lines = (f"{json.dumps(name)}: {json.dumps(batch)}" for name, batch in stored.items())
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    {"trajectories": trajectories, "losses": losses}[sys.argv[1]]()
