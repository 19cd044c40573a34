"""P_F and P_B of a GFlowNet on schedules: the graph is read once, and small heads see the state.

Zhang et al. 2023 (appendix B) read the whole state anew at every step; that network is frozen with the experiment
`gflownet_small_graph`. Here an encoder reads the graph once. The heads
see the encoder's vectors of the operations that may be added and of the last operation on every device, the mean vector
of the unscheduled operations, and numbers of the state (observation.py).
P_F(operation, device) = P(operation) P(device | operation). Heads are the same for all devices, and their first layer
is scaled and shifted by the condition (FiLM).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from learned_schedulers.graphs.models.candidate_scores import CandidateScores
from learned_schedulers.graphs.models.heads import Film, Score
from learned_schedulers.graphs.models.observation import (
    BEHIND_LONGEST,
    LATER_THAN_BEST,
    LATER_THAN_FIRST,
    N_DEVICE,
    N_OPERATION,
    N_PAIR,
    N_STATE,
    Observation,
)
from learned_schedulers.graphs.models.policy_settings import Policy as Settings
from learned_schedulers.graphs.models.products import Linear
from learned_schedulers.graphs.models.topoformer import GraphView, Topoformer
from learned_schedulers.learning import weights

_KIND = "policy"  # of its file of weights
_PREFERENCE = 0.3  # for list scheduling's choice before training, as a share of what a mean run time puts at stake


class Graph(NamedTuple):
    """What the heads need of a graph's operations; it is computed once."""

    vectors: torch.Tensor  # (n + 1, width); the last row is zero, for an empty device
    as_operation: torch.Tensor  # (n, hidden)
    as_choice: torch.Tensor  # (n, hidden)
    as_tip: torch.Tensor  # (n + 1, hidden)
    as_removed: torch.Tensor  # (n + 1, hidden)


class Policy(nn.Module):
    def __init__(self, settings: Settings) -> None:
        super().__init__()
        width, hidden = settings.width, settings.hidden
        self.settings = settings
        self.encoder = Topoformer(width, settings.layers)
        self.of_operation = Linear(width, hidden)
        self.of_choice = Linear(width, hidden)
        self.of_tip = Linear(width, hidden)
        self.of_removed = Linear(width, hidden)
        self.of_left = Linear(width, hidden)
        self.device, self.device_out = Linear(N_DEVICE, hidden), Linear(hidden, hidden)
        self.state, self.context = Linear(N_STATE, hidden), Linear(hidden, hidden)
        self.operation_in, self.operation_context = Linear(N_OPERATION, hidden), Linear(hidden, hidden)
        self.pair_in, self.pair_tip = Linear(N_PAIR, hidden), Linear(width, hidden)
        self.pair_context = Linear(hidden, hidden)
        self.removed_in, self.removed_context = Linear(N_DEVICE, hidden), Linear(hidden, hidden)
        self.operation_score = Score(hidden, second=False)  # a single layer: every state has many operations
        self.pair_score, self.removed_score = Score(hidden), Score(hidden)
        self.operation_film, self.pair_film, self.removed_film = Film(hidden), Film(hidden), Film(hidden)
        self.preference_film = Film(2)
        preference = _PREFERENCE if settings.start == "list" else 0.0
        self.preference = nn.Parameter(torch.tensor([preference, -preference, -preference]))
        self.value = Linear(hidden, 1)
        nn.init.zeros_(self.value.weight)

    def read(self, graph: GraphView) -> Graph:
        """The vectors of a graph's operations."""
        vectors = self.encoder(graph.features[None], graph.visible[None])[0]
        vectors = functional.pad(vectors, (0, 0, 0, 1))
        return Graph(
            vectors,
            self.of_operation(vectors[:-1]),
            self.of_choice(vectors[:-1]),
            self.of_tip(vectors),
            self.of_removed(vectors),
        )

    def contexts(self, graph: Graph, observation: Observation) -> torch.Tensor:
        """(S, hidden): a vector of each whole state."""
        devices = functional.silu(graph.as_tip[observation.tips] + self.device(observation.devices))
        usable = observation.usable[..., None].to(devices.dtype)
        # The mean precedes the layer, of which it is a linear function, because that is fewer products.
        devices = self.device_out((devices * usable).mean(1)) + self.device_out.bias * (usable.mean(1) - 1)
        unscheduled = observation.unscheduled.to(devices.dtype)
        mean = unscheduled @ graph.vectors[:-1] / unscheduled.sum(1, keepdim=True).clamp_min(1)
        whole = devices + self.state(observation.state) + self.of_left(mean)
        out: torch.Tensor = functional.silu(self.context(functional.silu(whole)))
        return out

    def operations(
        self, graph: Graph, observation: Observation, context: torch.Tensor, condition: torch.Tensor
    ) -> torch.Tensor:
        """Scores of the operations that may be added, (R,)."""
        rows = observation.rows
        scale, shift = self.operation_film(condition)
        shift = shift + scale * self.operation_context(context)
        stakes = condition[:, :1].exp()
        preferences = self.preference_film(condition)[0] * self.preference[:2] * stakes  # (S, 2)
        differences = observation.candidates[:, [BEHIND_LONGEST, LATER_THAN_FIRST]]
        preferred = (preferences[rows] * differences).sum(-1)
        if condition.device.type != "cpu":
            first = graph.as_operation[observation.operations] + self.operation_in(observation.candidates)
            return self.operation_score(first * scale[rows] + shift[rows], stakes[rows, 0]) + preferred
        out = self.operation_score.out.weight
        scores: torch.Tensor = CandidateScores.apply(
            observation.candidates,
            observation.operations,
            torch.bincount(rows, minlength=len(condition)),
            graph.as_operation + self.operation_in.bias,
            self.operation_in.weight.T,
            scale,
            shift,
            out[0] + stakes * out[1],  # without the bias, which is the same for all operations of a state
        )
        return scores + preferred

    def devices(
        self,
        graph: Graph,
        observation: Observation,
        chosen: torch.Tensor,
        context: torch.Tensor,
        condition: torch.Tensor,
    ) -> torch.Tensor:
        """log P of the devices of the operation that is chosen in each state, (S, m).

        chosen: (S,) index into the R operations that may be added, of the first S states that are observed.
        """
        scale, shift = (part[:, None] for part in self.pair_film(condition))
        pairs = observation.pairs[chosen]  # (S, m, N_PAIR)
        first = self.pair_in(pairs) + self.pair_tip(graph.vectors)[observation.tips[: len(chosen)]]
        first = first + (graph.as_choice[observation.operations[chosen]] + self.pair_context(context))[:, None]
        stakes = condition[:, :1].exp()
        scores = self.pair_score(first * scale + shift, stakes)
        scores = scores + self.preference[2] * stakes * pairs[..., LATER_THAN_BEST]
        return scores.masked_fill(~observation.allowed[chosen], -torch.inf).log_softmax(-1)

    def removals(
        self, graph: Graph, observation: Observation, first: int, context: torch.Tensor, condition: torch.Tensor
    ) -> torch.Tensor:
        """Scores of the devices whose last operation may be removed, (S, m), of all states after the first `first`."""
        tips, devices = observation.tips[first:], observation.devices[first:]
        scale, shift = (part[:, None] for part in self.removed_film(condition))
        whole = graph.as_removed[tips] + self.removed_in(devices) + self.removed_context(context)[:, None]
        return self.removed_score(whole * scale + shift, condition[:, :1].exp())

    def values(self, context: torch.Tensor) -> torch.Tensor:
        """(S,): the return that PPO expects of each state."""
        out: torch.Tensor = self.value(context).squeeze(-1)
        return out


def make(settings: Settings) -> Policy:
    """An untrained policy; torch's generator draws its weights."""
    return Policy(settings)


def save(policy: Policy, path: Path) -> None:
    """Write the weights with the settings."""
    weights.save(policy, path, _KIND, policy.settings.model_dump_json())


def load(path: Path) -> Policy:
    """A trained policy from its file. Raises ValueError if the file holds no policy."""
    return weights.load(path, _KIND, lambda described: make(Settings.model_validate_json(described)))
