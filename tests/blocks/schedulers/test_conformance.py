"""One suite for every scheduler: permutations, dependencies, determinism, never better than the optimum."""

from __future__ import annotations

import sys
from itertools import permutations
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from pipeline import schedulers
from pipeline.blocks.dag.counting import count_orders
from pipeline.blocks.dag.topology import count_violations
from pipeline.blocks.latency import model
from pipeline.blocks.latency.costs import Processor
from pipeline.blocks.latency.in_order import simulate
from pipeline.blocks.models.inputs import Vocabulary
from pipeline.blocks.models.ordering_network import OrderingNetwork
from pipeline.blocks.models.pocsnet import POCSNet
from pipeline.blocks.problems.problems import Blocks, Problems, token_trie
from pipeline.blocks.schedulers import Request, find, methods, policy, search
from pipeline.config.schedulers import Priority
from pipeline.config.schedulers import Scheduler as Settings
from tests.blocks.models import imitated, made
from tests.blocks.schedulers.machines import MULTIPLY, machine
from tests.blocks.schedulers.made_up import optima

STORE, ENCODINGS, SAMPLE = imitated.corpus(60, shortest=5, longest=5)
BLOCKS = Blocks(
    SAMPLE.block_ids.to_pylist(),
    STORE.as_emitted(SAMPLE.rows),
    np.stack(SAMPLE.orders),
    token_trie(np.split(ENCODINGS.bags, ENCODINGS.bounds[1:-1]), len(ENCODINGS.tokens)),
)
SHOWN = BLOCKS.shown(BLOCKS.input_order)
CHIP = machine()
COSTS = CHIP.costs(SHOWN.instructions)
OPTIMA = optima(COSTS, SHOWN.precedes)
REORDERING = machine(in_order=False)
REORDERED_COSTS = model.costs(REORDERING, SHOWN.instructions)
REORDERED_OPTIMA = optima(REORDERED_COSTS, SHOWN.precedes)
LONG_STORE, _, LONG_SAMPLE = imitated.corpus(40, shortest=11, longest=11, seed=1)
LONG = LONG_STORE.problems(LONG_SAMPLE.rows, np.stack(LONG_SAMPLE.orders))
HEADS = ["pointer", "pairwise", "sinkhorn", "popocs"]
OF_ONE_LENGTH = {"soft_permutation", "gcc"}
# What is made several ways: every choice of its settings.
SETTINGS: dict[str, list[dict[str, object]]] = {
    "list_scheduling": [{"priority": priority} for priority in get_args(Priority)],
    "search": [{"search": method, "evaluations": 50} for method in search.METHODS],
    "soft_permutation": [{"iterations": 20}],
    "haifa": [{}, {"issue_rate": 1}, {"rules": ["dependents"]}],
}
NEED_ORDER = {"branch_and_bound", "cp_sat"}  # machines that issue in order
NEED_A_MACHINE = {"search", "branch_and_bound", "cp_sat", "policy"}


def variants() -> list[str]:
    """All methods, with the number of their settings; the imitator with each of its heads, and of a processor."""
    names = [name for name in methods() if name != "ordering"]
    numbered = [f"{name} {k}" for name in names for k in range(len(SETTINGS.get(name, [{}])))]
    return numbered + [f"imitator {head}" for head in [*HEADS, "processor"]]


@pytest.fixture
def request_for(tmp_path: Path):  # type: ignore[no-untyped-def]
    def make(variant: str, chip: object = CHIP) -> Request:
        torch.manual_seed(0)
        method, choice = variant.split()
        settings: dict[str, object] = {}
        path = tmp_path / "weights.safetensors"
        if method == "ordering":
            of = {"machines": ["small"]} if choice == "processor" else {}
            learned = imitated.settings("attention", "pointer" if of else choice).model_copy(update=of)
            OrderingNetwork(Vocabulary(ENCODINGS.tokens), learned).save(path)
            settings = {"evaluations": 3}
        elif method == "policy":
            policy.save(np.random.default_rng(0).normal(size=len(policy.FEATURES)), path)
        else:
            save_file(POCSNet(5, BLOCKS.trie.n_tokens, made.SETTINGS).state_dict(), path)
            settings = SETTINGS.get(method, [{}])[int(choice)]
        chosen = Settings.model_validate({"method": method, **settings})
        return Request(chosen, made.SETTINGS, path, BLOCKS, ENCODINGS, chip)  # type: ignore[arg-type]

    return make


def schedule(variant: str, request_for, seed: int = 0, problems: Problems = SHOWN) -> dict[str, np.ndarray]:  # type: ignore[no-untyped-def]
    return find(variant.split()[0])(request_for(variant)).schedule(problems, np.random.default_rng(seed))


def single_issue_cycles(precedes: np.ndarray, latencies: np.ndarray, order: np.ndarray) -> int:
    """Makespan of an order on a machine that issues one instruction a cycle, in order."""
    done, cycle = np.zeros(len(order), int), 0
    for i in order:
        cycle = max([cycle, *(done[k] for k in np.flatnonzero(precedes[:, i]))])
        done[i] = cycle + latencies[i]
        cycle += 1
    return int(done.max())


@pytest.mark.parametrize("variant", variants())
def test_permutations(variant: str, request_for) -> None:  # type: ignore[no-untyped-def]
    for order in schedule(variant, request_for).values():
        assert order.shape == (60, 5)
        np.testing.assert_array_equal(np.sort(order, 1), np.tile(np.arange(5), (60, 1)))


@pytest.mark.parametrize("variant", variants())
def test_dependencies(variant: str, request_for) -> None:  # type: ignore[no-untyped-def]
    """Whatever does not match freely is legal; the network's Hungarian decoding alone may violate."""
    for decoder, order in schedule(variant, request_for).items():
        if decoder != "hungarian":
            assert (count_violations(SHOWN.precedes, order) == 0).all()


@pytest.mark.parametrize("variant", variants())
def test_same_seed_same_orders(variant: str, request_for) -> None:  # type: ignore[no-untyped-def]
    first, second = (schedule(variant, request_for, 5) for _ in range(2))
    for decoder in first:
        np.testing.assert_array_equal(first[decoder], second[decoder])


@pytest.mark.parametrize("variant", variants())
def test_never_better_than_the_optimum_of_one_issue_a_cycle(variant: str, request_for) -> None:  # type: ignore[no-untyped-def]
    for order in schedule(variant, request_for).values():
        for precedes, latencies, found in zip(SHOWN.precedes[:10], SHOWN.latencies, order, strict=False):
            if count_violations(precedes[None], found[None])[0]:
                continue
            legal = [
                p for p in map(np.array, permutations(range(5))) if not count_violations(precedes[None], p[None])[0]
            ]
            best = min(single_issue_cycles(precedes, latencies, p) for p in legal)
            assert single_issue_cycles(precedes, latencies, found) >= best


@pytest.mark.parametrize("variant", variants())
def test_never_better_than_the_optimum_of_the_machine(variant: str, request_for) -> None:  # type: ignore[no-untyped-def]
    """Of every legal order, tried one by one."""
    for order in schedule(variant, request_for).values():
        legal = count_violations(SHOWN.precedes, order) == 0
        assert (simulate(COSTS, order[:, None]).makespan[legal, 0] >= OPTIMA[legal]).all()


@pytest.mark.parametrize("variant", [name for name in variants() if name.split()[0] not in NEED_ORDER])
def test_never_better_than_the_optimum_of_a_machine_that_reorders(variant: str, request_for) -> None:  # type: ignore[no-untyped-def]
    scheduler = find(variant.split()[0])(request_for(variant, REORDERING))
    for decoder, order in scheduler.schedule(SHOWN, np.random.default_rng(0)).items():
        legal = count_violations(SHOWN.precedes, order) == 0
        assert legal.all() or decoder == "hungarian"
        cycles = model.makespans(REORDERED_COSTS, order[:, None])[:, 0]
        assert (cycles[legal] >= REORDERED_OPTIMA[legal]).all()


@pytest.mark.parametrize("method", sorted(NEED_ORDER))
def test_machines_that_reorder_are_refused(method: str, request_for) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=f"{method} is for machines that issue in order; take `search`"):
        find(method)(request_for(f"{method} 0", REORDERING))


@pytest.mark.parametrize("variant", [f"search {k}" for k in range(len(search.METHODS))])
@pytest.mark.parametrize("chip", [CHIP, REORDERING], ids=["in order", "reordering"])
def test_search_tells_the_truth(variant: str, chip: Processor, request_for) -> None:  # type: ignore[no-untyped-def]
    made, best = find("search")(request_for(variant, chip)), OPTIMA if chip is CHIP else REORDERED_OPTIMA
    found = made.optima(SHOWN, np.random.default_rng(0))  # type: ignore[attr-defined]
    costs = model.costs(chip, SHOWN.instructions)
    np.testing.assert_array_equal(found.cycles, model.makespans(costs, found.order[:, None])[:, 0])
    assert (found.bound <= best).all() and (found.cycles >= best).all()
    assert found.proven.any()
    np.testing.assert_array_equal(found.order, made.schedule(SHOWN, np.random.default_rng(0))["none"])


@pytest.mark.parametrize("variant", [name for name in variants() if name.split()[0] not in OF_ONE_LENGTH])
def test_longer_blocks_are_legal_and_never_below_the_proven_bounds(variant: str, request_for) -> None:  # type: ignore[no-untyped-def]
    bounds = [
        find(name)(request_for(f"{name} 0")).optima(LONG, np.random.default_rng(1)).bound  # type: ignore[attr-defined]
        for name in ("cp_sat", "branch_and_bound")
    ]
    for decoder, order in schedule(variant, request_for, problems=LONG).items():
        if decoder == "hungarian":
            continue
        assert (count_violations(LONG.precedes, order) == 0).all()
        cycles = simulate(CHIP.costs(LONG.instructions), order[:, None]).makespan[:, 0]
        assert (cycles >= np.max(bounds, axis=0)).all()


@pytest.mark.parametrize("method", ["cp_sat", "branch_and_bound"])
def test_exact_schedulers_tell_the_truth(method: str, request_for) -> None:  # type: ignore[no-untyped-def]
    found = find(method)(request_for(f"{method} 0")).optima(SHOWN, np.random.default_rng(0))  # type: ignore[attr-defined]
    np.testing.assert_array_equal(found.cycles, simulate(COSTS, found.order[:, None]).makespan[:, 0])
    assert (found.bound <= OPTIMA).all()
    assert (found.cycles[found.proven] == OPTIMA[found.proven]).all()
    assert found.proven.mean() > 0.9
    np.testing.assert_array_equal(found.order, schedule(f"{method} 0", request_for)["none"])


def test_the_fastest_drawn_is_no_slower_than_the_greedy_order(request_for) -> None:  # type: ignore[no-untyped-def]
    found = schedule("imitator processor", request_for, problems=LONG)
    orders = np.stack([found["greedy"], found["timed"]], axis=1)
    greedy, timed = model.makespans(CHIP.costs(LONG.instructions), orders).T
    assert (timed <= greedy).all() and (timed < greedy).any()


@pytest.mark.parametrize("method", sorted(NEED_A_MACHINE))
def test_a_machine_that_is_needed_is_asked_for(method: str, request_for) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match="schedules for a machine and is given none"):
        find(method)(request_for(f"{method} 0", None))


@pytest.mark.parametrize("method", [*sorted(NEED_A_MACHINE), "list_scheduling"])
def test_an_instruction_unknown_to_the_machine_is_named(method: str, request_for) -> None:  # type: ignore[no-untyped-def]
    scheduler = find(method)(request_for(f"{method} 0", machine(unknown=MULTIPLY)))
    with pytest.raises(ValueError, match="of the table is unsupported; leave out its block"):
        scheduler.schedule(SHOWN, np.random.default_rng(0))


def test_critical_path_beats_random_orders_and_is_mostly_optimal(request_for) -> None:  # type: ignore[no-untyped-def]
    order = schedule("critical_path 0", request_for)["none"]
    cycles, best = [], []
    for precedes, latencies, found in zip(SHOWN.precedes, SHOWN.latencies, order, strict=True):
        legal = [p for p in map(np.array, permutations(range(5))) if not count_violations(precedes[None], p[None])[0]]
        cycles.append(single_issue_cycles(precedes, latencies, found))
        best.append(min(single_issue_cycles(precedes, latencies, p) for p in legal))
    assert np.mean(np.array(cycles) == np.array(best)) > 0.9


def test_a_random_legal_order_is_gccs_as_often_as_there_are_orders(request_for) -> None:  # type: ignore[no-untyped-def]
    """What a scheduler that has learned nothing reaches: the mean of 1 / (number of legal orders)."""
    block, before, after = BLOCKS.problems.precedes.nonzero()
    offsets = np.searchsorted(block, np.arange(len(BLOCKS.block_ids) + 1))
    counts, _ = count_orders(offsets, before, after, np.full(len(BLOCKS.block_ids), 5))
    scheduler, rng, draws = find("random_legal")(request_for("random_legal 0")), np.random.default_rng(0), 400
    exact = np.zeros(len(counts))
    for _ in range(draws):
        order = scheduler.schedule(SHOWN, rng)["none"].astype(int)
        exact += (np.take_along_axis(BLOCKS.input_order, order, 1) == np.arange(5)).all(1)
    spread = np.sqrt((1 / counts * (1 - 1 / counts)).sum() / draws) / len(counts)
    assert (exact / draws).mean() == pytest.approx((1 / counts).mean(), abs=4 * spread)


def test_settings_of_another_method_are_refused() -> None:
    with pytest.raises(ValueError, match="priority is a setting of list_scheduling, not of search"):
        Settings(method="search", priority="critical_path")
    with pytest.raises(ValueError, match="of search and branch_and_bound and cp_sat and imitator, not of milp"):
        Settings(method="milp", evaluations=3)


def test_gcc_gives_the_label() -> None:
    order = find("gcc")(Request(Settings(method="gcc"), None, None, BLOCKS)).schedule(SHOWN, np.random.default_rng(0))
    back = np.take_along_axis(BLOCKS.input_order, order["none"].astype(int), 1)
    np.testing.assert_array_equal(back, np.tile(np.arange(5), (60, 1)))


def test_an_unknown_scheduler_is_named() -> None:
    with pytest.raises(ValueError, match=r"no scheduler 'sinkhron'; there are \['branch_and_bound', 'cp_sat', 'crit"):
        find("sinkhron")


NEW_SCHEDULER = '''
"""The last of the ready instructions first."""
import numpy as np
from pipeline.blocks.dag.topology import greedy_orders

class LastShown:
    def __init__(self, request):
        pass

    def schedule(self, problems, rng):
        size, n = problems.latencies.shape
        return {"none": greedy_orders(problems.precedes, np.tile(np.arange(n)[:, None], (size, 1, n)))}

make = LastShown
'''


def test_adding_a_scheduler_is_adding_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_for) -> None:  # type: ignore[no-untyped-def]
    before = methods()
    (tmp_path / "last_shown.py").write_text(NEW_SCHEDULER)
    monkeypatch.setattr(schedulers, "__path__", [*schedulers.__path__, str(tmp_path)])
    try:
        assert sorted({*before, "last_shown"}) == methods()
        assert "last_shown 0" in variants()
        order = schedule("last_shown 0", request_for, problems=LONG)["none"]
    finally:
        sys.modules.pop("pipeline.blocks.schedulers.last_shown", None)
    assert (count_violations(LONG.precedes, order) == 0).all()
    assert (order != schedule("input_order 0", request_for, problems=LONG)["none"]).any()
