"""P_F and P_B as in Zhang et al. 2023 (section 4 and appendix B): the whole state is read anew at every step.

A Topoformer reads all operations: their run times, starts, and whether they may be added or removed. Its heads see
parents, children, ancestors and descendants in the graph together with the sequence on every device. The paper marks
devices by a one-hot vector; as devices are alike, edges between neighbours on a device do so here, and the head for the
device sees the vectors of the operation and of the last operation on the device. A step of training takes about
(operations + 1) x trajectories encodings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from learned_schedulers.graphs.environment.batched import Environment
from learned_schedulers.graphs.models.heads import Film, Score
from learned_schedulers.graphs.models.policy_settings import Policy as Settings
from learned_schedulers.graphs.models.products import Linear
from learned_schedulers.graphs.models.topoformer import GraphView, Topoformer

_INPUTS = 7


class Graph(NamedTuple):
    parents: torch.Tensor  # (n, n) bool: k is a parent of i


@dataclass(frozen=True)
class WholeState:
    """S states of one graph on m devices, and the R operations that may be added to them."""

    tips: torch.Tensor  # (S, m) last operation of each device, n if it is empty
    removable: torch.Tensor  # (S, m) bool
    inputs: torch.Tensor  # (S, n, _INPUTS)
    before: torch.Tensor  # (S, n) the operation before each one on its device; n if there is none
    rows: torch.Tensor  # (R,) the state of each operation, ascending
    operations: torch.Tensor  # (R,)
    allowed: torch.Tensor  # (R, m) bool

    @staticmethod
    def joined(parts: list[WholeState]) -> WholeState:
        """The states of all parts, one after the other."""
        states = len(parts[0].tips)
        names = [field.name for field in fields(WholeState) if field.name != "rows"]
        rows = torch.cat([part.rows + states * k for k, part in enumerate(parts)])
        return WholeState(rows=rows, **{name: torch.cat([getattr(part, name) for part in parts]) for name in names})


class Observer:
    """Observes an environment; it has to be called before every step from the first one on."""

    def __init__(self, environment: Environment) -> None:
        self._env = environment
        self._unit = float(environment.seconds.mean()) or 1.0
        self._before = torch.full_like(environment.placement, environment.operations)
        self._tips = torch.full_like(environment.last, environment.operations)

    def __call__(self) -> WholeState:
        env, unit, n = self._env, self._unit, self._env.operations
        tips = torch.where(env.last < 0, n, env.last)
        rows, device = (tips != self._tips).nonzero(as_tuple=True)
        self._before[rows, tips[rows, device]] = self._tips[rows, device]
        self._tips = tips
        ready, scheduled = env.ready, env.placement >= 0
        rows, operations = ready.nonzero(as_tuple=True)
        allowed = env.allowed(rows, operations, env.starts(rows, operations))
        may_be_added = allowed.any(1)
        removable = torch.zeros(len(tips), n + 1, dtype=torch.bool, device=tips.device)
        removable.scatter_(1, torch.where(env.removable, tips, n), True)
        starts = torch.where(scheduled, (env.ends - env.seconds) / unit, -1.0)
        latest = env.makespan[:, None].expand(-1, n) / unit
        length = env.seconds.expand(len(tips), n) / unit
        columns = [length, starts, torch.log1p(starts.clamp_min(0.0)), latest, ready, removable[:, :n], scheduled]
        return WholeState(
            tips=tips,
            removable=env.removable,
            inputs=torch.stack([column.to(torch.float32) for column in columns], -1),
            before=self._before.clone(),
            rows=rows[may_be_added],
            operations=operations[may_be_added],
            allowed=allowed[may_be_added],
        )


class ReadsEveryStep(nn.Module):
    def __init__(self, settings: Settings) -> None:
        super().__init__()
        width, hidden = settings.width, settings.hidden
        self.settings = settings
        self.encoder = Topoformer(width, settings.layers, _INPUTS)
        self.of_operation, self.of_choice, self.of_tip = (Linear(width, hidden) for _ in range(3))
        self.of_removed = Linear(width, hidden)
        self.operation_score, self.pair_score, self.removed_score = Score(hidden), Score(hidden), Score(hidden)
        self.operation_film, self.pair_film, self.removed_film = Film(hidden), Film(hidden), Film(hidden)
        self.value = Linear(width, 1)
        nn.init.zeros_(self.value.weight)

    def read(self, graph: GraphView) -> Graph:
        """The edges of the graph, which every state needs."""
        itself = torch.eye(graph.visible.shape[-1], dtype=torch.bool, device=graph.visible.device)
        return Graph(graph.visible[0] & ~itself)

    def observer(self, environment: Environment, tails: torch.Tensor) -> Callable[[], Any]:
        """The function that observes an environment for this network."""
        return Observer(environment)

    def contexts(self, graph: Graph, observation: WholeState) -> torch.Tensor:
        """(S, n + 1, width): every operation in each state, zeros last."""
        vectors = self.encoder(observation.inputs, _relatives(graph.parents, observation.before))
        return functional.pad(vectors, (0, 0, 0, 1))

    def operations(
        self, graph: Graph, observation: WholeState, context: torch.Tensor, condition: torch.Tensor
    ) -> torch.Tensor:
        """Scores of the operations that may be added, (R,)."""
        rows = observation.rows
        scale, shift = self.operation_film(condition)
        first = self.of_operation(context[rows, observation.operations])
        stakes = condition[:, 0].exp()
        return self.operation_score(first * scale[rows] + shift[rows], stakes[rows])

    def devices(
        self,
        graph: Graph,
        observation: WholeState,
        chosen: torch.Tensor,
        context: torch.Tensor,
        condition: torch.Tensor,
    ) -> torch.Tensor:
        """log P of the devices of the operation that is chosen in each state, (S, m).

        chosen: (S,) index into the R operations that may be added, of the first S states that are observed.
        """
        scale, shift = (part[:, None] for part in self.pair_film(condition))
        states = torch.arange(len(chosen), device=chosen.device)
        first = self.of_tip(context[states[:, None], observation.tips[: len(chosen)]])
        first = first + self.of_choice(context[states, observation.operations[chosen]])[:, None]
        scores = self.pair_score(first * scale + shift, condition[:, :1].exp())
        return scores.masked_fill(~observation.allowed[chosen], -torch.inf).log_softmax(-1)

    def removals(
        self, graph: Graph, observation: WholeState, first: int, context: torch.Tensor, condition: torch.Tensor
    ) -> torch.Tensor:
        """Scores of the devices whose last operation may be removed, (S, m), of all states after the first `first`."""
        scale, shift = (part[:, None] for part in self.removed_film(condition))
        states = torch.arange(len(context), device=context.device)
        tips = self.of_removed(context[states[:, None], observation.tips[first:]])
        return self.removed_score(tips * scale + shift, condition[:, :1].exp())

    def values(self, context: torch.Tensor) -> torch.Tensor:
        """(S,): the return that PPO expects of each state."""
        out: torch.Tensor = self.value(context.mean(1)).squeeze(-1)
        return out


def _relatives(parents: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
    """(S, HEADS, n, n) bool: parents, children, ancestors, descendants by graph and sequences, each with itself."""
    states, n = before.shape
    near = parents.expand(states, n, n).clone()
    rows, operations = (before < n).nonzero(as_tuple=True)
    near[rows, operations, before[rows, operations]] = True
    far = near
    for _ in range(max(n - 1, 1).bit_length()):  # paths of up to 2, 4, 8, ... edges
        numbers = far.to(torch.float32)
        far = far | (numbers @ numbers > 0)
    itself = torch.eye(n, dtype=torch.bool, device=before.device)
    return torch.stack([near | itself, near.mT | itself, far | itself, far.mT | itself], 1)
