"""HDP, hierarchical device placement: the predecessor with which GO is compared (Mirhoseini et al., ICLR 2018).

A feed-forward grouper gives each operation a group by softmax. A recurrent placer reads the groups one after the other
and gives each a device; it attends to what it has read. Both learn together by REINFORCE, from simulated schedules of
this graph alone. HDP only places: the one rule of ordering gives the order.

Deviations from the paper, chosen on development graphs for 2,000 evaluations:
- groups consist of neighbouring operations: the grouper's logits are increased by how near an operation's number, which
  is topological, is to the middle of each group;
- a group tends to the device of the group before it: this has a logit of its own, which is learned, too;
- the last layers of grouper and placer are zero at first;
- the advantage of a placement is its rank among those of the same step, from -1.7 to 1.7; the paper has the reward less
  a moving mean, where one placement that exceeds the memory would outweigh all others. Ranks are by -sqrt(time), and by
  the excess of memory where a placement does not fit;
- the placer's entropy is rewarded, with a falling weight;
- every placement of a step has its own groups; the paper draws four placements for one grouping;
- learning rates are below the paper's 0.1, the grouper's below the placer's. Logits are not bounded by a tanh;
- networks and groups are smaller (settings);
- operations are described by their costs, positions and degrees; the paper uses their kinds and shapes.

The first two deviations make nearly all of its gain over random placements. On ten development problems, with one seed,
learning reduces the makespan by 0.6% in the geometric mean: by 12% on a fast link; on a slow one it adds 9%.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from scipy.stats import rankdata
from torch import Tensor, nn

from learned_schedulers.graphs.devices.completion import Completion
from learned_schedulers.graphs.devices.evaluation import Evaluated, evaluated
from learned_schedulers.graphs.devices.ordering import ordered
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import Hdp as Settings
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.proposing import improvements, of_search
from learned_schedulers.graphs.models.whole_graph.layers import zero_linear
from learned_schedulers.graphs.models.whole_graph.search import losses
from learned_schedulers.graphs.models.whole_graph.surroundings import GRAPH_NUMBERS, OPERATION_NUMBERS, Surroundings
from learned_schedulers.graphs.problems.problem import Problem


class Network(nn.Module):
    """The grouper and the placer."""

    def __init__(self, settings: Settings, devices: int) -> None:
        super().__init__()
        numbers, width = OPERATION_NUMBERS + GRAPH_NUMBERS, settings.width
        self.groups, self.devices, self.spread = settings.groups, devices, settings.spread
        self.grouper = nn.Sequential(nn.Linear(numbers, width), nn.ReLU(), zero_linear(width, settings.groups))
        # A group's means, its shares, its edges to other groups.
        self.embed = nn.Linear(numbers + 3 + settings.groups, width)
        self.reader = nn.LSTM(width, width, bidirectional=True, batch_first=True)
        self.placer = nn.LSTM(2 * width + devices, 2 * width, batch_first=True)
        self.attend = nn.Linear(2 * width, 2 * width, bias=False)
        self.choose = zero_linear(4 * width, devices)
        self.stay = nn.Parameter(torch.tensor(settings.stay))  # logit of the device of the group before

    def forward(self, graph: Surroundings, count: int, generator: torch.Generator) -> tuple[np.ndarray, Tensor, Tensor]:
        """`count` placements, (S, n); their log-probabilities, (S,); summed entropy of the placer's choices, ()."""
        logs = torch.log_softmax(self.grouper(graph.operations) + self._nearness(len(graph.operations)), 1)  # (n, G)
        group = torch.multinomial(logs.detach().exp(), count, replacement=True, generator=generator).T  # (S, n)
        inputs, nonempty = self._groups(graph, group)
        memory, _ = self.reader(torch.relu(self.embed(inputs)))  # (S, G, 2 width)
        noise = -torch.empty(self.groups, count, self.devices).exponential_(generator=generator).log()  # Gumbel's
        device = self.draw(memory.detach(), noise)
        device_logs = self.logs(memory, device)
        # An empty group decides nothing.
        placed = (device_logs.gather(2, device[..., None]).squeeze(2) * nonempty).sum(1)
        entropy = -(device_logs.exp() * device_logs).sum((1, 2)).mean()
        placements = device.gather(1, group).numpy().astype(np.int32)
        return placements, logs.gather(1, group.T).sum(0) + placed, entropy

    def logs(self, memory: Tensor, device: Tensor) -> Tensor:
        """(S, G, m) log-probabilities of all devices for each group, given the devices of the groups before, (S, G).

        memory: (S, G, 2 width), the reader's vectors of the groups.
        """
        before = nn.functional.one_hot(device, self.devices).float().roll(1, 1)
        before[:, 0] = 0
        first = memory.mean(1)[None]
        states, _ = self.placer(torch.cat([memory, before], 2), (first, torch.zeros_like(first)))
        weights = torch.softmax(self.attend(states) @ memory.transpose(1, 2), 2)
        logits = self.choose(torch.cat([states, weights @ memory], 2)) + self.stay * before
        return torch.log_softmax(logits, 2)

    @torch.no_grad()
    def draw(self, memory: Tensor, noise: Tensor) -> Tensor:
        """(S, G) devices: argmax of logits plus noise, (G, S, m). It computes the steps of `logs` by hand, faster."""
        width = memory.shape[2]
        inner, outer, *biases = self.placer.all_weights[0]
        inputs = nn.functional.linear(memory, inner[:, :width], biases[0] + biases[1])
        keys, values = memory @ self.attend.weight, memory @ self.choose.weight[:, width:].T
        state, cell = memory.mean(1), torch.zeros_like(memory[:, 0])
        before, chosen = memory.new_zeros(len(memory), self.devices), []
        for g in range(self.groups):
            gates = inputs[:, g] + before @ inner[:, width:].T + state @ outer.T
            let_in, keep, new, out = gates.chunk(4, 1)
            cell = keep.sigmoid() * cell + let_in.sigmoid() * new.tanh()
            state = out.sigmoid() * cell.tanh()
            weights = torch.softmax((keys @ state[..., None]).squeeze(2), 1)
            logits = nn.functional.linear(state, self.choose.weight[:, :width], self.choose.bias) + self.stay * before
            device = (logits + (weights[:, None] @ values).squeeze(1) + noise[g]).argmax(1)
            before = nn.functional.one_hot(device, self.devices).float()
            chosen.append(device)
        return torch.stack(chosen, 1)

    def _nearness(self, n: int) -> Tensor:
        """(n, G) logits that prefer groups of neighbouring operations."""
        positions = (torch.arange(n)[:, None] + 0.5) / n * self.groups
        return -0.5 * ((positions - torch.arange(self.groups) - 0.5) / self.spread) ** 2

    def _groups(self, graph: Surroundings, group: Tensor) -> tuple[Tensor, Tensor]:
        """The placer's inputs, (S, G, numbers), and 1 for a group that is not empty, (S, G); group: (S, n)."""
        count, n, groups = *group.shape, self.groups
        problem = graph.completion.problem
        cost_shares = [values / max(float(values.sum()), 1e-300) for values in (problem.seconds, problem.weights)]
        rows = torch.cat([graph.operations, torch.tensor(np.stack(cost_shares, 1), dtype=torch.float32)], 1)
        index = group + groups * torch.arange(count)[:, None]
        size = torch.bincount(index.reshape(-1), minlength=count * groups).float()[:, None]
        sums = torch.zeros(count * groups, rows.shape[1]).index_add_(0, index.reshape(-1), rows.repeat(count, 1))
        pairs = (index[:, graph.sources] * groups + group[:, graph.targets]).reshape(-1)
        between = torch.bincount(pairs, minlength=count * groups**2).float().view(-1, groups)  # edges
        shares = 4 * torch.cat([sums[:, -2:], size / n], 1)
        read = torch.cat([sums[:, :-2] / size.clamp(min=1), shares, torch.log1p(between)], 1)
        return read.view(count, groups, -1), (size > 0).float().view(count, groups)


def advantages(loss: np.ndarray) -> np.ndarray:
    """(S,) ranks, the least loss first, from 1.7 to -1.7, with mean 0; equal losses have equal ranks."""
    if len(loss) < 2:
        return np.zeros(len(loss))
    return 1.7 * (1 - 2 * (rankdata(loss) - 1) / (len(loss) - 1))


class Hdp:
    def __init__(self, settings: Settings, target: Target) -> None:
        self._settings, self._target = settings, target

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        n, settings, problem_on_target = len(problem), self._settings, self._target.mean
        if not n:
            nothing = np.zeros((1, 0), np.int32)
            return Proposals(nothing, nothing, stats=improvements(np.zeros(1), 0.0))
        completion = Completion(problem_on_target)
        graph = Surroundings.of(completion)
        generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**63)))
            network = Network(settings, problem.devices)
        grouper = list(network.grouper.parameters())
        placer = [values for name, values in network.named_parameters() if not name.startswith("grouper.")]
        parts: list[dict[str, Any]] = [{"params": placer}, {"params": grouper, "lr": settings.grouper_rate}]
        optimiser = torch.optim.Adam(parts, settings.learning_rate)
        costs: list[np.ndarray] = []
        best: Evaluated | None = None
        least, remaining = np.inf, budget.evaluations
        while remaining > 0:
            count = min(settings.samples, remaining)
            placements, logs, entropy = network(graph, count, generator)
            judged = evaluated(problem_on_target, ordered(problem_on_target, placements), placements)
            loss = losses(completion, judged)
            costs.append(judged.costs)
            first = int(loss.argmin())
            if loss[first] < least:
                best, least = judged[[first]], float(loss[first])
            advantage = torch.tensor(advantages(loss), dtype=torch.float32)
            weight = settings.entropy * remaining / budget.evaluations
            optimiser.zero_grad()
            (-(advantage * logs).mean() - weight * entropy).backward()
            for part in (placer, grouper):
                torch.nn.utils.clip_grad_norm_(part, 1.0)
            optimiser.step()
            remaining -= count
        assert best is not None  # a budget has one evaluation at least
        return of_search(best, np.concatenate(costs), began)


make = Hdp
