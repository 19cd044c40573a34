"""Experiments: a task, its sets, methods, networks, judges and seeds."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from learned_schedulers.blocks.dag.settings import Dependencies
from learned_schedulers.blocks.models.ordering_settings import Ordering
from learned_schedulers.blocks.models.pocsnet_settings import Training
from learned_schedulers.blocks.run.timing_settings import TimingSettings
from learned_schedulers.graphs.devices.settings import GraphTarget
from learned_schedulers.graphs.models.fusing.settings import FusionNetwork
from learned_schedulers.graphs.models.policy_settings import Policy
from learned_schedulers.graphs.models.whole_graph.settings import Generalised
from learned_schedulers.graphs.run.settings import ExecutionSettings
from learned_schedulers.section import Positive, Section

Seeds = Annotated[list[int], Field(min_length=1)]
GCC = "gcc"  # the target of orders that imitate GCC


class _Experiment(Section):
    """Settings that all experiments share."""

    sets: Annotated[list[str], Field(min_length=1)]  # of blocks, for the evaluation of the methods
    methods: list[str] = []  # names of section `methods`
    judges: list[str] = []  # names of section `judges`
    seeds: Seeds = [0]
    other_seeds: dict[str, Seeds] = {}  # of single networks
    untrained_seeds: Seeds | None = None  # of methods without a network; as `seeds` by default
    targets: list[str] = [GCC]  # of the orders: GCC, or names of section `processors`
    dependencies: Annotated[list[Dependencies], Field(min_length=1)] = ["full"]  # of the trainings of networks

    def seeds_of(self, name: str) -> list[int]:
        """Seeds of a network."""
        return self.other_seeds.get(name, self.seeds)


class Reproduction(_Experiment):
    """POCSNet's experiment: networks for blocks of one length."""

    task: Literal["reproduction"]
    models: dict[str, Training]


class Shown(Section):
    """Curves and example blocks, as timelines, that the page shows of one target."""

    target: str
    set: str
    method: str
    blocks: Positive
    longest: Positive  # instructions


class Evidence(Section):
    """The set and seed whose wrong blocks are classified, and the sets that are searched for equal blocks."""

    set: str
    seed: int
    training: str
    development: str


class Imitation(_Experiment):
    """Imitation of GCC's orders, for blocks of all lengths."""

    task: Literal["imitation"]
    models: dict[str, Ordering] = {}
    shipped: str | None = None  # network whose best seed goes into the package
    evidence: Evidence | None = None

    @model_validator(mode="after")
    def _shipped_is_a_network(self) -> Imitation:
        if self.shipped is not None and self.shipped not in self.models:
            raise ValueError(f"shipped is {self.shipped!r}; models: {sorted(self.models)}")
        return self


class Processors(_Experiment):
    """The best orders for processors."""

    task: Literal["processors"]
    models: dict[str, Ordering] = {}  # networks that learn the best known orders
    shown: Shown | None = None

    @model_validator(mode="after")
    def _targets_are_its_own(self) -> Processors:
        for name, model in self.models.items():
            if not model.machines or set(model.machines) - set(self.targets):
                raise ValueError(f"models.{name}.machines must name some of targets: {self.targets}")
        if self.shown and (self.shown.target not in self.targets or self.shown.set not in self.sets):
            raise ValueError(f"shown names a target or a set that is not of {self.targets}, {self.sets}")
        return self


class Hardware(_Experiment):
    """Orders for processors, timed on the machine at hand."""

    task: Literal["hardware"]
    timing: TimingSettings


class ShownGraphs(Section):
    """Set and methods of the schedules that the page draws."""

    set: str
    methods: Annotated[list[str], Field(min_length=1)]  # from left to right
    graphs: Positive


class OnGraphs(_Experiment):
    """Schedules of computation graphs, with sets, methods and targets of that wing."""

    section_of_sets: ClassVar[str] = "graph_sets"
    section_of_methods: ClassVar[str] = "graph_methods"
    simulated_targets: ClassVar[list[str]] = list(GraphTarget)  # beside the links

    models: dict[str, Policy] = {}
    networks: str | None = None  # experiment that trains the networks of its methods that are not in `models`
    targets: Annotated[list[str], Field(min_length=1)]  # simulated ones, or names of section `links`

    @model_validator(mode="after")
    def _names_are_its_own(self) -> Self:
        """What an experiment names of itself: methods, sets and targets."""
        # Not literals, as `peers` is a table's name, too (wiring.imports).
        beside = dict(peers=self.methods, experts=self.methods, seeds_of_sets=self.sets)
        drawn = {"set": self.sets, "methods": self.methods, "link": self.targets, "target": self.targets}
        for holder, choices in ((self, beside), (getattr(self, "shown", None), drawn)):
            for key, choice in choices.items():
                names = getattr(holder, key, [])
                if unknown := sorted(({names} if isinstance(names, str) else {*names}) - {*choice}):
                    place = key if holder is self else f"shown.{key}"
                    raise ValueError(f"{place} names {unknown}, which the experiment has not; it has {choice}")
        return self


class Devices(OnGraphs):
    """Makespans of schedules of computation graphs on simulated devices."""

    task: Literal["devices"]
    shown: ShownGraphs | None = None


class Policies(OnGraphs):
    """As `devices`, with learned methods; each of them is also compared with some peers."""

    task: Literal["policies"]
    shown: ShownGraphs | None = None
    peers: Annotated[list[str], Field(min_length=1)]  # methods that all others are compared with, too


class Execution(OnGraphs):
    """Schedules of computation graphs, executed on two cores of the machine at hand, and simulated on the targets."""

    task: Literal["execution"]
    places: str | None = None  # link of section `links`, for methods that place in little memory
    execution: ExecutionSettings


class ShownPlacement(Section):
    """Set, graph and methods of the placed schedules that the page draws."""

    set: str
    graph: str  # name and variant: `gnmt_8 forward`
    link: str
    methods: Annotated[list[str], Field(min_length=1)]


class Placement(OnGraphs):
    """Whole graphs on devices with little memory; `sets` are of section `placement_sets`, `targets` are links."""

    section_of_sets: ClassVar[str] = "placement_sets"
    simulated_targets: ClassVar[list[str]] = []

    task: Literal["placement"]
    devices: Positive = 4
    seeds_of_sets: dict[str, Seeds] = {}  # for sets with fewer seeds
    models: dict[str, Generalised] = {}  # type: ignore[assignment]  # networks that are trained on other graphs
    peers: list[str] = []  # methods that all others are compared with, beside the default, the experts and the best
    experts: list[str] = []  # methods that place as human experts do: the best of them on each graph is one baseline
    shown: ShownPlacement | None = None


ALONE = "alone"  # the target of plans of fusion: all kernels one after the other on one device
THIS_MACHINE = "this_machine"  # the machine of the frozen rates (graphs/compilers/frozen)


class ShownFusion(Section):
    """Set, graph and methods of the plans that the page draws."""

    set: str
    graph: str  # name and variant: `gnmt_8 forward`
    target: str
    methods: Annotated[list[str], Field(min_length=1)]
    operations: tuple[int, int]  # numbers of the first and the last drawn one


class Fusion(OnGraphs):
    """Plans of fusion; `sets` are of section `fusion_sets`, `methods` of `fusion_methods`, `targets` ALONE or links."""

    section_of_sets: ClassVar[str] = "fusion_sets"
    section_of_methods: ClassVar[str] = "fusion_methods"
    simulated_targets: ClassVar[list[str]] = [ALONE]

    task: Literal["fusion"]
    machine: str = THIS_MACHINE  # or a device of section `devices`
    devices: Positive = 4  # between which the links are
    models: dict[str, FusionNetwork] = {}  # type: ignore[assignment]  # networks that are trained on other graphs
    peers: list[str] = []  # methods that all others are compared with, beside the best default and the best known
    shown: ShownFusion | None = None


Experiment = Annotated[
    Reproduction | Imitation | Processors | Hardware | Devices | Policies | Execution | Placement | Fusion,
    Field(discriminator="task"),
]
