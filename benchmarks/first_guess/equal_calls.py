"""Orders after equal numbers of calls of a dear judge, llvm-mca itself: does the first guess help?

    python -m benchmarks.first_guess.equal_calls

The first blocks of the fresh set of the experiment `first_guess`, with the weights of the package. Every method asks
llvm-mca for the cycles of one order of each block at a time, and may use all answers so far:

- learned: the first guess, then one instruction of the best order so far moves to another slot, at random;
- search: list scheduling with two priorities, list scheduling without a processor and the order in which the block is
  shown (the starting orders of `search`), then the same moves from the best of them;
- random: legal orders, each drawn anew.

A moved order that takes as many cycles replaces the one before it. llvm-mca's answers alone decide.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.first_guess.blocks import Blocks, binary, blocks_on, inputs
from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.blocks.methods.list_scheduling import list_schedule
from learned_schedulers.blocks.methods.on_machine.annealing import move, shift
from learned_schedulers.blocks.methods.on_machine.graph import closure
from learned_schedulers.blocks.methods.on_machine.guessing import guesses, load
from learned_schedulers.blocks.order.methods import GUESS
from learned_schedulers.blocks.order.targets import TARGETS
from learned_schedulers.statistics.bootstrap import Bootstrap
from pipeline.lab.config import params
from pipeline.lab.rows import Quantity, Row, estimated, results

CALLS = (1, 2, 3, 5, 10, 20, 30, 50, 100)


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "equal_calls",
    n_blocks: Annotated[int, typer.Option(help="Blocks on each processor.")] = 200,
    seeds: Annotated[int, typer.Option(help="Of the random moves.")] = 3,
) -> None:
    """Ask llvm-mca for orders of every method, on every processor."""
    evaluation = params.load().evaluation
    rows: list[Row] = []
    logarithms: dict[str, dict[str, np.ndarray]] = {}  # target -> method -> (seeds, calls, blocks)
    for blocks in blocks_on(TARGETS, n_blocks):
        logarithms[blocks.target] = {
            name: np.log([_best_so_far(blocks, name, seed) for seed in range(seeds)])
            for name in ("learned", "search", "random")
        }
    everywhere = {
        name: np.concatenate([of[name] for of in logarithms.values()], axis=2)
        for name in ("learned", "search", "random")
    }
    for target, of_method in (logarithms | {"all": everywhere}).items():
        bootstrap = Bootstrap(of_method["search"].shape[2], evaluation.bootstrap_samples, evaluation.confidence)
        for method, of_calls in of_method.items():
            for place, calls in enumerate(CALLS):
                differences = of_calls[:, place] - of_method["search"][:, place]
                where = {
                    "experiment": output.name,
                    "set": "fresh_guess_10_40",
                    "target": target,
                    "method": method,
                    "decoder": f"calls_{calls}",
                }
                quantity = Quantity("cycles", "ratio", "search", "llvm_mca")
                rows += estimated(where, quantity, dict(enumerate(differences)), bootstrap, np.exp)
                value, low, high = (rows[-1][name] for name in ("value", "low", "high"))
                print(f"{target:11} {method:8} {calls:4} {value:.4f} [{low:.4f}, {high:.4f}]", flush=True)
    files = sorted({file for target in TARGETS for file in inputs(target)})
    publish(output, {"results": results(rows)}, {"blocks": n_blocks, "seeds": list(range(seeds))}, files, [GUESS])


def _best_so_far(blocks: Blocks, name: str, seed: int) -> np.ndarray:
    """Fewest cycles of each block after CALLS calls, (calls, blocks)."""
    rng, program = np.random.default_rng(seed), binary()
    best: np.ndarray | None = None
    answers = []
    proposals = _proposals(blocks, name, rng)
    orders = next(proposals)
    for call in range(1, CALLS[-1] + 1):
        cycles = blocks.cycles(orders, program, 2)
        best = cycles if best is None else np.minimum(best, cycles)
        if call in CALLS:
            answers.append(best)
        if call < CALLS[-1]:
            orders = proposals.send(cycles)
    return np.array(answers)


def _proposals(
    blocks: Blocks, name: str, rng: np.random.Generator
) -> Generator[Sequence[np.ndarray], np.ndarray, None]:
    """One order of each block after the other, in GCC's numbers; it is sent the cycles of the last ones."""
    count = len(blocks.texts)
    reach: list[np.ndarray] = [np.empty(0)] * count
    drawn: list[list[np.ndarray]] = [[] for _ in range(count)]
    weights = load(GUESS)
    for problems, items, shown in blocks.batches:
        back = np.argsort(shown, axis=1)
        size, n = shown.shape
        if name == "learned":
            first = [guesses(blocks.chip.out_of_order_costs(problems.instructions), problems.precedes, weights)]
        elif name == "search":
            as_if = blocks.chip.costs(problems.instructions)
            first = [list_schedule(problems, priority, as_if) for priority in ("weighted_height", "critical_path")]
            first += [list_schedule(problems, "critical_path", None), np.tile(np.arange(n, dtype=np.int16), (size, 1))]
        else:
            first = [random_ready(problems.precedes, rng) for _ in range(CALLS[-1])]
        for b, item in enumerate(items.tolist()):
            reach[item] = closure(problems.precedes[b][np.ix_(back[b], back[b])])
            drawn[item] = [shown[b][order[b]].astype(np.int64) for order in first]
    current = np.full(count, np.inf)
    order = [of[0] for of in drawn]
    for call in range(CALLS[-1]):
        if call < len(drawn[0]):
            proposed = [of[call] for of in drawn]
        else:
            proposed = [_moved(reach[item], order[item], rng) for item in range(count)]
        cycles = yield proposed
        for item in np.flatnonzero(cycles <= current):
            order[item], current[item] = proposed[item], cycles[item]


def _moved(reach: np.ndarray, order: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A copy of an order with one instruction in another slot."""
    moved = order.copy()
    shift(moved, *move(reach, moved, rng))
    return moved


if __name__ == "__main__":
    typer.run(main)
