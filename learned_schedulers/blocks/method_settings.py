"""Settings of the methods for basic blocks; entries of `methods` in params.yaml."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, get_args

from pydantic import BeforeValidator, SerializeAsAny

from learned_schedulers.method_settings import MethodSettings, parser
from learned_schedulers.section import AboveZero, Positive

# Resources that a method may request beside its settings. Not literals, as some are names of tables (wiring.imports).
RESOURCES: dict[str, str] = dict(
    weights="a trained network or policy, safetensors",
    machine="a processor's model, table machine_instructions",
    encodings="what distinct instructions are, table encodings",
    tokens="the blocks' instructions as token sequences, tables tokens and vocabulary",
    label="GCC's orders of the very blocks that are to be ordered",
)
HaifaRule = Literal["priority", "last_insn", "dependents"]  # in the order in which they rank (methods/haifa.py)
Priority = Literal["critical_path", "weighted_height", "register_pressure", "source_order"]
Walk = Literal["restarts", "annealing", "mcmc"]  # numbered as in methods/on_machine/annealing.py


class BlockMethodSettings(MethodSettings):
    """What every method for blocks has."""

    needs: ClassVar[frozenset[str]] = frozenset()
    shipped: ClassVar[str | None] = None  # weights in the package, as a path from the root of the repository

    model: str | None = None  # the trained network that it loads
    processors: list[str] | None = None  # for which it runs; all by default
    exact: bool = False  # whether its proofs are measured


BASE = BlockMethodSettings
BlockEntry = Annotated[SerializeAsAny[BlockMethodSettings], BeforeValidator(parser("block"))]


class CpSat(BlockMethodSettings):
    title: ClassVar[str] = "CP-SAT"
    needs: ClassVar = frozenset({"machine"})

    evaluations: Positive = 300  # orders of each block that search times, once before CP-SAT and once after it
    seconds: AboveZero = 1.0  # of CP-SAT's deterministic time for each block


class FirstGuess(BlockMethodSettings):
    needs: ClassVar = frozenset({"weights", "machine"})

    evaluations: Positive = 1  # orders of each block that it times; 1: the guess alone, which it does not time


class Gcc(BlockMethodSettings):
    title: ClassVar[str] = "GCC"
    needs: ClassVar = frozenset({"label"})


class Haifa(BlockMethodSettings):
    issue_rate: Positive = 4  # instructions per cycle
    rules: list[HaifaRule] = list(get_args(HaifaRule))  # rules that rank ready instructions


class ListScheduling(BlockMethodSettings):
    uses: ClassVar = frozenset({"machine"})

    priority: Priority = "critical_path"  # of ready instructions; weighted_height needs a machine


class Milp(BlockMethodSettings):
    title: ClassVar[str] = "MILP"
    uses: ClassVar = frozenset({"machine"})

    nodes: Positive = 100  # of the search tree of each block that HiGHS visits


class Ordering(BlockMethodSettings):
    needs: ClassVar = frozenset({"weights", "encodings"})


class Search(BlockMethodSettings):
    needs: ClassVar = frozenset({"machine"})

    walk: Walk = "annealing"  # how it chooses the next order (on_machine/annealing.py)
    evaluations: Positive = 1000  # orders of each block that it times


class ShippedImitator(Ordering):
    shipped: ClassVar[str | None] = "learned_schedulers/blocks/models/shipped/imitator.safetensors"


class SoftPermutation(BlockMethodSettings):
    needs: ClassVar = frozenset({"weights", "tokens"})

    iterations: Positive | None = None  # of the operator; by default as many as in training


CLASSES: dict[str, type[BlockMethodSettings]] = {
    "cp_sat": CpSat,
    "first_guess": FirstGuess,
    "gcc": Gcc,
    "haifa": Haifa,
    "list_scheduling": ListScheduling,
    "milp": Milp,
    "ordering": Ordering,
    "search": Search,
    "shipped_imitator": ShippedImitator,
    "soft_permutation": SoftPermutation,
}
