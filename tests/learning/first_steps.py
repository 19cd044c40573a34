"""The first step of every network, with the sizes of its settings, on made-up problems: the loss and the gradient.

Devices begin with the same weights and the same drawn trajectories, orders and moves, which are made on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from learned_schedulers.blocks.models.inputs import Vocabulary
from learned_schedulers.blocks.models.ordering_network import OrderingNetwork
from learned_schedulers.blocks.models.pocsnet import POCSNet
from learned_schedulers.blocks.models.pocsnet_training import loss_of
from learned_schedulers.blocks.problems.relations import relations
from learned_schedulers.graphs.compilers.rates import Rates
from learned_schedulers.graphs.devices.completion import Completion
from learned_schedulers.graphs.environment.batched import Environment
from learned_schedulers.graphs.models import fused
from learned_schedulers.graphs.models import policy as policies
from learned_schedulers.graphs.models.conditions import PLAIN, condition
from learned_schedulers.graphs.models.flow_loss import log_partition_variance
from learned_schedulers.graphs.models.fusing.fusing_network import Fusing
from learned_schedulers.graphs.models.fusing.fusing_search import draw_moves, judged
from learned_schedulers.graphs.models.fusing.numbers import Fusible, plan_numbers
from learned_schedulers.graphs.models.rollout import log_probabilities
from learned_schedulers.graphs.models.topoformer import graph_view
from learned_schedulers.graphs.models.whole_graph import moves
from learned_schedulers.graphs.models.whole_graph.network import WholeGraph
from learned_schedulers.graphs.models.whole_graph.search import State
from learned_schedulers.graphs.models.whole_graph.surroundings import standing
from learned_schedulers.operators.orders import partial_orders
from pipeline.lab.config.params import Params
from tests.blocks.models import imitated
from tests.blocks.models import made as made_blocks
from tests.graphs.compilers.made import drawn as drawn_fusion
from tests.graphs.models import small_policies
from tests.graphs.problems import drawn


class Start(NamedTuple):
    """A network on the CPU, and its loss from inputs that are moved to a device."""

    network: nn.Module
    loss: Callable[[Any, str], Tensor]


def _model(parameters: Params, experiment: str, name: str) -> Any:
    """A network's settings."""
    return vars(parameters.experiments[experiment])["models"][name]


def pocsnet(parameters: Params) -> Start:
    settings = _model(parameters, "quick", "popocs")
    blocks = made_blocks.blocks(settings.batch_size)
    problems = blocks.shown(blocks.input_order)
    paths = torch.from_numpy(blocks.trie.paths[problems.instructions.ravel()])
    inputs = paths, torch.from_numpy(blocks.trie.last_token), torch.from_numpy(blocks.input_order).long()
    orders = partial_orders(problems.precedes)

    def loss(network: POCSNet, device: str) -> Tensor:
        paths_there, last_token, slots = (part.to(device) for part in inputs)
        embedded = network.encoder(paths_there, last_token).view(len(problems), -1)
        return loss_of(network, network.mlp(embedded).view(-1, network.n, network.n), orders, slots)

    return Start(POCSNet(blocks.input_order.shape[1], blocks.trie.n_tokens, settings), loss)


def ordering(parameters: Params) -> Start:
    settings = _model(parameters, "imitation", "attention_pointer")
    encoder = settings.encoder.model_copy(update={"dropout": 0.0, "token_dropout": 0.0})  # devices draw differently
    store, encodings, sample = imitated.corpus(settings.batch_instructions // 20, 20, 20)
    shown = np.stack(sample.orders)
    problems = store.problems(sample.rows, shown)
    related, target = relations(problems, encodings.compared), np.argsort(shown, axis=1)
    vocabulary = Vocabulary.of(encodings, store.instructions_of(sample.rows), 1)
    bags = vocabulary.bags(encodings)

    def loss(network: OrderingNetwork, device: str) -> Tensor:
        with torch.device("cpu"):  # the network moves its own inputs
            total, choices = network.head.loss(network.embed(problems, related, bags), problems, related, target)
            return total / choices

    return Start(
        OrderingNetwork(vocabulary, settings.model_copy(update={"encoder": encoder, "precision": "float32"})), loss
    )


def policy(parameters: Params) -> Start:
    settings = _model(parameters, "gflownet", "gflownet")
    problem, sigma = small_policies.problem(0, 50, 4), 0.1
    network = policies.make(settings)
    view, conditions = graph_view(problem), condition(problem, sigma, PLAIN, settings.trajectories)
    environment = Environment(problem, settings.trajectories, settings.sequence)
    with torch.no_grad():
        graph, generator = network.read(view), torch.Generator().manual_seed(0)
        rollouts = fused.trajectories(network, graph, problem, environment, conditions, generator)
    log_rewards = (problem.seconds.sum() / environment.makespan - problem.devices) / sigma

    def loss(network: policies.Policy, device: str) -> Tensor:
        graph = network.read(moved(view, device))
        logs = log_probabilities(network, graph, moved(rollouts, device), conditions.to(device))
        rewards = log_rewards.to(device, logs.forward.dtype)
        return sigma * log_partition_variance(rewards, logs.forward, logs.backward)

    return Start(network, loss)


def whole_graph(parameters: Params) -> Start:
    settings = _model(parameters, "placement_transfer", "generalised").settings
    rng = np.random.default_rng(0)
    state = State.begin(Completion(drawn.problem(rng, 500, 4, 0.01)))
    inputs, network = standing(state.surroundings, state.decisions, state.evaluated), WholeGraph(settings)
    labels = np.arange(500)[None].repeat(settings.samples, 0)
    groups, counts = np.full(settings.samples, 500), np.full(settings.samples, settings.most_moves)
    with torch.no_grad():
        scores = network(state.surroundings, inputs)
    decisions = moves.draw(scores, labels, groups, counts, settings.placing, settings.uniform, rng)
    advantage = torch.from_numpy(rng.standard_normal(settings.samples)).float()

    def loss(network: WholeGraph, device: str) -> Tensor:
        scores = network(moved(state.surroundings, device), moved(inputs, device))
        logs = moves.log_probabilities(scores, moved(decisions, device), settings.uniform)
        return scores.size - (logs * advantage.to(device)).mean()

    return Start(network, loss)


def fusing(parameters: Params) -> Start:
    settings = _model(parameters, "fusion", "fusing").settings
    rng = np.random.default_rng(0)
    problem = drawn_fusion(300, rng, Rates(1.0, 0.0, 1.0, 1.0, 0.5, 0.1, 1.0, 1.0, 1.0))
    state, fusible, network = judged(problem, np.zeros(problem.n, np.int8)), Fusible.of(problem), Fusing(settings)
    inputs = plan_numbers(fusible, state.levels, state.plan)
    with torch.no_grad():
        scores = network(fusible, inputs)
    decisions = draw_moves(scores, problem, settings, settings.samples, rng)
    advantage = torch.from_numpy(rng.standard_normal(settings.samples)).float()

    def loss(network: Fusing, device: str) -> Tensor:
        scores = network(moved(fusible, device), inputs.to(device))
        logs = moves.log_probabilities(scores, moved(decisions, device), settings.uniform)
        return scores.size - (logs * advantage.to(device)).mean()

    return Start(network, loss)


STARTS: dict[str, Callable[[Params], Start]] = {
    "pocsnet": pocsnet,
    "ordering": ordering,
    "policy": policy,
    "whole_graph": whole_graph,
    "fusing": fusing,
}


def moved(value: Any, device: str) -> Any:
    """A value whose tensors, also those in tuples and dataclasses, are on a device."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(moved(part, device) for part in value))
    if is_dataclass(value) and not isinstance(value, type):
        tensors = {f.name: getattr(value, f.name) for f in fields(value) if isinstance(getattr(value, f.name), Tensor)}
        return replace(value, **{name: tensor.to(device) for name, tensor in tensors.items()}) if tensors else value
    return value


def compared(start: Start, device: str) -> tuple[float, float]:
    """Relative differences of the loss and of the gradient's largest entry between the CPU and a device."""
    loss, gradient = _first(deepcopy(start.network), start.loss, "cpu")
    loss_there, gradient_there = _first(deepcopy(start.network).to(device), start.loss, device)
    return abs(loss_there - loss) / abs(loss), float((gradient_there - gradient).abs().max() / gradient.abs().max())


def _first(network: nn.Module, loss: Callable[[Any, str], Tensor], device: str) -> tuple[float, Tensor]:
    """The loss, and the gradient of all weights, on the CPU."""
    network.train()
    with torch.device(device):  # where the networks make tensors of their own
        value = loss(network, device)
    value.backward()
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in network.parameters()]
    return float(value.detach()), torch.cat([gradient.flatten() for gradient in gradients]).cpu()
