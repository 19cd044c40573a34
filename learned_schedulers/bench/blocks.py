"""Basic blocks as GCC ordered them, and the cycles of other orders of them in the model of a processor.

The blocks are of C text that this laboratory generated, compiled by GCC 12.2: no
other licence than ours applies to them. A method sees a block in a random legal order. The judge is the fast model of
the processor, a single pass, which needs no other program: on atom, which issues in order, it gave llvm-mca's cycles of
all 30,000 random orders of real blocks, on the others of 99.8% at least (reports/published/processor_agreement). The
baseline is GCC's order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from iced_x86 import Decoder

from learned_schedulers.bench.kinds import FAILED, REFUSED, Verdict
from learned_schedulers.blocks import models
from learned_schedulers.blocks.dag.memory_order import MemoryDags
from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.blocks.method_settings import Entry
from learned_schedulers.blocks.method_settings import entry as block_entry
from learned_schedulers.blocks.methods import OK, Solution, faults, make
from learned_schedulers.blocks.methods import Budget as BlockBudget
from learned_schedulers.blocks.methods.on_machine.root_bounds import root_bounds
from learned_schedulers.blocks.problems.instructions import Encodings, describe, of_described
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.store import store_of
from learned_schedulers.blocks.processors import model
from learned_schedulers.blocks.processors.chips import Chip
from learned_schedulers.blocks.processors.costs import Processor
from learned_schedulers.graphs.method_settings import Sight
from learned_schedulers.graphs.methods import Budget
from learned_schedulers.kernel_arrays import seal
from learned_schedulers.outside_methods import check_constructor, is_outside

PROCESSORS = ("atom", "silvermont", "btver2", "haswell", "skylake")  # not znver4: llvm-mca disagrees on 9% of orders
ENTRIES: dict[str, dict[str, Any]] = {  # as in params.yaml
    "gcc": {"method": "gcc"},
    "list_scheduling": {"method": "list_scheduling", "priority": "weighted_height"},
    "search": {"method": "search", "walk": "annealing"},
}
_NETWORKS = Path(models.__file__).parent
_WEIGHTS = {  # of shipped networks; those of a policy are of one processor
    "policy": "shipped_schedulers/policy_{}.safetensors",
    "first_guess": "shipped_schedulers/first_guess.safetensors",
    "shipped_imitator": "shipped/imitator.safetensors",
}
_WITHOUT_DRAWS = frozenset({"gcc", "list_scheduling", "critical_path", "input_order", "policy", "shipped_imitator"})
_RULES = ("gcc", "list_scheduling", "critical_path", "random_legal")
_OFFERED = frozenset({"machine", "encodings"})  # resources of any method


class BlockSet(NamedTuple):
    """Blocks of some families of generated programs."""

    name: str

    kind: Literal["block"] = "block"
    contents: str = "basic blocks in GCC's order"
    unit: str = "cycles"
    evaluations: int = 100
    targets: tuple[str, ...] = PROCESSORS

    @property
    def file(self) -> str:
        return f"{self.name}.parquet"

    @property
    def peers(self) -> dict[str, tuple[str, ...]]:
        return {"default": _RULES, "all": (*_RULES, "policy", "first_guess", "search", "shipped_imitator")}

    def has(self, target: str) -> bool:
        return target in self.targets

    def instances(self, rows: list[dict[Any, Any]]) -> Iterable[BlockInstance]:
        codes = [row["code"] for row in rows]
        dags = MemoryDags("single_thread")
        read = dags.conflicts(codes)
        store = store_of(read, dags.table.latency[read.effects])
        parts = [_instructions(code) for code in codes]
        of_set = Instructions(tuple(sorted({code for part in parts for code in part})))
        rows_of = {code: row for row, code in enumerate(of_set.codes)}
        for number, (row, part) in enumerate(zip(rows, parts, strict=True)):
            block, block_id = np.array([number]), hashlib.sha256(row["code"]).hexdigest()
            rng = np.random.default_rng(list(bytes.fromhex(block_id)))
            order = random_ready(store.as_emitted(block).precedes, rng)
            numbers = np.array([[rows_of[part[i]] for i in order[0]]], np.int32)
            problems = replace(store.problems(block, order), instructions=numbers, following=None)
            yield BlockInstance(block_id, row["name"], row["family"], problems, np.argsort(order, 1), of_set)


SETS = (BlockSet("blocks_development"), BlockSet("blocks_unseen"))  # settings are chosen on the first one


def _instructions(code: bytes) -> list[bytes]:
    """The machine code of each instruction of a block."""
    decoder = Decoder(64, code)
    return [code[each.ip : each.ip + each.len] for each in decoder]


@dataclass(frozen=True, eq=False)
class Instructions:
    """The distinct instructions of a set, sorted; problems have their rows."""

    codes: tuple[bytes, ...]
    _processors: dict[str, Processor] = field(default_factory=dict)

    def on(self, processor: str) -> Processor:
        """What they cost on a processor."""
        if processor not in self._processors:
            self._processors[processor] = Chip(processor).processor(self.codes)
        return self._processors[processor]

    @cached_property
    def encodings(self) -> Encodings:
        """What they are."""
        return of_described([describe(Decoder(64, code).decode()) for code in self.codes])


@dataclass(frozen=True, eq=False)
class BlockInstance:
    """A block as a method sees it."""

    graph_id: str  # SHA-256 of its machine code, in which addresses are masked
    name: str
    family: str
    problems: Problems  # a batch of this block alone, in a random legal order
    label: np.ndarray  # (1, n): GCC's order of it
    instructions: Instructions  # of its set

    def __len__(self) -> int:
        return self.label.shape[1]

    @property
    def title(self) -> str:
        return f"{self.family} {self.name} ({self.graph_id[:12]})"

    @property
    def identity(self) -> str:
        return f"{self.graph_id} block"

    def costs(self, target: str) -> model.Costs:
        """What its instructions cost on the processor."""
        return model.costs(self.instructions.on(target), self.problems.instructions)

    def bound(self, target: str) -> float:
        """Cycles that no legal order undercuts: dependencies, units, micro-ops per cycle."""
        return float(root_bounds(self.costs(target), self.problems.precedes)[0])


class BlockEntrant(NamedTuple):
    """A method for blocks."""

    name: str
    entry: Entry

    @property
    def method(self) -> str:
        return self.entry.method

    @property
    def keys(self) -> dict[str, Any]:
        return self.entry.model_dump(mode="json")

    @property
    def sees(self) -> Sight:
        asked_for = self.entry.settings.needs | self.entry.settings.uses
        return "target" if "machine" in asked_for else "proxy"

    @property
    def draws(self) -> bool:
        return self.name not in _WITHOUT_DRAWS

    def weights_for(self, target: str) -> Path | None:
        return _NETWORKS / _WEIGHTS[self.name].format(target) if self.name in _WEIGHTS else None

    def attempt(self, instance: BlockInstance, target: str, seed: int) -> Callable[[Budget], Solution]:
        """A method of another package gets read-only copies; those of ours are compiled for arrays that are not."""
        problems, resources = instance.problems, dict[str, object](machine=instance.instructions.on(target))
        resources["encodings"] = instance.instructions.encodings
        if is_outside(self.method):
            problems, resources = deepcopy((problems, resources))
            seal((problems, *resources.values()))
        resources |= {"weights": self.weights_for(target)}
        resources |= {"label": instance.label} if self.name == "gcc" else {}  # to nobody who lists it in `uses`

        def solve(budget: Budget) -> Solution:
            rng = np.random.default_rng([seed, *bytes.fromhex(instance.graph_id)])
            allowed = replace(BlockBudget.of(self.entry.settings), evaluations=budget.evaluations)
            return make(self.entry, resources).solve(problems, rng, allowed)

        return solve

    def arrays(self, answer: Solution) -> tuple[np.ndarray, ...]:
        return tuple(answer.orders.values())

    def judge(self, answer: Solution, instance: BlockInstance, target: str, budget: Budget) -> Verdict:
        """Of several decoders the first one counts."""
        if wrong := list(faults(instance.problems, answer)):
            return Verdict(None, 0, (FAILED, "; ".join(wrong)))
        if answer.status[0] != OK:
            return Verdict(None, 0, (REFUSED, str(answer.message[0])))
        order = next(iter(answer.orders.values()))
        return Verdict(float(model.makespans(instance.costs(target), order[:, None])[0, 0]), len(answer.orders))


def entrant(name: str, keys: dict[str, Any]) -> BlockEntrant:
    """See peers.entrant."""
    entry = block_entry(**(ENTRIES.get(name, {"method": name}) | keys))
    available = _OFFERED | ({"weights"} if name in _WEIGHTS else set()) | ({"label"} if name == "gcc" else set())
    if missing := sorted(entry.settings.needs - available):
        raise ValueError(f"the method {name!r} needs {', '.join(missing)}, which `compare` does not have for it")
    check_constructor(entry.method, available & (entry.settings.needs | entry.settings.uses))
    return BlockEntrant(name, entry)
