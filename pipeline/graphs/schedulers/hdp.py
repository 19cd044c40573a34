"""HDP, hierarchical device placement: the earlier state of the art of GO (Mirhoseini et al., ICLR 2018).

A feed-forward grouper gives each operation a group by softmax; a recurrent placer reads the groups one after the other
and gives each a device, attending to what it has read. Both are trained together by REINFORCE on this graph alone;
reward -sqrt(time), -10 for what the memory does not hold, baseline a moving mean of the rewards. It only places: the
one rule of ordering gives the order. Sizes are below the paper's, whose graphs are larger (settings); operations are
read by their costs, positions and degrees, where the paper reads their kinds and shapes.
"""

from __future__ import annotations

import time

import numpy as np
import torch
from torch import Tensor, nn

from pipeline.config.graph_methods.hdp import Settings
from pipeline.graphs.devices.completion import Completion
from pipeline.graphs.devices.evaluation import Evaluated, evaluated
from pipeline.graphs.devices.targets import Target
from pipeline.graphs.models.whole_graph.search import losses
from pipeline.graphs.models.whole_graph.surroundings import GRAPH_NUMBERS, OPERATION_NUMBERS, Surroundings
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers import Budget, Proposals
from pipeline.graphs.schedulers.rules.improvements import improvements
from pipeline.graphs.schedulers.rules.ordering import ordered


class Network(nn.Module):
    """Grouper and placer."""

    def __init__(self, settings: Settings, devices: int) -> None:
        super().__init__()
        numbers, width = OPERATION_NUMBERS + GRAPH_NUMBERS, settings.width
        self.groups, self.devices = settings.groups, devices
        self.grouper = nn.Sequential(nn.Linear(numbers, width), nn.ReLU(), nn.Linear(width, settings.groups))
        self.embed = nn.Linear(numbers + 1 + settings.groups, width)  # means of a group, its size, its edges to others
        self.reader = nn.LSTM(width, width, bidirectional=True, batch_first=True)
        self.placer = nn.LSTMCell(2 * width + devices, 2 * width)
        self.attend = nn.Linear(2 * width, 2 * width, bias=False)
        self.choose = nn.Linear(4 * width, devices)

    def forward(self, graph: Surroundings, count: int, generator: torch.Generator) -> tuple[np.ndarray, Tensor, Tensor]:
        """`count` placements, (S, n); their log-probabilities, (S,); the mean entropy of all choices, ()."""
        logits = self.grouper(graph.operations)  # (n, G)
        n = len(logits)
        chances = torch.softmax(logits, 1)
        group = torch.multinomial(chances.detach(), count, replacement=True, generator=generator).T  # (S, n)
        logs = torch.log_softmax(logits, 1)
        grouped = logs.expand(count, -1, -1).gather(2, group[..., None]).squeeze(2).sum(1)
        member = torch.nn.functional.one_hot(group, self.groups).float()  # (S, n, G)
        size = member.sum(1)  # (S, G)
        mean = member.transpose(1, 2) @ graph.operations / size.clamp(min=1)[..., None]
        between = member[:, graph.sources].transpose(1, 2) @ member[:, graph.targets]  # (S, G, G) edges
        share = (size / n)[..., None]
        read = torch.relu(self.embed(torch.cat([mean, share, torch.log1p(between)], 2)))
        memory, _ = self.reader(read)  # (S, G, 2 width)
        state = (memory.mean(1), torch.zeros_like(memory[:, 0]))
        before = memory.new_zeros(count, self.devices)
        placed, chosen, entropy = grouped, [], -(chances * logs).sum(1).mean()
        for g in range(self.groups):
            state = self.placer(torch.cat([memory[:, g], before], 1), state)
            weights = torch.softmax((memory @ self.attend(state[0])[..., None]).squeeze(2), 1)
            context = (weights[..., None] * memory).sum(1)
            device_logs = torch.log_softmax(self.choose(torch.cat([state[0], context], 1)), 1)
            device = torch.multinomial(device_logs.detach().exp(), 1, generator=generator)
            used = (size[:, g] > 0).float()  # an empty group decides nothing
            placed = placed + used * device_logs.gather(1, device).squeeze(1)
            entropy = entropy - (device_logs.exp() * device_logs).sum(1).mean() / self.groups
            before = torch.nn.functional.one_hot(device.squeeze(1), self.devices).float()
            chosen.append(device.squeeze(1))
        devices = torch.stack(chosen, 1).gather(1, group)  # (S, n)
        return devices.numpy().astype(np.int32), placed, entropy


class Hdp:
    def __init__(self, settings: Settings, target: Target) -> None:
        self._settings, self._target = settings, target

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        n, chosen, told = len(problem), self._settings, self._target.mean
        if not n:
            nothing = np.zeros((1, 0), np.int32)
            return Proposals(nothing, nothing, stats=improvements(np.zeros(1), 0.0))
        completion = Completion(told)
        graph = Surroundings.of(completion)
        generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**63)))
            network = Network(chosen, problem.devices)
        optimiser = torch.optim.Adam(network.parameters(), chosen.learning_rate)
        costs: list[np.ndarray] = []
        best: Evaluated | None = None
        least, baseline, left = np.inf, None, budget.evaluations
        while left > 0:
            count = min(chosen.samples, left)
            placements, logs, entropy = network(graph, count, generator)
            judged = evaluated(told, ordered(told, placements), placements)
            loss = losses(completion, judged)
            costs.append(judged.costs)
            first = int(loss.argmin())
            if loss[first] < least:
                best, least = judged[[first]], float(loss[first])
            mean = float(loss.mean())
            baseline = mean if baseline is None else chosen.baseline * baseline + (1 - chosen.baseline) * mean
            advantage = torch.tensor(baseline - loss, dtype=torch.float32)
            weight = chosen.entropy * left / budget.evaluations
            optimiser.zero_grad()
            (-(advantage * logs).mean() - weight * entropy).backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            left -= count
        assert best is not None  # a budget has one evaluation at least
        if not best.fits[0]:
            return Proposals.unsupported(
                n,
                f"no placement that was tried fits devices of {problem.memory:g} bytes: the best of "
                f"{budget.evaluations} needs {best.excess[0]:.1%} more in sum",
            )
        stats = improvements(np.concatenate(costs), time.perf_counter() - began)
        return Proposals(best.orders, best.placements, stats=stats)


make = Hdp
