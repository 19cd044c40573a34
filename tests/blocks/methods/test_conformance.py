"""One suite for every method: its orders are legal, its claims are true, and it obeys its budget.

On real blocks of 2 to 64 instructions, and on made-up ones, on small processors that issue in order and out of order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch

from learned_schedulers.blocks.dag.counting import count_orders
from learned_schedulers.blocks.method_settings import Priority, Walk
from learned_schedulers.blocks.methods import OK, UNSUPPORTED, Budget, Method, Solution, faults, make, methods
from learned_schedulers.blocks.models.inputs import Vocabulary
from learned_schedulers.blocks.models.ordering_network import SHIPPED, OrderingNetwork
from learned_schedulers.blocks.models.pocsnet import POCSNet
from learned_schedulers.blocks.order.methods import GUESS
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.token_blocks import token_trie
from learned_schedulers.blocks.processors import model
from learned_schedulers.method_settings import MethodSettings, entry
from tests.blocks import real
from tests.blocks.methods.machines import machine
from tests.blocks.methods.made_up import optima
from tests.blocks.models import imitated, made

pytestmark = pytest.mark.slow

VARIANTS: dict[str, MethodSettings] = {  # every method, in every way that its settings tell apart
    **{f"list_scheduling {name}": entry("block", "list_scheduling", priority=name) for name in get_args(Priority)},
    "haifa": entry("block", "haifa"),
    "haifa, one a cycle": entry("block", "haifa", issue_rate=1),
    "milp": entry("block", "milp", nodes=20),
    **{f"search {name}": entry("block", "search", walk=name, evaluations=50) for name in get_args(Walk)},
    "cp_sat": entry("block", "cp_sat", evaluations=20, seconds=0.05),
    "first_guess": entry("block", "first_guess"),
    "first_guess, improved": entry("block", "first_guess", evaluations=50),
}
_NAMED = {variant.method for variant in VARIANTS.values()}
VARIANTS |= {
    name: entry("block", name) for name in methods() if name not in _NAMED
}  # all others with their default settings
EXACT = [name for name, variant in VARIANTS.items() if variant.method in ("search", "cp_sat")]
ON_MACHINE = [name for name, variant in VARIANTS.items() if "machine" in variant.needs] + ["milp"]
MAY_VIOLATE = ("hungarian",)
SHORT = 9  # batches of blocks of at most 10 instructions
SMALL = 6  # instructions of blocks whose legal orders are all tried
Shown = tuple[np.ndarray, Problems]

STORE, ENCODINGS, SAMPLE, CODES = real.corpus(of_each=3, of_five=40)
BATCHES = real.batches(STORE, SAMPLE)
CHIP = machine(codes=CODES)
TRIE = token_trie([part.tolist() for part in np.split(ENCODINGS.bags, ENCODINGS.bounds[1:-1])], len(ENCODINGS.tokens))
FIVE = SAMPLE.rows[STORE.lengths[SAMPLE.rows] == 5]  # blocks of the length that POCSNet takes
MADE_UP = [
    (np.stack(sample.orders), store.problems(sample.rows, np.stack(sample.orders)))
    for n in (2, 5, 9)
    for store, _, sample in [imitated.corpus(8, shortest=n, longest=n)]
]
SMALL_CHIPS = [machine(), machine(in_order=False)]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path | None]:
    folder = tmp_path_factory.mktemp("weights")

    @cache
    def trained(variant: str) -> Path | None:
        path = folder / f"{variant}.safetensors"
        method = VARIANTS[variant].method
        if method == "shipped_imitator":
            return SHIPPED
        if method == "first_guess":
            return GUESS
        torch.manual_seed(0)
        if method == "ordering":
            OrderingNetwork(Vocabulary.of(ENCODINGS, STORE.instructions_of(FIVE), 1), imitated.settings()).save(path)
        elif method == "soft_permutation":
            POCSNet(5, TRIE.n_tokens, made.SETTINGS).save(path)
        else:
            return None
        return path

    return trained


Solve = Callable[[str], list[Solution]]


@pytest.fixture(scope="module")
def method_of(weights: Callable[[str], Path | None]) -> Callable[..., Method]:
    def of(variant: str, label: np.ndarray, **changed: object) -> Method:
        path = weights(variant)
        resources = {"machine": CHIP, "encodings": ENCODINGS, "tokens": TRIE, "label": label, **changed}
        return make(VARIANTS[variant], resources | ({} if path is None else {"weights": path}))

    return of


@pytest.fixture(scope="module")
def solve(method_of: Callable[..., Method]) -> Solve:
    """All real batches, once for each variant."""

    @cache
    def solved(variant: str) -> list[Solution]:
        rng, allowed = np.random.default_rng(0), Budget.of(VARIANTS[variant])
        batches = BATCHES if variant != "milp" else BATCHES[:SHORT]  # HiGHS takes seconds for a long one
        return [method_of(variant, np.argsort(shown, 1)).solve(problems, rng, allowed) for shown, problems in batches]

    return solved


@cache
def optimum(number: int) -> np.ndarray:
    """Fewest cycles of each block of a real batch over all its legal orders, tried one by one."""
    problems = BATCHES[number][1]
    return optima(CHIP.costs(problems.instructions), problems.precedes)


def small() -> list[int]:
    return [number for number, (shown, _) in enumerate(BATCHES) if shown.shape[1] <= SMALL]


def cycles_of(problems: Problems, order: np.ndarray) -> np.ndarray:
    return model.makespans(CHIP.costs(problems.instructions), order[:, None])[:, 0]


def check(problems: Problems, solution: Solution) -> None:
    """By the library's checks of methods."""
    assert not list(faults(problems, solution, MAY_VIOLATE))


@pytest.mark.parametrize("variant", VARIANTS)
def test_orders_are_legal_permutations(variant: str, solve: Solve) -> None:
    for (_, problems), solution in zip(BATCHES, solve(variant), strict=variant != "milp"):
        check(problems, solution)
        assert (solution.status == OK).all() or (variant == "soft_permutation" and problems.latencies.shape[1] != 5)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_same_seed_gives_the_same_orders(variant: str, solve: Solve, method_of: Callable[..., Method]) -> None:
    """On blocks of five instructions."""
    shown, problems = BATCHES[3]
    allowed = Budget.of(VARIANTS[variant])
    first, again = (
        method_of(variant, np.argsort(shown, 1)).solve(problems, np.random.default_rng(7), allowed) for _ in range(2)
    )
    for decoder, order in first.orders.items():
        np.testing.assert_array_equal(order, again.orders[decoder])


@pytest.mark.parametrize("variant", EXACT)
def test_cycles_and_bounds_are_true(variant: str, solve: Solve) -> None:
    """Compared with every legal order of small blocks, and with the best order of any method of the others."""
    proven = 0
    for number, ((_, problems), solution) in enumerate(zip(BATCHES, solve(variant), strict=True)):
        cycles, bound = solution.stats["cycles"], solution.stats["bound"]
        np.testing.assert_array_equal(cycles, cycles_of(problems, solution.orders["none"]))
        proven += (cycles == bound).sum()
        if number in small():
            assert (bound <= optimum(number)).all() and (optimum(number) <= cycles).all()
        for rival in EXACT:
            assert (bound <= solve(rival)[number].stats["cycles"]).all()
    assert proven > 0.4 * len(SAMPLE.rows)


@pytest.mark.parametrize("chip", SMALL_CHIPS, ids=["in order", "reordering"])
@pytest.mark.parametrize("variant", ["search annealing", "cp_sat", "list_scheduling weighted_height"])
def test_made_up_blocks_on_small_processors(variant: str, chip: object, method_of: Callable[..., Method]) -> None:
    if chip is SMALL_CHIPS[1] and variant == "cp_sat":
        with pytest.raises(ValueError, match="is for machines that issue in order; take `search`"):
            method_of(variant, MADE_UP[0][0], machine=chip)
        return
    method = method_of(variant, MADE_UP[0][0], machine=chip)
    for _, problems in MADE_UP:
        solution = method.solve(problems, np.random.default_rng(0), Budget.of(VARIANTS[variant]))
        check(problems, solution)
        if "cycles" in solution.stats and problems.latencies.shape[1] <= SMALL:
            best = optima(model.costs(chip, problems.instructions), problems.precedes)
            assert (solution.stats["bound"] <= best).all() and (best <= solution.stats["cycles"]).all()


def test_random_legal_orders_are_uniform(method_of: Callable[..., Method]) -> None:
    """Each is GCC's with probability 1 / (number of legal orders)."""
    shown, problems = BATCHES[3]
    block, before, after = STORE.as_emitted(FIVE).precedes.nonzero()
    counts, _ = count_orders(np.searchsorted(block, np.arange(len(FIVE) + 1)), before, after, np.full(len(FIVE), 5))
    method, rng, draws = method_of("random_legal", shown), np.random.default_rng(0), 400
    exact = np.zeros(len(counts))
    for _ in range(draws):
        order = method.solve(problems, rng, Budget()).orders["none"].astype(np.int64)
        exact += (np.take_along_axis(shown, order, 1) == np.arange(5)).all(1)
    spread = np.sqrt((1 / counts * (1 - 1 / counts)).sum() / draws) / len(counts)
    assert (exact / draws).mean() == pytest.approx((1 / counts).mean(), abs=4 * spread)


@pytest.mark.parametrize("variant", EXACT)
def test_a_smaller_budget_is_obeyed(variant: str, solve: Solve, method_of: Callable[..., Method]) -> None:
    """With the least budget, a method returns its first order and draws nothing; with more, it is never worse."""
    rng = np.random.default_rng(0)
    before, least = rng.bit_generator.state, []
    for shown, problems in BATCHES:
        least.append(method_of(variant, shown).solve(problems, rng, Budget()))
        first = least[-1].orders["none"]
        np.testing.assert_array_equal(first, solve("list_scheduling critical_path")[len(least) - 1].orders["none"])
    assert rng.bit_generator.state == before
    gains = [
        less.stats["cycles"].astype(int) - more.stats["cycles"]
        for less, more in zip(least, solve(variant), strict=True)
    ]
    assert (np.concatenate(gains) >= 0).all() and (np.concatenate(gains) > 0).any()


def test_the_budgets_of_solvers_are_handed_on(
    monkeypatch: pytest.MonkeyPatch, method_of: Callable[..., Method]
) -> None:
    from learned_schedulers.blocks.methods import cp_sat, milp

    budgets: list[float] = []
    solver, real_milp = cp_sat.constraints.solve, milp.milp
    monkeypatch.setattr(
        cp_sat.constraints, "solve", lambda *arguments: budgets.append(arguments[4]) or solver(*arguments)
    )
    monkeypatch.setattr(
        milp,
        "milp",
        lambda *arguments, **keywords: (
            budgets.append(keywords["options"]["node_limit"]) or real_milp(*arguments, **keywords)
        ),
    )
    budget = Budget(nodes=3, seconds=0.02)
    for variant, expected, batches in (
        ("cp_sat", 0.02, BATCHES[6:]),
        ("milp", 3, BATCHES[:5]),
    ):
        budgets.clear()
        for shown, problems in batches:
            method_of(variant, shown).solve(problems, np.random.default_rng(0), budget)
        assert set(budgets) == {expected}, variant


@pytest.mark.parametrize("variant", ON_MACHINE)
def test_blocks_that_the_machine_does_not_know_are_unsupported(variant: str, method_of: Callable[..., Method]) -> None:
    """The other blocks are solved as if the unsupported ones were not in the batch."""
    shown, problems = BATCHES[3]
    counts = np.bincount(problems.instructions.ravel(), minlength=len(CODES))
    row = int(counts.argmax())
    without = (problems.instructions != row).all(1)
    assert 0 < without.sum() < len(without)
    method = method_of(variant, shown, machine=machine(CODES[row].hex(), codes=CODES))
    allowed = Budget.of(VARIANTS[variant])
    solution = method.solve(problems, np.random.default_rng(0), allowed)
    check(problems, solution)
    np.testing.assert_array_equal(solution.status, np.where(without, OK, UNSUPPORTED))
    assert f"does not know instruction {row} of its table" in solution.message[~without][0]
    alone = method_of(variant, shown).solve(problems[without], np.random.default_rng(0), allowed)
    np.testing.assert_array_equal(solution.orders["none"][without], alone.orders["none"])
    nothing = method.solve(problems[~without], np.random.default_rng(0), allowed)
    check(problems[~without], nothing)
    assert (nothing.status == UNSUPPORTED).all()
