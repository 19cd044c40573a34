"""The batched environment: its times are the simulator's, and its states those that are counted by brute force."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise, permutations, product

import numba
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.environment.batched import Environment, Sequence
from learned_schedulers.graphs.environment.single import ScheduleEnv
from learned_schedulers.graphs.problems.problem import Edges, Problem, Transfers
from tests.graphs.problems import drawn

SEQUENCES: tuple[Sequence, ...] = ("any", "by_start")
SEEDS = st.integers(0, 2**32 - 1)
STATE = ("placement", "ends", "arrivals", "free", "last", "now", "added", "needed", "waiting", "makespan")

Step = tuple[int, int]  # operation, device
Steps = tuple[Step, ...]
Schedule = frozenset[tuple[int, ...]]  # the operations of each device in sequence; devices have no numbers


@st.composite
def problems(draw: st.DrawFn, most: int = 10) -> Problem:
    """Problems with transfers. Some operations take no time; in every second problem many times are equal."""
    rng = np.random.default_rng(draw(SEEDS))
    n, devices, density = draw(st.integers(1, most)), draw(st.integers(1, 4)), draw(st.sampled_from([0.0, 0.2, 0.5]))
    problem = drawn.problem(rng, n, devices, density)
    if draw(st.booleans()):
        return problem
    return Problem(rng.integers(0, 3, n) * 1.0, np.ones(n), problem.children, devices, Transfers(0.0, 1.0))


def small(seconds: list[float], pairs: Iterable[tuple[int, int]], devices: int) -> Problem:
    """A problem with transfers; pairs: sorted edges."""
    n, sources, targets = len(seconds), [source for source, _ in pairs], [target for _, target in pairs]
    offsets = np.searchsorted(sources, np.arange(n + 1)).astype(np.int32)
    edges = Edges(offsets, np.array(targets, np.int32))
    return Problem(np.array(seconds), np.ones(n), edges, devices, Transfers(0.3, 0.11))


def positive(seed: int) -> Problem:
    """Problems of a few operations, which all take time."""
    rng = np.random.default_rng(seed)
    problem = drawn.problem(rng, 2 + seed % 3, 2 + seed % 2, 0.4)
    return Problem(rng.uniform(0.1, 1, len(problem)), problem.sizes, problem.children, problem.devices, Transfers(0.3))


SMALL = {  # run times are positive and distinct
    "one operation": small([1.1], [], 3),
    "one device": small([1.1, 2.3, 0.7, 1.9], [(0, 2)], 1),
    "no edges": small([1.1, 2.3, 0.7, 1.9], [], 2),
    "more devices than operations": small([1.1, 2.3, 0.7], [], 4),
    "diamond": small([1.1, 2.3, 0.7, 1.9], [(0, 1), (0, 2), (1, 3), (2, 3)], 2),
    "an edge twice": small([1.1, 2.3, 0.7], [(0, 1), (0, 1), (1, 2)], 2),
    "two chains": small([1.1, 2.3, 0.7, 1.9, 0.37], [(0, 2), (1, 3), (3, 4)], 3),
    **{f"drawn {seed}": positive(seed) for seed in range(6)},
}


def mask(environment: Environment) -> torch.Tensor:
    """(B, n, m) bool: allowed actions."""
    allowed = torch.zeros((environment.batch, environment.operations, environment.devices), dtype=torch.bool)
    rows, operations = environment.ready.nonzero(as_tuple=True)
    starts = environment.starts(rows, operations)
    allowed[rows, operations] = environment.allowed(rows, operations, starts)
    return allowed


def walk(environment: Environment, rng: np.random.Generator) -> Iterator[torch.Tensor]:
    """Random allowed actions until every schedule is complete, numbered as those of `ScheduleEnv`; (B,) each."""
    for _ in range(environment.operations):
        allowed = mask(environment).flatten(1).double().numpy()
        action = torch.from_numpy((allowed * rng.uniform(0.5, 1, allowed.shape)).argmax(1))
        environment.step(action // environment.devices, action % environment.devices)
        yield action


def replay(problem: Problem, rows: list[Steps], sequence: Sequence = "any") -> Environment:
    """The states after equally many steps each."""
    environment = Environment(problem, len(rows), sequence)
    for steps in torch.tensor(rows).unbind(1):
        environment.step(steps[:, 0], steps[:, 1])
    return environment


def assert_same(environment: Environment, row: int, observation: dict[str, np.ndarray]) -> None:
    """Compare a state of a batch with an observation of a single environment."""
    assert np.array_equal(environment.seconds.numpy(), observation["seconds"])
    for name in ("placement", "arrivals", "free", "last"):
        assert np.array_equal(getattr(environment, name)[row].numpy(), observation[name]), name
    assert np.array_equal(environment.ends[row].nan_to_num(nan=-1.0).numpy(), observation["ends"])
    assert np.array_equal(mask(environment)[row].flatten().numpy(), observation["action_mask"])
    assert environment.makespan[row] == observation["free"].max()


@pytest.mark.parametrize("sequence", SEQUENCES)
@given(problems(), st.integers(1, 4), SEEDS)
@settings(max_examples=40)
def test_every_step_is_that_of_a_single_environment(
    sequence: Sequence, problem: Problem, batch: int, seed: int
) -> None:
    environment = Environment(problem, batch, sequence)
    singles = [ScheduleEnv(problem, sequence) for _ in range(batch)]
    for row, single in enumerate(singles):
        assert_same(environment, row, single.reset()[0])
    for step, actions in enumerate(walk(environment, np.random.default_rng(seed)), 1):
        for row, (single, action) in enumerate(zip(singles, actions.tolist(), strict=True)):
            observation, _, complete, _, details = single.step(action)
            assert_same(environment, row, observation)
            assert complete == (step == len(problem)) == ("makespan" in details)
            assert not complete or details["makespan"] == environment.makespan[row]


@pytest.mark.parametrize("sequence", SEQUENCES)
@given(problems(most=20), SEEDS)
@settings(max_examples=40)
def test_times_are_those_of_the_simulator(sequence: Sequence, problem: Problem, seed: int) -> None:
    environment = Environment(problem, 8, sequence)
    actions = torch.stack(list(walk(environment, np.random.default_rng(seed))), 1)
    seconds = makespans(problem, (actions // problem.devices).numpy(), environment.placement.numpy())
    assert np.array_equal(environment.makespan.numpy(), seconds)
    assert np.array_equal(environment.ends.max(1).values.numpy(), seconds)


@given(problems(most=20), SEEDS)
@settings(max_examples=40)
def test_by_start_there_always_is_an_action_and_starts_ascend(problem: Problem, seed: int) -> None:
    environment, before = Environment(problem, 8, "by_start"), torch.zeros(8, dtype=torch.float64)
    steps = walk(environment, np.random.default_rng(seed))
    for _ in range(len(problem)):
        assert mask(environment).flatten(1).any(1).all()
        next(steps)
        assert (environment.now >= before).all()
        before = environment.now
    assert (environment.placement >= 0).all() and not mask(environment).any()


@given(problems(), SEEDS)
@settings(max_examples=40)
def test_what_is_removable_can_be_left_out(problem: Problem, seed: int) -> None:
    """By brute force: all remaining steps are taken again in a batch of one."""
    environment, steps = Environment(problem, 1), []
    assert not environment.removable.any()
    for action in walk(environment, np.random.default_rng(seed)):
        steps.append(divmod(int(action), problem.devices))
        for device, removable in enumerate(environment.removable[0].tolist()):
            sequence_here = [operation for operation, where in steps if where == device]
            assert removable == (bool(sequence_here) and can_be_left_out(problem, steps, sequence_here[-1]))


def can_be_left_out(problem: Problem, steps: list[Step], left_out: int) -> bool:
    """Whether the steps without one operation are allowed, and all remaining operations end at the same times."""
    whole, part, names = ScheduleEnv(problem), ScheduleEnv(problem), dict[int, int]()
    for operation, device in steps:
        before = whole.step(operation * problem.devices + device)[0]
    after = part.reset()[0]
    for operation, device in steps:
        if operation != left_out:
            name = names.setdefault(device, len(names))  # devices are used in the sequence of their numbers
            try:
                after = part.step(operation * problem.devices + name)[0]
            except ValueError as reason:
                assert f"needs the result of operation {left_out}," in str(reason)
                return False
    remaining = np.arange(len(problem)) != left_out
    return bool((before["ends"][remaining] == after["ends"][remaining]).all())


def trajectories(problem: Problem, sequence: Sequence) -> list[list[Steps]]:
    """All states by their number of steps: [0] the empty state, [n] those of complete schedules."""
    levels: list[list[Steps]] = [[()]]
    for _ in range(len(problem)):
        actions = mask(replay(problem, levels[-1], sequence)).nonzero().tolist()
        levels.append([(*levels[-1][row], (operation, device)) for row, operation, device in actions])
    return levels


def state(steps: Steps, devices: int) -> Schedule:
    chains = (tuple(operation for operation, where in steps if where == device) for device in range(devices))
    return frozenset(chain for chain in chains if chain)


def schedules(problem: Problem) -> set[Schedule]:
    """By brute force: every sequence of operations in which edges go forward, with every placement."""
    n, sources, targets = len(problem), problem.children.sources, problem.children.targets
    slots = (np.argsort(order) for order in permutations(range(n)))
    legal = [np.argsort(slot).tolist() for slot in slots if (slot[sources] < slot[targets]).all()]
    pairs = product(legal, product(range(problem.devices), repeat=n))
    return {state(tuple(zip(order, devices, strict=True)), problem.devices) for order, devices in pairs}


@pytest.mark.parametrize("name", SMALL)
def test_any_sequence_reaches_every_schedule(name: str) -> None:
    problem = SMALL[name]
    reached = {state(steps, problem.devices) for steps in trajectories(problem, "any")[-1]}
    assert reached == schedules(problem)


@pytest.mark.parametrize("name", SMALL)
def test_by_start_every_schedule_has_one_trajectory(name: str) -> None:
    problem = SMALL[name]
    reached = [state(steps, problem.devices) for steps in trajectories(problem, "by_start")[-1]]
    assert len(reached) == len(set(reached)) and set(reached) == schedules(problem)


@pytest.mark.parametrize("seed", range(6))
def test_by_start_no_schedule_is_lost_where_operations_take_no_time(seed: int) -> None:
    problem = positive(seed)
    problem = Problem(np.arange(len(problem)) % 2 * 1.0, problem.sizes, problem.children, problem.devices)
    reached = {state(steps, problem.devices) for steps in trajectories(problem, "by_start")[-1]}
    assert reached == schedules(problem)


@pytest.mark.parametrize("name", SMALL)
def test_actions_lead_to_different_states_and_removable_operations_count_parents(name: str) -> None:
    problem = SMALL[name]
    for shorter, longer in pairwise(trajectories(problem, "any")):
        parents, children = defaultdict(set), defaultdict(list)
        for steps in longer:
            after, before = state(steps, problem.devices), state(steps[:-1], problem.devices)
            parents[after].add(before)
            children[steps[:-1]].append(after)
        assert set(children) == set(shorter) and all(len(states) == len(set(states)) for states in children.values())
        removable = replay(problem, longer).removable.sum(1).tolist()
        assert removable == [len(parents[state(steps, problem.devices)]) for steps in longer]


def test_how_many_schedules_by_hand() -> None:
    """Two independent operations on two devices: one after the other, or at the same time."""
    problem = small([1.0, 2.0], [], 2)
    assert schedules(problem) == {frozenset({(0, 1)}), frozenset({(1, 0)}), frozenset({(0,), (1,)})}
    assert len(trajectories(problem, "any")[-1]) == 4 and len(trajectories(problem, "by_start")[-1]) == 3


@given(problems(), SEEDS)
def test_a_batch_of_one_is_a_row_of_a_batch(problem: Problem, seed: int) -> None:
    batch, single = Environment(problem, 3), Environment(problem, 1)
    for action in walk(batch, np.random.default_rng(seed)):
        single.step(action[1:2] // problem.devices, action[1:2] % problem.devices)
        for name in STATE:
            assert torch.equal(getattr(single, name).nan_to_num(), getattr(batch, name)[1:2].nan_to_num()), name
        assert torch.equal(mask(single), mask(batch)[1:2]) and torch.equal(batch.actions, mask(batch))
        assert torch.equal(single.removable, batch.removable[1:2])


@pytest.mark.parametrize("sequence", SEQUENCES)
@given(problems(), SEEDS)
def test_states_that_are_taken_go_on_by_themselves(sequence: Sequence, problem: Problem, seed: int) -> None:
    rows, whole = torch.tensor([2, 0, 2]), Environment(problem, 3, sequence)
    actions = list(walk(Environment(problem, 3, sequence), np.random.default_rng(seed)))
    half = len(problem) // 2
    for action in actions[:half]:
        whole.step(action // problem.devices, action % problem.devices)
    selected = whole.selected(rows)
    for environment, of in ((selected, rows), (whole, torch.arange(3))):
        for action in actions[half:]:
            environment.step(action[of] // problem.devices, action[of] % problem.devices)
    for name in STATE:
        assert torch.equal(getattr(selected, name).nan_to_num(), getattr(whole, name)[rows].nan_to_num()), name
    assert torch.equal(mask(selected), mask(whole)[rows]) and selected.batch == 3


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_states_are_the_same_on_two_threads(sequence: Sequence) -> None:
    if numba.config.NUMBA_NUM_THREADS < 2:  # type: ignore[attr-defined]
        pytest.skip("one thread")
    problem, batch = drawn.problem(np.random.default_rng(2), 40, 4, 0.1), 501
    ended = []
    for threads in (1, 2):
        before = numba.get_num_threads()
        numba.set_num_threads(threads)
        environment, rng = Environment(problem, batch, sequence), np.random.default_rng(2)
        for _ in range(len(problem)):
            environment.step(*environment.random_actions(torch.from_numpy(rng.random(batch))))
        numba.set_num_threads(before)
        ended.append(environment)
    for name in (*STATE, "speedup", "usable", "ready", "removable", "actions"):
        first, second = (getattr(environment, name) for environment in ended)
        torch.testing.assert_close(first, second, rtol=0, atol=0, equal_nan=True, msg=name)


def test_actions_that_are_drawn_are_as_likely() -> None:
    problem = SMALL["no edges"]
    environment = Environment(problem, 3)
    environment.step(torch.tensor([0, 1, 2]), torch.zeros(3, dtype=torch.int64))
    allowed = environment.actions[1].flatten().nonzero()[:, 0]
    for rank, action in enumerate(allowed.tolist()):
        for uniform in (rank / len(allowed) + 1e-9, (rank + 1) / len(allowed) - 1e-9):
            operations, devices = environment.random_actions(torch.full((3,), uniform, dtype=torch.float64))
            assert operations[1] * problem.devices + devices[1] == action


@pytest.mark.parametrize("action", [(0, 1), (1, 0), (2, 0), (-1, 0), (0, -1)])
def test_actions_that_are_not_allowed_are_refused(action: tuple[int, int]) -> None:
    chain = SMALL["one device"]  # operation 2 needs 0; there are 4
    environment = Environment(chain, 2)
    with pytest.raises(ValueError, match="not allowed"):
        if action == (1, 0):  # a second time
            environment.step(*torch.tensor([[1, 1], [0, 0]]))
        environment.step(*torch.tensor([[1, action[0]], [0, action[1]]]))


def test_no_action_is_drawn_of_a_whole_schedule() -> None:
    environment = Environment(SMALL["one operation"], 2)
    environment.step(*torch.zeros((2, 2), dtype=torch.int64))
    with pytest.raises(ValueError, match="a schedule is complete"):
        environment.random_actions(torch.zeros(2, dtype=torch.float64))
