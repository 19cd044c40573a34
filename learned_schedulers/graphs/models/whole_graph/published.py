"""GO's own policy (Zhou et al. 2020): a device and a priority for every operation of a graph, from one pass.

As in the paper: the kind of an operation is embedded, GraphSAGE with max aggregation reads the graph, attention by
segments with the cached states of the segment before follows the operations in topological order, a vector of the
graph gates every layer (superposition), every operation has its own softmax over devices, and a recurrent attention
layer hands the placement's scores on to the next task, the priorities. No decision depends on another that is drawn.

What the paper leaves open, and what is chosen here:
- features are the kind, the logarithms of run time, transfer, weights and result, the degrees and the place in the
  topological order. The run time stands for FLOPs and bytes read, from which it follows (read/roofline.py);
- costs count in mean run times and in devices' memories, so that graphs of all sizes look alike;
- a kind that no training graph has is embedded as 0, "other": the embeddings of the others are learned around it;
- the network has an output for each device, as in the paper; with fewer devices than in its training, the last ones
  are masked;
- the gates are 1 + tanh(W mean), those of the network that improves schedules (network.py);
- the last layers are 0 at first: all choices are equally likely. Large random weights there begin without entropy, and
  do not learn.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from learned_schedulers.graphs.devices.completion import LEVELS
from learned_schedulers.graphs.models.products import Linear
from learned_schedulers.graphs.models.whole_graph.layers import SegmentAttention, read, stack, zero_linear
from learned_schedulers.graphs.models.whole_graph.settings import Published as Settings
from learned_schedulers.graphs.models.whole_graph.surroundings import device_bytes, unit_of
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.learning import weights

_KIND = "published_go"  # of its file of weights
_NUMBERS = 12


@dataclass(frozen=True)
class Operations:
    """A problem as the policy reads it; O(n + E)."""

    problem: Problem
    numbers: Tensor  # (n, _NUMBERS)
    kinds: Tensor  # (n,) int64, row of the embedding; 0: another kind than those of the training
    sources: Tensor  # (E,) int64
    targets: Tensor  # (E,) int64

    @staticmethod
    def of(problem: Problem, vocabulary: Sequence[str]) -> Operations:
        """vocabulary: the kinds that have an embedding."""
        n, unit, memory = len(problem), unit_of(problem), device_bytes(problem)
        columns = [
            np.log(problem.seconds / unit + 1e-3),
            np.log(problem.delays / unit + 1e-3),
            np.log1p(100 * problem.weights / memory),
            np.log1p(100 * problem.sizes / memory),
            np.log1p(np.diff(problem.children.offsets)),
            np.log1p(np.diff(problem.parents.offsets)),
            np.arange(n) / n,
            *(np.full(n, math.log(n + 1) / 7), np.full(n, problem.devices / 8)),
            np.full(n, math.log(float(problem.delays.mean()) / unit + 1e-3)),
            np.full(n, float(problem.weights.sum()) / memory / problem.devices),
            np.full(n, float(np.isfinite(problem.memory))),
        ]
        rows = {kind: row for row, kind in enumerate(vocabulary, 1)}
        edges = problem.children
        return Operations(
            problem,
            torch.tensor(np.stack(columns, 1), dtype=torch.float32),
            torch.tensor([rows.get(kind, 0) for kind in problem.kinds or [""] * n]),
            torch.from_numpy(edges.sources.astype(np.int64)),
            torch.from_numpy(edges.targets.astype(np.int64)),
        )


class PublishedGo(nn.Module):
    """Log-probabilities of all choices of all operations at once."""

    def __init__(self, settings: Settings, vocabulary: Sequence[str], devices: int) -> None:
        """vocabulary: kinds of operations that have an embedding; devices: the most of a problem."""
        super().__init__()
        self.settings, self.vocabulary, self.devices, width = settings, tuple(vocabulary), devices, settings.width
        self.embed = nn.Embedding(1 + len(self.vocabulary), width, padding_idx=0)
        self.enter = nn.Sequential(Linear(_NUMBERS, width), nn.ReLU(), Linear(width, width))
        self.sage, self.attention, self.modulation = stack(settings)
        self.place = nn.Sequential(Linear(width, width), nn.ReLU(), zero_linear(width, devices))
        if settings.priorities:
            self.placed = Linear(devices, width)
            self.hand_over = SegmentAttention(settings)
            self.order = nn.Sequential(Linear(width, width), nn.ReLU(), zero_linear(width, LEVELS))

    def forward(self, operations: Operations) -> list[Tensor]:
        """Log-probabilities of every task's choices: (n, m) of the devices, and, if it orders, (n, LEVELS)."""
        x = self.enter(operations.numbers) + self.embed(operations.kinds)  # (n, width)
        x = read(x, operations, self.sage, self.attention, self.modulation)
        m = operations.problem.devices
        logs = torch.log_softmax(self.place(x)[:, :m], 1)
        if not self.settings.priorities:
            return [logs]
        expected = torch.nn.functional.pad(logs.exp(), (0, self.devices - m))
        x = self.hand_over(x + self.placed(expected))
        return [logs, torch.log_softmax(self.order(x), 1)]


def initial(settings: Settings, vocabulary: Sequence[str], devices: int, seed: int) -> PublishedGo:
    """The network before any training."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return PublishedGo(settings, vocabulary, devices)


def save(network: PublishedGo, path: Path) -> None:
    """Write the weights with all that the network is made of."""
    described = {"settings": network.settings.model_dump(), "vocabulary": network.vocabulary}
    weights.save(network, path, _KIND, json.dumps(described | {"devices": network.devices}))


def load(path: Path) -> PublishedGo:
    """A trained network from its file. Raises ValueError if the file has no such network."""

    def of(described: str) -> PublishedGo:
        parts = json.loads(described)
        return PublishedGo(Settings.model_validate(parts["settings"]), parts["vocabulary"], parts["devices"])

    return weights.load(path, _KIND, of)
