"""params.yaml as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import BeforeValidator, Field, ValidationError, create_model, model_validator

from learned_schedulers.blocks.method_settings import BlockEntry, BlockMethodSettings, Ordering
from learned_schedulers.blocks.models.ordering_settings import Ordering as OrderingNetwork
from learned_schedulers.blocks.models.pocsnet_settings import Training
from learned_schedulers.blocks.processors.settings import Guessing, Judge, Processor
from learned_schedulers.blocks.read.source_settings import Corpus
from learned_schedulers.graphs.devices.settings import DEVICES, LINKS, Device, GraphTarget, Link, strength_of
from learned_schedulers.graphs.method_settings import GraphEntry
from learned_schedulers.section import Section, explain
from pipeline.lab import chapters
from pipeline.lab.config.bases import resolve
from pipeline.lab.config.evaluation import Evaluation
from pipeline.lab.config.experiments import GCC, Experiment, LearnsOrders, OnBlocks, OnGraphs, check_names, tasks
from pipeline.lab.config.files import PARAMS, read
from pipeline.lab.config.report import Report
from pipeline.lab.config.sets import BlockSet, Split, Tokens


class Network(Section):
    """A trained network of a method: its experiment, its name there, its settings."""

    experiment: str
    model: str
    settings: Training | OrderingNetwork | Guessing


def _beside(figures: Mapping[Any, Section]) -> Callable[[Any], Any]:
    """A validator that adds a section's entries to the figures that need no entry."""
    return lambda entries: {**figures, **entries} if isinstance(entries, Mapping) else entries


class Params(Section):
    """What all chapters share; `whole` adds the sections and the tasks of the chapters."""

    if TYPE_CHECKING:  # the sections of the chapters

        def __getattr__(self, name: str) -> Any: ...

    corpus: Corpus
    split: Split
    tokens: Tokens
    sets: Annotated[dict[str, BlockSet], Field(min_length=1)]
    judges: dict[str, Judge]
    processors: dict[str, Processor]
    methods: dict[str, BlockEntry]
    devices: Annotated[dict[str, Device], BeforeValidator(_beside(DEVICES))] = Field({}, validate_default=True)
    links: Annotated[dict[str, Link], BeforeValidator(_beside(LINKS))] = Field({}, validate_default=True)
    graph_methods: dict[str, GraphEntry]
    experiments: Annotated[dict[str, Experiment], Field(min_length=1)]
    evaluation: Evaluation
    report: Report

    @model_validator(mode="after")
    def _names_exist(self) -> Params:
        check_names("split.sources", self.split.sources, self.corpus.sources)
        evaluated = {name: chosen for name, chosen in self.experiments.items() if chosen.in_report}
        check_names("report.experiments", self.report.experiments, set(evaluated) - set(self.on_graphs))
        check_names("report.graph_experiments", self.report.graph_experiments, set(evaluated) & set(self.on_graphs))
        for module in chapters.modules("settings"):
            if hasattr(module, "check"):
                module.check(self)
        for name, experiment in self.experiments.items():
            experiment.check(f"experiments.{name}", name, self)
        return self

    @property
    def on_graphs(self) -> dict[str, OnGraphs]:
        """The experiments on computation graphs, by name."""
        return {name: chosen for name, chosen in self.experiments.items() if isinstance(chosen, OnGraphs)}

    def trained_by(self, experiment: str, network: str) -> str:
        """The experiment that trains a network of this one's methods: this one, or the one in `networks`."""
        chosen = self.on_graphs[experiment]
        return experiment if chosen.networks is None or network in chosen.models else chosen.networks

    def graph_targets(self, experiment: OnGraphs, name: str) -> list[str]:
        """Targets of a set's schedules; links with real figures only if its run times are real ones, too."""
        timed = experiment.sections(self)[0][name].timed
        return [name for name in experiment.targets if timed or name in list(GraphTarget) or strength_of(name)]

    def methods_of(self, experiment: str) -> list[str]:
        """Names of an experiment's methods; each of its networks for all lengths is a method, too."""
        chosen = self.experiments[experiment]
        networks = chosen.models if isinstance(chosen, LearnsOrders) else {}
        return [*chosen.methods, *networks]

    def entry(self, experiment: str, method: str) -> BlockMethodSettings:
        """Settings of an experiment's method."""
        chosen = self.experiments[experiment]
        if isinstance(chosen, LearnsOrders) and method in chosen.models:
            return Ordering(method="ordering", model=method)
        return self.methods[method]

    def network(self, experiment: str, method: str) -> Network | None:
        """The trained network behind an experiment's method, None for one without.

        `model` of a method names a network of the same experiment, or `experiment.model` of another one.
        Raises ValueError for a name that does not exist.
        """
        model = self.entry(experiment, method).model
        if model is None:
            return None
        owner, _, name = model.rpartition(".")
        chosen = self.experiments.get(owner or experiment)
        kinds = ("models", "guesses") if isinstance(chosen, OnBlocks) else ()
        networks = {name: network for kind in kinds for name, network in getattr(chosen, kind, {}).items()}
        if name not in networks:
            raise ValueError(
                f"methods.{method}.model is {model!r}, which experiments.{owner or experiment} has not "
                f"({sorted(networks)}); train it there, or leave {method} out of experiments.{experiment}.methods"
            )
        return Network(experiment=owner or experiment, model=name, settings=networks[name])

    def serves(self, experiment: str, method: str, target: str) -> bool:
        """Whether a method of the experiment makes orders for a target."""
        processors = self.entry(experiment, method).processors
        return processors is None or target in processors or target == GCC

    def seeds(self, experiment: str, method: str) -> list[int]:
        """Seeds of an experiment's method."""
        chosen = self.experiments[experiment]
        network = self.network(experiment, method)
        if network is None:
            return chosen.untrained_seeds or chosen.seeds
        return chosen.seeds_of(network.model)


@cache
def whole() -> type[Params]:
    """Params with the sections that chapters declare (class `Sections` of their settings), and the tasks of all."""
    sections = [module.Sections for module in chapters.modules("settings") if hasattr(module, "Sections")]
    task: Any = Annotated[Union[tuple(tasks().values())], Field(discriminator="task")]  # noqa: UP007 - at run time
    experiments: Any = Annotated[dict[str, task], Field(min_length=1)]
    return create_model("Params", __base__=(Params, *sections), experiments=(experiments, ...))


def validate(contents: object, where: str = "params.yaml") -> Params:
    """Settings from parsed and resolved YAML. Raises ConfigError naming every faulty key."""
    try:
        return whole().model_validate(contents)
    except ValidationError as error:
        raise explain(error, where) from error


def load(path: Path = PARAMS) -> Params:
    """Settings from a file, resolved. Raises ConfigError naming the file and every faulty key."""
    return validate(resolve(read(path)), str(path))
