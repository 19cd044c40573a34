"""Methods for users' blocks: which there are, which processors each of them serves, and how each proposes orders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from iced_x86 import Decoder

from learned_schedulers.blocks import models
from learned_schedulers.blocks.methods import Budget, make
from learned_schedulers.blocks.order.targets import Target
from learned_schedulers.blocks.problems.instructions import Described, Encodings, describe, of_described
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.processors.costs import Processor
from learned_schedulers.method_settings import entry

if TYPE_CHECKING:  # torch is slow to import, and only networks need it
    from learned_schedulers.blocks.models.inputs import Bags
    from learned_schedulers.blocks.models.ordering_network import OrderingNetwork

By = Literal["search", "learned", "list", "cp_sat", "imitator", "random_legal"]
METHODS: tuple[By, ...] = get_args(By)
WITHOUT_PROCESSOR: tuple[By, ...] = ("imitator", "random_legal")  # their orders are taken, faster or not
MEASURED: tuple[By, ...] = tuple(by for by in METHODS if by != "random_legal")  # it is for tests, and makes code slower
SHIPPED = Path(models.__file__).parent / "shipped_schedulers"  # from the rule `ship_schedulers`
GUESS = SHIPPED / "first_guess.safetensors"
IMITATOR = Path(models.__file__).parent / "shipped" / "imitator.safetensors"
IN_ORDER: tuple[Target, ...] = ("atom",)  # processors whose optimum CP-SAT can prove
# Settings of methods without a network, as in params.yaml.
_SETTINGS: dict[str, dict[str, Any]] = {
    "search": {"method": "search", "walk": "annealing", "evaluations": 300},
    "list": {"method": "list_scheduling", "priority": "weighted_height"},
    "learned": {"method": "first_guess", "evaluations": 10},
    "cp_sat": {"method": "cp_sat", "evaluations": 300, "seconds": 1.0},
    "random_legal": {"method": "random_legal"},
}


class Batch(NamedTuple):
    """Blocks of one length on a processor, as methods see them."""

    problems: Problems  # instructions are rows of `chip`
    chip: Processor
    distinct: np.ndarray  # (B, n): numbers of the call's distinct instructions, for the imitator


Propose = Callable[[Batch, np.random.Generator], np.ndarray]  # orders (B, n) of a batch


def serves(by: By, target: Target) -> None:
    """Raise ValueError, which names a method that does, if a method does not serve a processor."""
    if by == "cp_sat" and target not in IN_ORDER:
        raise ValueError(
            f"--by cp_sat: it proves optima of processors that issue in order ({', '.join(IN_ORDER)}); "
            f"for {target} take --by search"
        )


class Classical:
    """A method that needs the processor's model alone, and perhaps weights that NumPy reads."""

    instructions = 1 << 16  # of a batch

    def __init__(self, by: By, weights: Path | None = None) -> None:
        self._settings = entry("block", **_SETTINGS[by])
        self._budget = Budget.of(self._settings)
        self._weights = {"weights": weights or GUESS} if by == "learned" else {}

    def begin(self, codes: list[bytes]) -> Propose:
        """The proposer for the blocks of a call. codes: its distinct instructions, masked, for the imitator."""

        def propose(batch: Batch, rng: np.random.Generator) -> np.ndarray:
            method = make(self._settings, {"machine": batch.chip, **self._weights})
            solution = method.solve(batch.problems, rng, self._budget)
            order: np.ndarray = next(iter(solution.orders.values()))
            return order

        return propose


class Imitator:
    """The network that imitates GCC."""

    instructions = 2048  # of a batch, so that its intermediate results stay in a core's cache

    def __init__(self, weights: Path) -> None:
        import torch

        from learned_schedulers.blocks.models.ordering_network import OrderingNetwork

        torch.set_num_threads(1)  # processes share the work, and a fork of a process with threads may wait for ever
        self._network: OrderingNetwork = OrderingNetwork.load(weights)
        self._described: dict[bytes, Described] = {}

    def begin(self, codes: list[bytes]) -> Propose:
        """The proposer for the blocks of a call. codes: its distinct instructions, masked, for the imitator."""
        for code in codes:
            if code not in self._described:
                self._described[code] = describe(Decoder(64, code).decode())
        encodings: Encodings = of_described([self._described[code] for code in codes])
        bags: Bags = self._network.vocabulary.bags(encodings)

        def propose(batch: Batch, rng: np.random.Generator) -> np.ndarray:
            problems = replace(batch.problems, instructions=batch.distinct)
            return self._network.schedule(problems, encodings, bags)[0]

        return propose


def proposer(by: By, target: Target, weights: Path | None = None) -> Classical | Imitator:
    """The method of a name for a processor. weights: another file for a network. Raises ValueError as `serves` does."""
    if by == "imitator":
        return Imitator(weights or IMITATOR)
    serves(by, target)
    return Classical(by, weights)
