"""Experiments: a task, its sets, methods, networks, judges and seeds.

A chapter's `settings.py` has the class of its task, with all that the rules and the dashboard must know of the task; a
field `task` names it. What several tasks share is here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, get_args

from pydantic import Field, model_validator

from learned_schedulers.blocks.dag.settings import Dependencies
from learned_schedulers.blocks.models.ordering_settings import Ordering
from learned_schedulers.graphs.devices.settings import GraphTarget, strength_of
from learned_schedulers.section import Positive, Section
from pipeline.lab import chapters

if TYPE_CHECKING:
    from pipeline.lab.config.params import Params

Seeds = Annotated[list[int], Field(min_length=1)]
GCC = "gcc"  # the target of orders that imitate GCC
EXACTNESS = (("exact_match", "none"), ("valid_share", "none"), ("kendall_tau_distance", "none"))  # key metrics
SCHEDULES = ("gantts", "memory_curves", "kept_points")  # tables that pages draw of schedules of graphs


def check_names(key: str, names: Iterable[str], existing: Iterable[str]) -> None:
    """Raise ValueError if a key names something that does not exist."""
    if unknown := sorted(set(names) - set(existing)):
        raise ValueError(f"{key} names {unknown}; there are {sorted(existing)}: correct the name, or add the entry")


class Experiment(Section):
    """Settings that all experiments share, and what is declared of their task."""

    results: ClassVar[tuple[str, ...]] = ("results", "parts")  # tables of numbers, which are published
    drawn: ClassVar[tuple[str, ...]] = ()  # tables that a page draws, of an experiment with a section `shown`
    history: ClassVar[str | None] = None  # table with the histories of its trainings, which are published
    by_schedule: ClassVar[tuple[str, ...]] = ()  # published tables of each schedule of blocks
    beside: ClassVar[tuple[str, ...]] = ()  # folders of data/ that it reads, beside those that its wing reads
    reads: ClassVar[tuple[str, ...]] = ()  # tables that its numbers are of; on blocks, beside sets, DAGs and schedules
    key_metrics: ClassVar[tuple[tuple[str, str], ...]] = ()  # by which its methods are compared, each with its baseline
    in_report: ClassVar[bool] = False  # whether section `report` may name its experiments

    task: str
    sets: Annotated[list[str], Field(min_length=1)]  # of blocks, for the evaluation of the methods
    methods: list[str] = []  # names of section `methods`
    judges: list[str] = []  # names of section `judges`
    seeds: Seeds = [0]
    other_seeds: dict[str, Seeds] = {}  # of single networks; on graphs, also of methods
    untrained_seeds: Seeds | None = None  # of methods without a network; as `seeds` by default
    targets: list[str] = [GCC]  # of the orders: GCC, or names of section `processors`
    dependencies: Annotated[list[Dependencies], Field(min_length=1)] = ["full"]  # of the trainings of networks

    @property
    def by_training(self) -> tuple[str, ...]:
        """Published tables of each kind of dependencies and each seed."""
        return ()

    def seeds_of(self, name: str) -> list[int]:
        """Seeds of a network."""
        return self.other_seeds.get(name, self.seeds)

    def check(self, key: str, name: str, params: Params) -> None:
        """Raise ValueError if the experiment names something that no section has. `key`: `experiments.<name>`."""
        raise NotImplementedError


def check_learned_sets(key: str, kind: str, experiment: Experiment, params: Params) -> None:
    """Raise ValueError for networks that learn from sets that do not exist. kind: its field."""
    networks = getattr(experiment, kind).values()
    learned = [split for network in networks for split in (network.training, network.development)]
    check_names(f"{key}.{kind}", learned, params.sets)


class OnBlocks(Experiment):
    """Orders of basic blocks."""

    in_report: ClassVar[bool] = True
    batch: ClassVar[int] = 8192  # instructions that are scheduled at once; 0: all

    def check(self, key: str, name: str, params: Params) -> None:
        """See Experiment.check."""
        check_names(f"{key}.sets", self.sets, params.sets)
        check_names(f"{key}.judges", self.judges, params.judges)
        check_names(f"{key}.methods", self.methods, params.methods)
        check_names(f"{key}.targets", set(self.targets) - {GCC}, params.processors)
        for method in self.methods:
            params.network(name, method)
        networks = [*getattr(self, "models", {}), *getattr(self, "guesses", {})]
        check_names(f"{key}.other_seeds", self.other_seeds, networks)


class LearnsOrders(OnBlocks):
    """GCC's orders of basic blocks, also by networks for all lengths, each of which is a method, too."""

    models: dict[str, Ordering] = {}

    def check(self, key: str, name: str, params: Params) -> None:
        """See Experiment.check."""
        super().check(key, name, params)
        if ambiguous := sorted(set(self.methods) & set(self.models)):
            raise ValueError(f"{key}.models has {ambiguous}, which are names of its methods")
        check_learned_sets(key, "models", self, params)


class ShownGraphs(Section):
    """Set and methods of the schedules that the page draws."""

    set: str
    methods: Annotated[list[str], Field(min_length=1)]  # from left to right
    graphs: Positive


class OnGraphs(Experiment):
    """Schedules of computation graphs, with sets, methods and targets of that wing."""

    section_of_sets: ClassVar[str] = "graph_sets"
    section_of_methods: ClassVar[str] = "graph_methods"
    simulated_targets: ClassVar[list[str]] = list(GraphTarget)  # beside the links
    frozen_table: ClassVar[str | None] = (
        "learned_schedulers/graphs/devices/frozen/graph_targets.csv"  # read by its rules
    )

    models: dict[str, Any] = {}
    networks: str | None = None  # experiment that trains the networks of its methods that are not in `models`
    targets: Annotated[list[str], Field(min_length=1)]  # simulated ones, or names of section `links`

    @model_validator(mode="after")
    def _names_are_its_own(self) -> Self:
        """What an experiment names of itself: methods, sets and targets."""
        beside = {"peers": self.methods, "experts": self.methods, "seeds_of_sets": self.sets}
        drawn = {"set": self.sets, "methods": self.methods, "link": self.targets, "target": self.targets}
        for holder, choices in ((self, beside), (getattr(self, "shown", None), drawn)):
            for key, choice in choices.items():
                names = getattr(holder, key, [])
                if unknown := sorted(({names} if isinstance(names, str) else {*names}) - {*choice}):
                    place = key if holder is self else f"shown.{key}"
                    raise ValueError(f"{place} names {unknown}, which the experiment has not; it has {choice}")
        return self

    def check(self, key: str, name: str, params: Params) -> None:
        """See Experiment.check."""
        sets, methods = self.sections(params)
        check_names(f"{key}.sets", self.sets, sets)
        check_names(f"{key}.methods", self.methods, methods)
        kinds = {target: strength_of(target) or (target,) for target in self.targets}
        check_names(f"{key}.targets", [kind[0] for kind in kinds.values()], [*self.simulated_targets, *params.links])
        check_names(f"{key}.other_seeds", self.other_seeds, [*self.methods, *self.models])
        if self.networks is not None:
            check_names(f"{key}.networks", [self.networks], params.on_graphs)
        borrowed = {} if self.networks is None else params.on_graphs[self.networks].models
        networks = [network for method in self.methods if (network := methods[method].network)]
        check_names(f"{key}.methods", networks, [*self.models, *borrowed])
        for model, settings in self.models.items():
            check_names(f"{key}.models.{model}", [*settings.training, settings.development], sets)

    def sections(self, params: Params) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The sections of the parameters that have its sets and its methods."""
        return getattr(params, self.section_of_sets), getattr(params, self.section_of_methods)

    def drawn_seeds(self, method: str, params: Params) -> list[int]:
        """Seeds of a method; one for a method without random draws."""
        return self.other_seeds.get(method, self.seeds if self.sections(params)[1][method].draws else self.seeds[:1])

    def seeds_of_set(self, set: str, method: str, params: Params) -> list[int]:
        """Seeds of a method on a set."""
        return self.drawn_seeds(method, params)

    def settings_of_machines(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The devices that its sets run on, from the resolved parameters, for the provenance of its numbers."""
        sets = params[self.section_of_sets]
        devices = {sets[name].get("device") for name in self.sets} - {None}
        return {"devices": {device: params["devices"][device] for device in devices}}


@cache
def tasks() -> dict[str, type[Experiment]]:
    """Name of each task -> its class, of all chapters."""
    declared = [kind for module in chapters.modules("settings") for kind in vars(module).values()]
    kinds = [kind for kind in declared if isinstance(kind, type) and issubclass(kind, Experiment)]
    return {name: kind for kind in kinds for name in get_args(kind.model_fields["task"].annotation)}
