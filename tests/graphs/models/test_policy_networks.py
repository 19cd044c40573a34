"""Both networks: what they say depends on the state alone, is a distribution, and is what schedules are drawn by."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import save_file

from pipeline.graphs.environment.batched import Environment
from pipeline.graphs.models import ppo_loss
from pipeline.graphs.models.conditions import PLAIN, condition
from pipeline.graphs.models.flow_loss import log_partition_variance
from pipeline.graphs.models.policy import Policy, load, make, save
from pipeline.graphs.models.rollout import Trajectories, log_probabilities, schedules, trajectories
from pipeline.graphs.models.topoformer import GraphView, graph_view
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers.rules.listing import by_critical_path
from tests.graphs.models import small_policies
from tests.graphs.models.small_jobs import renumbered
from tests.graphs.models.small_policies import SIGMA, TOLD, Steps, policy, probabilities, problem, steps
from tests.graphs.problems import drawn

READS = ("once", "every_step")
SEQUENCES = ("any", "by_start")
SEEDS = st.integers(0, 2**32 - 1)
CLOSE = {"atol": 1e-4, "rtol": 0}

every_network = pytest.mark.parametrize("reads", READS)
every_sequence = pytest.mark.parametrize("sequence", SEQUENCES)


def drawn_trajectories(of: Policy, job: Problem, batch: int, seed: int) -> tuple[Trajectories, GraphView, torch.Tensor]:
    """With what the policy is told, (B, N_CONDITIONS)."""
    environment = Environment(TOLD.transferring(job), batch, of.settings.sequence)
    told, view = condition(job, SIGMA, TOLD, batch), graph_view(job)
    with torch.no_grad():
        graph = of.read(view)
    tails, generator = torch.from_numpy(job.tails), torch.Generator().manual_seed(seed)
    return trajectories(of, graph, environment, tails, told, generator), view, told


@every_sequence
@every_network
@given(SEEDS, st.integers(1, 8), st.integers(1, 4))
@settings(max_examples=10)
def test_probabilities_of_a_state_sum_to_one(reads: str, sequence: str, seed: int, n: int, devices: int) -> None:
    of, job = policy(reads=reads, sequence=sequence), problem(seed, n, devices)
    taken = steps(of, job, seed)
    half = taken[: seed % n]
    now, last = probabilities(of, job, half), probabilities(of, job, taken)
    assert now.forward.sum() == pytest.approx(1, abs=1e-5) and (now.forward >= 0).all()
    assert not now.forward[[operation for operation, _ in half]].any()  # each operation once
    assert (now.forward[:, devices_of(half) + 1 :] == 0).all()  # of the empty devices the first
    assert now.backward.sum() == pytest.approx(float(bool(half)), abs=1e-5)
    assert last.backward.sum() == pytest.approx(1, abs=1e-5) and not last.forward.any()
    assert (last.backward[devices_of(taken) :] == 0).all() and last.backward[taken[-1][1]] > 0


def devices_of(taken: Steps) -> int:
    """Devices with an operation."""
    return len({device for _, device in taken})


@every_network
def test_these_networks_prefer_something(reads: str) -> None:
    """So that what is the same in the tests below is not the same for everything."""
    of, job, taken = policy(reads=reads), problem(0, 8, density=0.0), [(0, 0), (1, 1), (2, 2), (3, 0)]
    now = probabilities(of, job, taken)
    assert now.forward.max() > 1.5 * now.forward[now.forward > 0].min() and (now.backward > 0).all()
    assert now.backward.max() > 1.1 * now.backward.min()
    for other in (probabilities(of, job, taken, sigma=5 * SIGMA), probabilities(of, job, taken, strengths=PLAIN)):
        assert abs(other.forward - now.forward).max() > 0.01 and abs(other.backward - now.backward).max() > 1e-3


@every_network
@given(SEEDS, st.integers(4, 8), st.integers(2, 4))
@settings(max_examples=15, suppress_health_check=[HealthCheck.filter_too_much])
def test_devices_have_no_names(reads: str, seed: int, n: int, devices: int) -> None:
    """The same state on a way on which its devices get their first operations in another sequence."""
    of, job = policy(reads=reads), problem(seed, n, devices)
    here = steps(of, job, seed)[: 3 + seed % (n - 2)]
    there, name = elsewhere(job, here, np.random.default_rng(seed))
    assume(name != sorted(name))
    first, second = probabilities(of, job, here), probabilities(of, job, there)
    np.testing.assert_allclose(second.forward[:, name], first.forward, **CLOSE)
    np.testing.assert_allclose(second.backward[name], first.backward, **CLOSE)


def elsewhere(job: Problem, taken: Steps, rng: np.random.Generator) -> tuple[Steps, list[int]]:
    """Other steps to the same state, and the device there of each device here; empty ones keep their numbers."""
    chains: dict[int, list[int]] = {}
    for operation, device in taken:
        chains.setdefault(device, []).append(operation)
    waiting, names, there = dict(chains), {}, []
    while any(waiting.values()):
        done = {operation for operation, _ in there}
        parents = {d: parents_of(job, chain[0]) for d, chain in waiting.items() if chain}
        device = int(rng.choice([d for d, needed in parents.items() if needed <= done]))
        names.setdefault(device, len(names))
        there.append((waiting[device][0], names[device]))
        waiting[device] = waiting[device][1:]
    return there, [names.get(device, device) for device in range(job.devices)]


def parents_of(job: Problem, operation: int) -> set[int]:
    offsets = job.parents.offsets
    return set(job.parents.targets[offsets[operation] : offsets[operation + 1]].tolist())


@every_network
@given(SEEDS, st.integers(2, 9))
@settings(max_examples=15)
def test_another_numbering_permutes_the_probabilities(reads: str, seed: int, n: int) -> None:
    of, job = policy(reads=reads), problem(seed, n)
    order = drawn.schedules(job, np.random.default_rng(seed), 1)[0][0]
    number = np.argsort(order)
    here = steps(of, job, seed)[: seed % n]
    there = [(int(number[operation]), device) for operation, device in here]
    first, second = probabilities(of, job, here), probabilities(of, renumbered(job, order), there)
    np.testing.assert_allclose(second.forward, first.forward[order], **CLOSE)
    np.testing.assert_allclose(second.backward, first.backward, **CLOSE)


@every_sequence
@every_network
@given(SEEDS, st.integers(1, 9))
@settings(max_examples=10)
def test_another_unit_of_time_changes_nothing(reads: str, sequence: str, seed: int, n: int) -> None:
    of, job = policy(reads=reads, sequence=sequence), problem(seed, n)
    scaled = replace(job, seconds=1000 * job.seconds)
    taken = steps(of, job, seed)[: seed % (n + 1)]
    first, second = probabilities(of, job, taken), probabilities(of, scaled, taken)
    np.testing.assert_allclose(second.forward, first.forward, **CLOSE)
    np.testing.assert_allclose(second.backward, first.backward, **CLOSE)


@every_sequence
@given(SEEDS, st.integers(1, 12))
@settings(max_examples=15)
def test_before_training_the_first_operation_is_that_of_list_scheduling(sequence: str, seed: int, n: int) -> None:
    job = problem(seed, n)
    torch.manual_seed(seed)
    listed = make(small_policies.settings(sequence=sequence, start="list")).eval()
    of_operations = probabilities(listed, job, [], sigma=0.05, strengths=PLAIN).forward.sum(1)
    order, _ = by_critical_path(job)
    assert of_operations[order[0]] == pytest.approx(of_operations.max(), rel=1e-5)
    assert job.tails[of_operations.argmax()] == pytest.approx(job.tails.max(), rel=1e-5)
    torch.manual_seed(seed)
    without = make(small_policies.settings(sequence=sequence, start="nothing")).eval()
    of_operations = probabilities(without, job, [], sigma=0.05, strengths=PLAIN).forward.sum(1)
    ready = np.diff(job.parents.offsets) == 0
    np.testing.assert_allclose(of_operations, ready / ready.sum(), **CLOSE)


@every_sequence
@every_network
def test_log_probabilities_are_those_of_every_step_by_itself(reads: str, sequence: str) -> None:
    """Forwards, backwards and the entropy, looked up in the states of each trajectory one by one."""
    of, job = policy(reads=reads, sequence=sequence), problem(3, 5)
    made, view, told = drawn_trajectories(of, job, 4, seed=1)
    with torch.no_grad():
        logs = log_probabilities(of, of.read(view), made, told)
    assert all(part.shape == (5, 4) and part.dtype == torch.float32 for part in logs)
    for b, (order, placement) in enumerate(zip(made.orders.tolist(), made.placements.tolist(), strict=True)):
        taken = [(operation, placement[operation]) for operation in order]
        for step, (operation, device) in enumerate(taken):
            now, after = probabilities(of, job, taken[:step]), probabilities(of, job, taken[: step + 1])
            assert float(logs.forward[step, b]) == pytest.approx(np.log(now.forward[operation, device]), abs=1e-4)
            backward = after.backward[device] if sequence == "any" else 1.0  # by start there is one parent
            assert float(logs.backward[step, b]) == pytest.approx(np.log(backward), abs=1e-4)
            entropy = now.entropies[0] + now.entropies[1 + operation]
            assert float(logs.entropy[step, b]) == pytest.approx(entropy, abs=1e-4)


@every_network
def test_uniform_backward_probabilities_count_what_can_be_removed(reads: str) -> None:
    of, job = policy(reads=reads, backward="uniform"), problem(3, 6, density=0.1)
    made, view, told = drawn_trajectories(of, job, 4, seed=1)
    with torch.no_grad():
        backward = log_probabilities(of, of.read(view), made, told).backward.exp()
    for b, (order, placement) in enumerate(zip(made.orders.tolist(), made.placements.tolist(), strict=True)):
        for step in range(1, 7):
            done = order[:step]
            last = {placement[operation]: operation for operation in done}.values()
            free = [i for i in last if not any(i in parents_of(job, child) for child in done)]
            assert float(backward[step - 1, b]) == pytest.approx(1 / len(free), rel=1e-5)


@every_sequence
@every_network
def test_schedules_are_drawn_as_often_as_their_probabilities_say(reads: str, sequence: str) -> None:
    """6,000 draws of a graph of three operations: every trajectory within four and a half deviations."""
    of, job, draws = policy(1, reads=reads, sequence=sequence), problem(5, 3, 2, density=0.0), 6000
    made, view, told = drawn_trajectories(of, job, draws, seed=2)
    with torch.no_grad():
        logs = log_probabilities(of, of.read(view), made, told).forward.sum(0).double().exp().tolist()
    ways = zip(made.orders.tolist(), made.placements.tolist(), strict=True)
    keys = [(*order, *placement) for order, placement in ways]
    expected = dict(zip(keys, logs, strict=True))
    assert sum(expected.values()) == pytest.approx(1, abs=0.01)  # few are never drawn
    for key, count in Counter(keys).items():
        p = expected[key]
        assert abs(count - draws * p) < 4.5 * np.sqrt(draws * p * (1 - p)) + 1


@every_network
def test_drawing_alone_gives_the_same_schedules(reads: str) -> None:
    of, job = policy(reads=reads), problem(4, 9)
    made, view, told = drawn_trajectories(of, job, 5, seed=6)
    environment, generator = Environment(TOLD.transferring(job), 5), torch.Generator().manual_seed(6)
    graph = of.read(view)
    orders, placements = schedules(of, graph, environment, torch.from_numpy(job.tails), told, generator)
    assert torch.equal(orders, made.orders) and torch.equal(placements, made.placements)


@every_sequence
@every_network
def test_joined_observations_are_the_separate_ones(reads: str, sequence: str) -> None:
    of, job, batch = policy(reads=reads, sequence=sequence), problem(7, 8), 3
    moved = TOLD.transferring(job)
    environment, told = Environment(moved, batch, sequence), condition(job, SIGMA, TOLD, batch)
    with torch.no_grad():
        graph = of.read(graph_view(job))
        observe = of.observer(environment, torch.from_numpy(job.tails))
        parts = [observe()]
        for step in range(8):  # the first allowed device; the last allowed operation, or in one schedule the first
            first, last = (
                torch.searchsorted(parts[-1].rows, torch.arange(batch), right=right) for right in (False, True)
            )
            index = torch.where(torch.arange(batch) == step % batch, first, last - 1)
            environment.step(parts[-1].operations[index], parts[-1].allowed[index].long().argmax(1))
            parts.append(observe())
        together = type(parts[0]).joined(parts)
        for field in fields(together):
            if field.name != "rows":
                assert torch.equal(getattr(together, field.name), torch.cat([getattr(p, field.name) for p in parts]))
        assert (together.rows.diff() >= 0).all()
        every = told.repeat(len(parts), 1)
        contexts = [of.contexts(graph, part) for part in parts]
        joined = of.contexts(graph, together)
        torch.testing.assert_close(joined, torch.cat(contexts), atol=1e-5, rtol=1e-5)
        scores = [of.operations(graph, part, at, told) for part, at in zip(parts, contexts, strict=True)]
        torch.testing.assert_close(
            of.operations(graph, together, joined, every), torch.cat(scores), atol=1e-5, rtol=1e-5
        )
        removals = [of.removals(graph, part, 0, at, told) for part, at in zip(parts, contexts, strict=True)]
        torch.testing.assert_close(
            of.removals(graph, together, 0, joined, every), torch.cat(removals), atol=1e-5, rtol=1e-5
        )


VALUE = {"value.weight", "value.bias"}
REMOVED = re.compile(r"of_removed|removed_")
SHIFT = re.compile(r"(operation|pair|removed)_score\.out\.bias")  # the same for all that is chosen among: no gradient


def learning(of: Policy, loss: torch.Tensor) -> set[str]:
    """Names of the parameters that a loss has a gradient for, beside rounding."""
    of.zero_grad()
    loss.backward()
    most = {name: float(p.grad.abs().max()) for name, p in of.named_parameters() if p.grad is not None}
    return {name for name, gradient in most.items() if gradient > 1e-5 * max(most.values())}


@every_network
@pytest.mark.parametrize(
    "change", [{}, {"backward": "uniform"}, {"sequence": "by_start"}, {"start": "nothing"}], ids=str
)
def test_the_flow_teaches_all_but_the_value_and_a_backward_part_that_is_not_asked(
    reads: str, change: dict[str, str]
) -> None:
    of, job = policy(reads=reads, **change), problem(2, 8, density=0.1)
    made, view, told = drawn_trajectories(of, job, 16, seed=3)
    logs = log_probabilities(of, of.read(view), made, told)
    log_rewards = torch.randn(16, generator=torch.Generator().manual_seed(0))
    taught = learning(of, log_partition_variance(log_rewards, logs.forward, logs.backward))
    names = {name for name, _ in of.named_parameters()}
    idle = VALUE | {name for name in names if SHIFT.match(name)}
    if change.get("backward") == "uniform" or change.get("sequence") == "by_start":
        idle |= {name for name in names if REMOVED.match(name)}
    assert names - taught == idle


@every_network
def test_ppo_teaches_all_but_the_backward_part(reads: str) -> None:
    of, job = policy(reads=reads, objective="ppo"), problem(2, 8, density=0.1)
    made, view, told = drawn_trajectories(of, job, 16, seed=3)
    speedups = torch.randn(16, generator=torch.Generator().manual_seed(0))
    taught = learning(of, next(ppo_loss.losses(of, view, made, told, speedups, 0.01)))
    names = {name for name, _ in of.named_parameters()}
    assert names - taught == {name for name in names if SHIFT.match(name) or REMOVED.match(name)}


@every_network
def test_everything_is_float32(reads: str, tmp_path: Path) -> None:
    of, job = policy(reads=reads), problem(1, 6)
    assert {weight.dtype for weight in of.state_dict().values()} == {torch.float32}
    made, view, told = drawn_trajectories(of, job, 4, seed=3)
    logs = log_probabilities(of, of.read(view), made, told)
    assert {part.dtype for part in logs} == {told.dtype} == {torch.float32}
    floats = [value for field in fields(made.seen) if (value := getattr(made.seen, field.name)).is_floating_point()]
    assert floats and {value.dtype for value in floats} == {torch.float32}
    assert all(value.isfinite().all() for value in floats)


@every_sequence
@every_network
def test_a_file_says_all_about_its_policy(reads: str, sequence: str, tmp_path: Path) -> None:
    saved, path, job = policy(reads=reads, sequence=sequence), tmp_path / "policy.safetensors", problem(0)
    save(saved, path)
    read = load(path)
    assert type(read) is type(saved) and read.settings == saved.settings and not read.training
    for name, weight in saved.state_dict().items():
        assert torch.equal(read.state_dict()[name], weight), name
    taken = steps(saved, job, 0)
    assert steps(read, job, 0) == taken
    for here, there in zip(probabilities(saved, job, taken[:3]), probabilities(read, job, taken[:3]), strict=True):
        assert np.array_equal(here, there)


def test_a_file_that_is_no_policy_is_named(tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    with pytest.raises(ValueError, match=re.escape(f"{path} is no file of weights")):
        load(path)
    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match=re.escape(f"{path} is no file of weights")):
        load(path)
    save_file({"weight": torch.zeros(1)}, path)
    with pytest.raises(ValueError, match=re.escape(f"{path} is no policy: it names no settings")):
        load(path)


def test_a_file_with_other_weights_than_its_settings_ask_for_is_named(tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    save(policy(), path)
    with safe_open(path, "pt") as file:
        described = json.loads(file.metadata()["policy"])
    save_file(policy().state_dict(), path, {"policy": json.dumps(described | {"width": 16})})
    with pytest.raises(ValueError, match=re.escape(f"{path} holds other weights than its settings ask for")):
        load(path)
    save_file(policy().state_dict(), path, {"policy": json.dumps(described | {"wide": 16})})
    with pytest.raises(ValueError, match=re.escape(f"{path} was trained by another version") + "[^~]*wide"):
        load(path)


def test_every_setting_that_changes_a_network_changes_its_seeded_weights_alone() -> None:
    """The same seed and settings: the same weights; another seed: others."""
    first, second, third = (policy(seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["encoder.enter.weight"], third["encoder.enter.weight"])
