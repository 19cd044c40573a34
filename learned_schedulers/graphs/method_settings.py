"""Settings of the methods for computation graphs; entries of `graph_methods` in params.yaml."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny

from learned_schedulers.graphs.models.policy_settings import SigmaUnit
from learned_schedulers.graphs.models.whole_graph.settings import Published, WholeGraph
from learned_schedulers.method_settings import MethodSettings, NoisySettings, parser
from learned_schedulers.section import AboveZero, Positive

BASE = MethodSettings
GraphEntry = Annotated[SerializeAsAny[MethodSettings], BeforeValidator(parser("graph"))]
Sight = Literal["proxy", "target"]  # of a method's own costs: without transfers, or on the judge's target
# Which of several free devices list scheduling takes: that of the lowest number, which often ran a parent; the one that
# is free for the longest, as from a queue of devices; or one that ran the most parents.
Ties = Literal["lowest", "longest_idle", "parents"]
Tasks = Literal["joint", "separate", "placement", "priority"]
TARGET = frozenset({"target"})


class SightedSettings(MethodSettings):
    """Settings of a method that can optimise on the target itself, which shows the value of knowing it."""

    sees: Sight = "proxy"

    @property
    def needs(self) -> frozenset[str]:
        return TARGET if self.sees == "target" else frozenset()


class ToldSettings(MethodSettings):
    """Settings of a method that does not know the target, and may be told what transfers might be."""

    # Transfers and noise: none, random ones, or the target's.
    told: Literal["proxy", "drawn", "target"] = "proxy"
    strengths: Positive = 10  # of `drawn`, each for an equal share of the schedules
    least_strength: AboveZero = 0.3  # slope and delay are log-uniform between these two, in mean run times
    most_strength: AboveZero = 0.8

    @property
    def needs(self) -> frozenset[str]:
        return super().needs | (TARGET if self.told == "target" else frozenset())


class Annealing(SightedSettings):
    evaluations: Positive = 1000  # schedules that are simulated, list scheduling's among them
    hot: AboveZero = 0.005  # temperature at first and at last, in makespans of the schedule that it starts from
    cold: AboveZero = 0.0005


class Brkga(SightedSettings):
    title: ClassVar = "BRKGA"

    evaluations: Positive = 1000  # schedules that are simulated
    population: Annotated[int, Field(ge=10)] = 100  # a fifth of it elites, a tenth of it mutants
    bias: Annotated[float, Field(ge=0.5, le=1)] = 0.7  # probability that a key comes from the elite parent
    ties: Ties | None = None  # of list scheduling, whose priorities the keys are; none: keys are of devices, too


class Contiguous(MethodSettings):
    draws: ClassVar = False


class CpSat(MethodSettings):
    title: ClassVar = "CP-SAT"
    draws: ClassVar = False  # the seed is of its search alone: what is proven does not depend on it

    # Of CP-SAT's deterministic time for each graph; some 3 of the clock each.
    seconds: AboveZero = 2.0
    most_operations: Positive = 50  # a graph with more is not tried


class DecisionAnnealing(MethodSettings):
    title: ClassVar = "Annealing of GO's decisions"

    evaluations: Positive = 2000  # schedules that are simulated, those of `start` among them
    start: GraphEntry | None = None  # a method whose best placement it starts from, if that is better than HEFT's
    hot: AboveZero = 0.005  # temperature at first and at last, in losses of the best so far
    cold: AboveZero = 0.0002
    placing: Annotated[float, Field(ge=0, le=1)] = 0.7  # share of moves that place; others give priorities

    @property
    def needs(self) -> frozenset[str]:
        return TARGET | (frozenset() if self.start is None else self.start.needs)

    @property
    def network(self) -> str | None:
        return None if self.start is None else self.start.network


class Expert(MethodSettings):
    needs: ClassVar = frozenset({"target", "expert"})
    draws: ClassVar = False

    by: Literal["layers", "balanced", "published"] = "layers"  # pipeline/graph_sets/experts.py of version 1.0.0
    order: Literal["rule", "graph"] = "rule"  # of the operations: the one rule of ordering, or by their numbers


class Gflownet(ToldSettings):
    title: ClassVar = "GFlowNet"

    model: str = "gflownet"  # the trained policy, of this experiment or of its `networks`
    # Temperature: a lower one gives shorter and more similar schedules; none: the lowest one of its training.
    sigma: AboveZero | None = 0.005
    sigma_unit: SigmaUnit = "speedup"
    most_operations: Positive = 2000  # of a graph that it takes: its arrays have operations^2 entries


class LocalSearch(SightedSettings):
    evaluations: Positive = 100_000  # moves
    starts: Positive = 16  # walks, before the best ones go on
    per_operation: Positive = 300  # moves of a walk, at least: fewer walks, if there are not so many
    hot: AboveZero = 0.03  # temperatures of the first walks at first, of those that go on, and at last, in makespans of
    warm: AboveZero = 0.001  # the schedule that they start from
    cold: AboveZero = 0.0003


class Go(MethodSettings):
    title: ClassVar = "GO"

    evaluations: Positive = 2000  # schedules that are simulated
    model: str | None = None  # a network that was trained on other graphs; none: it begins without knowledge
    learns: bool = True  # from its own evaluations; without a model and without learning, moves are drawn at random
    tasks: Tasks = "joint"  # separate: first all placements, then all priorities
    # What the first round starts from: the best of some schedules that keep the memory, or the expert's placement by
    # layers, repaired.
    start: Literal["open", "expert"] = "open"
    settings: WholeGraph = WholeGraph()

    @property
    def needs(self) -> frozenset[str]:
        weights = set() if self.model is None else {"weights"}
        return frozenset({"target"} | weights | ({"expert"} if self.start == "expert" else set()))


class GoPublished(MethodSettings):
    title: ClassVar = "GO as published"

    evaluations: Positive = 2000  # schedules that are simulated
    model: str | None = None  # a network that was trained on other graphs; none: it begins without knowledge
    learns: bool = True  # from its own evaluations; otherwise all are drawn from the network as it is
    settings: Published = Published()  # with a model, the sizes of its layers are the model's

    @property
    def needs(self) -> frozenset[str]:
        return TARGET if self.model is None else TARGET | {"weights"}


class Hdp(MethodSettings):
    title: ClassVar = "HDP"
    needs: ClassVar = TARGET

    evaluations: Positive = 2000  # schedules that are simulated
    groups: Positive = 64  # 256 in the paper, for graphs of up to 50,000 operations
    width: Positive = 32  # 512 in the paper
    samples: Positive = 10  # placements between two steps of the optimiser
    spread: AboveZero = 0.2  # of groups along the operations' numbers at first, in their distance
    stay: float = 3.0  # logit of the device of the group before, at first
    learning_rate: AboveZero = 0.01
    grouper_rate: AboveZero = 3.0e-4  # the grouper's learning rate
    entropy: Annotated[float, Field(ge=0)] = 0.03  # weight of the placer's at first; it falls to 0


class Heft(MethodSettings):
    title: ClassVar = "HEFT"
    needs: ClassVar = TARGET
    draws: ClassVar = False


class ListScheduling(MethodSettings):
    draws: ClassVar = False

    ties: Ties = "lowest"  # between free devices (rules/listing.py)


class Metis(MethodSettings):
    title: ClassVar = "METIS"


class OneDevice(MethodSettings):
    draws: ClassVar = False


class Ppo(Gflownet):
    """Of a policy that learned by proximal policy optimisation: the peer of Zhang et al. 2023. It is asked alike."""

    file: ClassVar = "gflownet"
    title: ClassVar = "PPO"

    model: str = "ppo"
    sigma: AboveZero | None = None


class RandomisedHeft(ToldSettings, NoisySettings):
    title: ClassVar = "Randomised HEFT"


class RandomisedSearch(MethodSettings):
    evaluations: Positive = 100_000  # schedules that are simulated
    noise: AboveZero = 0.3  # standard deviation of the logarithm of a priority


class Repaired(MethodSettings):
    of: GraphEntry = Field(default_factory=lambda: Heft(method="heft"))  # the method whose schedules are repaired

    @property
    def needs(self) -> frozenset[str]:
        return self.of.needs | {"target"}

    @property
    def network(self) -> str | None:
        return self.of.network

    @property
    def draws(self) -> bool:
        return self.of.draws


class RoundRobin(MethodSettings):
    draws: ClassVar = False


CLASSES: dict[str, type[MethodSettings]] = {
    "annealing": Annealing,
    "brkga": Brkga,
    "contiguous": Contiguous,
    "cp_sat": CpSat,
    "decision_annealing": DecisionAnnealing,
    "expert": Expert,
    "gflownet": Gflownet,
    "go": Go,
    "go_published": GoPublished,
    "hdp": Hdp,
    "heft": Heft,
    "list_scheduling": ListScheduling,
    "local_search": LocalSearch,
    "metis": Metis,
    "one_device": OneDevice,
    "ppo": Ppo,
    "randomised_heft": RandomisedHeft,
    "randomised_list": NoisySettings,
    "randomised_search": RandomisedSearch,
    "repaired": Repaired,
    "round_robin": RoundRobin,
}
