"""Operations are placed anew one after the other, in the manner of Placeto (Addanki et al., NeurIPS 2019).

An episode starts from a fixed placement and goes through all operations in topological order. A graph network reads the
graph with its present placement, and gives the current operation a device. Every step is simulated: one evaluation. Its
reward is the reduction of the makespan, as a share of one device's time; an excess of memory counts as time. The
network learns by REINFORCE from this graph alone. It only places: the one rule of ordering gives the order. The
proposal is the best of all simulated schedules.

Deviations from the paper:
- the network learns every `read_every` operations, from returns that end there; the paper learns after episodes;
- the graph is read once for these operations; the numbers of each device are read anew at every step;
- messages go to parents and children in a few layers; the paper pools all ancestors, descendants, and other operations;
- the baseline is a moving mean of the returns; the advantage is divided by a moving mean of its size, and clipped;
- operations are described by their costs, positions and degrees; the paper uses costs and the present device alone.
"""

from __future__ import annotations

import time

import numpy as np
import torch
from torch import Tensor, nn

from learned_schedulers.graphs.devices.completion import Completion
from learned_schedulers.graphs.devices.evaluation import Evaluated, evaluated
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import NodeByNode as Settings
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.ordering import ordered
from learned_schedulers.graphs.methods.rules.proposing import improvements, of_search
from learned_schedulers.graphs.models.whole_graph.search import INVALID, losses
from learned_schedulers.graphs.models.whole_graph.surroundings import GRAPH_NUMBERS, OPERATION_NUMBERS, Surroundings
from learned_schedulers.graphs.problems.problem import Problem

# Whether the operation is on the device; run time and memory of the device; shares of its parents and children there.
_DEVICE_NUMBERS = 5
_LONGEST_STEP = 1.0  # of a gradient


class Network(nn.Module):
    """Reads a graph with its placement, and scores the devices for an operation."""

    def __init__(self, settings: Settings, devices: int) -> None:
        super().__init__()
        width = settings.width
        self.enter = nn.Linear(OPERATION_NUMBERS + GRAPH_NUMBERS + devices + 2, width)
        self.up = nn.ModuleList([nn.Linear(width, width) for _ in range(settings.layers)])
        self.down = nn.ModuleList([nn.Linear(width, width) for _ in range(settings.layers)])
        self.merge = nn.ModuleList([nn.Linear(3 * width, width) for _ in range(settings.layers)])
        self.score = nn.Sequential(nn.Linear(2 * width + _DEVICE_NUMBERS, width), nn.ReLU(), nn.Linear(width, 1))

    def read(self, graph: Surroundings, numbers: Tensor) -> Tensor:
        """(n, width) from numbers, (n, devices + 2): one-hot device, end, whether it was placed in this episode."""
        x = torch.relu(self.enter(torch.cat([graph.operations, numbers], 1)))
        for up, down, merge in zip(self.up, self.down, self.merge, strict=True):
            above = torch.zeros_like(x).index_add(0, graph.targets, torch.relu(down(x))[graph.sources])
            below = torch.zeros_like(x).index_add(0, graph.sources, torch.relu(up(x))[graph.targets])
            x = x + torch.relu(merge(torch.cat([x, torch.log1p(above), torch.log1p(below)], 1)))
        return x

    def devices(self, x: Tensor, operation: int, means: Tensor, numbers: Tensor) -> Tensor:
        """(m,) log-probabilities; means: (m, width) over each device's operations; numbers: (m, _DEVICE_NUMBERS)."""
        of_operation = x[operation].expand(len(means), -1)
        return torch.log_softmax(self.score(torch.cat([of_operation, means, numbers], 1)).squeeze(1), 0)


class Walk:
    """The placement that is changed step by step, and all simulated schedules. The start is one evaluation."""

    def __init__(self, problem: Problem, start: np.ndarray) -> None:
        self.completion, self.start, self.placement = Completion(problem), start, start.copy()
        self.alone = float(problem.seconds.sum()) or 1.0
        self.costs: list[float] = []
        self.least = np.inf
        self.now = self.best = self.first = self._simulate()

    def place(self, operation: int, device: int) -> float:
        """Put the operation on the device and simulate: one evaluation. Returns the gain, in one device's time."""
        before = self._time()
        self.placement[operation] = device
        self.now = self._simulate()
        return before - self._time()

    def begin(self) -> None:
        """Return to the start; this is no evaluation, as its schedule is known."""
        self.placement[:] = self.start
        self.now = self.first

    def device_numbers(self, operation: int) -> np.ndarray:
        """(m, _DEVICE_NUMBERS) numbers of the devices for an operation."""
        problem = self.completion.problem
        m = problem.devices
        shares = []
        for edges in (problem.parents, problem.children):
            neighbour_devices = self.placement[edges.targets[edges.offsets[operation] : edges.offsets[operation + 1]]]
            shares.append(np.bincount(neighbour_devices, minlength=m) / max(len(neighbour_devices), 1))
        load = np.bincount(self.placement, problem.seconds, m) / self.alone * m
        memory = np.minimum(self.now.peaks[0] / max(problem.memory, 1e-300), 10.0)
        return np.stack([np.eye(m)[self.placement[operation]], load, memory, *shares], 1)

    def _time(self) -> float:
        """Makespan of the present placement plus excess memory, as a share of one device's time."""
        return float(self.now.seconds[0] / self.alone + INVALID * self.now.excess[0])

    def _simulate(self) -> Evaluated:
        problem, placements = self.completion.problem, self.placement[None].copy()
        judged = evaluated(problem, ordered(problem, placements), placements)
        self.costs.append(float(judged.costs[0]))
        loss = float(losses(self.completion, judged)[0])
        if loss < self.least:
            self.best, self.least = judged, loss
        return judged


class NodeByNode:
    def __init__(self, settings: Settings, target: Target) -> None:
        self._settings, self._target = settings, target

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        n, settings, problem_on_target = len(problem), self._settings, self._target.mean
        if n > settings.most_operations:
            return Proposals.unsupported(n, f"{n} operations; at most {settings.most_operations} are placed one by one")
        if not n:
            nothing = np.zeros((1, 0), np.int32)
            return Proposals(nothing, nothing, stats=improvements(np.zeros(1), 0.0))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**63)))
            network = Network(settings, problem.devices)
        optimiser = torch.optim.Adam(network.parameters(), settings.learning_rate)
        start = rng.integers(0, problem.devices, n) if settings.start == "random" else np.zeros(n)
        walk = Walk(problem_on_target, start.astype(np.int32))
        graph = Surroundings.of(walk.completion)
        begin, mean, spread, remaining = 0, 0.0, 1e-4, budget.evaluations - 1
        while remaining > 0:
            count = min(settings.read_every, n - begin, remaining)
            logs, entropy, rewards = _segment(network, graph, walk, range(begin, begin + count), rng)
            returns = _returns(rewards, settings.discount)
            advantage = np.clip((returns - mean) / spread, -2.0, 2.0)
            weight = settings.entropy * remaining / budget.evaluations
            optimiser.zero_grad()
            (-(torch.tensor(advantage, dtype=torch.float32) * logs).mean() - weight * entropy).backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), _LONGEST_STEP)
            optimiser.step()
            decay = settings.baseline
            spread = decay * spread + (1 - decay) * float(np.abs(returns - mean).mean()) + 1e-9
            mean = decay * mean + (1 - decay) * float(returns.mean())
            remaining -= count
            begin += count
            if begin == n:
                walk.begin()
                begin = 0
        return of_search(walk.best, np.array(walk.costs), began)


def _segment(
    network: Network, graph: Surroundings, walk: Walk, operations: range, rng: np.random.Generator
) -> tuple[Tensor, Tensor, np.ndarray]:
    """Place these operations: log-probabilities of the drawn devices, (k,); mean entropy, (); rewards, (k,)."""
    n, m = graph.operations.shape[0], walk.completion.problem.devices
    ends = walk.now.ends[0] / max(float(walk.now.seconds[0]), 1e-300)
    numbers = np.concatenate([np.eye(m)[walk.placement], ends[:, None], np.zeros((n, 1))], 1)
    numbers[: operations.start, -1] = 1.0
    x = network.read(graph, torch.tensor(numbers, dtype=torch.float32))
    logs, entropies, rewards = [], [], []
    for operation in operations:
        on_device = torch.from_numpy(np.eye(m, dtype=np.float32)[walk.placement])  # (n, m)
        means = on_device.T @ x / on_device.sum(0).clamp(min=1)[:, None]
        device_numbers = torch.tensor(walk.device_numbers(operation), dtype=torch.float32)
        log = network.devices(x, operation, means, device_numbers)
        chances = log.detach().exp().double().numpy()
        device = int(rng.choice(m, p=chances / chances.sum()))
        logs.append(log[device])
        entropies.append(-(log.exp() * log).sum())
        rewards.append(walk.place(operation, device))
    return torch.stack(logs), torch.stack(entropies).mean(), np.array(rewards)


def _returns(rewards: np.ndarray, discount: float) -> np.ndarray:
    """(k,) discounted sum of the rewards from each step on."""
    total, returns = 0.0, np.empty(len(rewards))
    for step in range(len(rewards) - 1, -1, -1):
        total = rewards[step] + discount * total
        returns[step] = total
    return returns


make = NodeByNode
