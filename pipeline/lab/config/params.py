"""params.yaml as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from learned_schedulers.blocks.method_settings import Entry, entry
from learned_schedulers.blocks.models.ordering_settings import Ordering
from learned_schedulers.blocks.models.pocsnet_settings import Training
from learned_schedulers.blocks.processors.settings import Judge, Processor
from learned_schedulers.blocks.read.source_settings import Compiled, Corpus
from learned_schedulers.blocks.run.verification_settings import Verification
from learned_schedulers.graphs.devices.settings import DEVICES, LINKS, Device, Link
from learned_schedulers.graphs.method_settings import GraphEntry, GraphMethodSettings
from learned_schedulers.graphs.models.fusing.settings import FusionEntry, FusionSet
from learned_schedulers.graphs.models.whole_graph.settings import Generalised
from learned_schedulers.section import Section, explain
from pipeline.lab.config.bases import resolve
from pipeline.lab.config.evaluation import Evaluation
from pipeline.lab.config.experiments import (
    GCC,
    THIS_MACHINE,
    Devices,
    Execution,
    Experiment,
    Fusion,
    GraphTarget,
    Hardware,
    Imitation,
    OnGraphs,
    Placement,
    Processors,
    Reproduction,
)
from pipeline.lab.config.files import PARAMS, read
from pipeline.lab.config.graph_sets import AnyGraphSet, ExecutedSet, GraphSet, PlacedSet
from pipeline.lab.config.report import Report
from pipeline.lab.config.residuals import Residuals
from pipeline.lab.config.sets import BlockSet, Split, Tokens


class Network(Section):
    """A trained network of a method: its experiment, its name there, its settings."""

    experiment: str
    model: str
    settings: Training | Ordering


def _beside(figures: Mapping[Any, Section]) -> Callable[[Any], Any]:
    """A validator that adds a section's entries to the figures that need no entry."""
    return lambda entries: {**figures, **entries} if isinstance(entries, Mapping) else entries


class Params(Section):
    corpus: Corpus
    compiled: Compiled
    split: Split
    tokens: Tokens
    dag_verification: Verification
    sets: Annotated[dict[str, BlockSet], Field(min_length=1)]
    judges: dict[str, Judge]
    processors: dict[str, Processor]
    methods: dict[str, Entry]
    devices: Annotated[dict[str, Device], BeforeValidator(_beside(DEVICES))] = Field({}, validate_default=True)
    links: Annotated[dict[str, Link], BeforeValidator(_beside(LINKS))] = Field({}, validate_default=True)
    graph_sets: dict[str, AnyGraphSet]
    placement_sets: dict[str, PlacedSet] = {}
    graph_methods: dict[str, GraphEntry]
    fusion_sets: dict[str, FusionSet] = {}
    fusion_methods: dict[str, FusionEntry] = {}
    experiments: Annotated[dict[str, Experiment], Field(min_length=1)]
    evaluation: Evaluation
    residuals: Residuals
    report: Report

    @model_validator(mode="after")
    def _names_exist(self) -> Params:
        _check_names("split.sources", self.split.sources, self.corpus.sources)
        if self.compiled.source in self.corpus.sources:
            raise ValueError(f"compiled.source is {self.compiled.source!r}, a name of corpus.sources; give it another")
        on_graphs = self.on_graphs
        _check_names("report.experiments", self.report.experiments, set(self.experiments) - set(on_graphs))
        simulated = {name for name, chosen in on_graphs.items() if isinstance(chosen, Devices)}
        _check_names("report.graph_experiments", self.report.graph_experiments, simulated)
        for name, graphs in self.graph_sets.items():
            if isinstance(graphs, ExecutedSet):
                originals = [set for set, chosen in self.graph_sets.items() if isinstance(chosen, GraphSet)]
                _check_names(f"graph_sets.{name}.executes", [graphs.executes], originals)
            elif graphs.device is not None:
                _check_names(f"graph_sets.{name}.device", [graphs.device], self.devices)
        for name, placed in self.placement_sets.items():
            _check_names(f"placement_sets.{name}.device", [placed.device], self.devices)
        for name, processor in self.processors.items():
            _check_names(f"processors.{name}.best", [processor.best], self.methods)
        for name, experiment in self.experiments.items():
            self._experiment_is_whole(f"experiments.{name}", name, experiment)
        return self

    def _experiment_is_whole(self, key: str, name: str, experiment: Experiment) -> None:
        if isinstance(experiment, OnGraphs):
            self._is_whole_on_graphs(key, experiment)
            return
        _check_names(f"{key}.sets", experiment.sets, self.sets)
        _check_names(f"{key}.judges", experiment.judges, self.judges)
        _check_names(f"{key}.methods", experiment.methods, self.methods)
        _check_names(f"{key}.targets", set(experiment.targets) - {GCC}, self.processors)
        for method in experiment.methods:
            self.network(name, method)
        if isinstance(experiment, Hardware):
            return
        _check_names(f"{key}.other_seeds", experiment.other_seeds, experiment.models)
        if isinstance(experiment, Reproduction):
            return
        if ambiguous := sorted(set(experiment.methods) & set(experiment.models)):
            raise ValueError(f"{key}.models has {ambiguous}, which are names of its methods")
        learned = [split for model in experiment.models.values() for split in (model.training, model.development)]
        _check_names(f"{key}.models", learned, self.sets)
        if len(corpora := {self.sets[split].corpus for split in (*learned, *experiment.sets)}) > 1:
            raise ValueError(f"{key} mixes the corpora {sorted(corpora)}; they are never mixed")

    def _is_whole_on_graphs(self, key: str, experiment: OnGraphs) -> None:
        sets: Mapping[str, object] = getattr(self, experiment.section_of_sets)
        methods: Mapping[str, GraphMethodSettings | FusionEntry] = getattr(self, experiment.section_of_methods)
        _check_names(f"{key}.sets", experiment.sets, sets)
        _check_names(f"{key}.methods", experiment.methods, methods)
        _check_names(f"{key}.targets", experiment.targets, [*experiment.simulated_targets, *self.links])
        _check_names(f"{key}.other_seeds", experiment.other_seeds, [*experiment.methods, *experiment.models])
        if experiment.networks is not None:
            _check_names(f"{key}.networks", [experiment.networks], self.on_graphs)
        borrowed = {} if experiment.networks is None else self.on_graphs[experiment.networks].models
        networks = [network for method in experiment.methods if (network := methods[method].network)]
        _check_names(f"{key}.methods", networks, [*experiment.models, *borrowed])
        for name, model in experiment.models.items():
            _check_names(f"{key}.models.{name}", [*model.training, model.development], sets)
            if isinstance(model, Generalised):
                _check_names(f"{key}.models.{name}.links", model.links, self.links)
        if isinstance(experiment, Execution):
            executed = [set for set, chosen in self.graph_sets.items() if isinstance(chosen, ExecutedSet)]
            _check_names(f"{key}.sets", experiment.sets, executed)
            _check_names(f"{key}.places", [experiment.places] if experiment.places else [], self.links)
        if isinstance(experiment, Fusion):
            _check_names(f"{key}.machine", [experiment.machine], [THIS_MACHINE, *self.devices])

    def fusion_seeds(self, experiment: Fusion, method: str) -> list[int]:
        """Seeds of a method that fuses; one for a method without random draws."""
        seeds = experiment.seeds if self.fusion_methods[method].draws else experiment.seeds[:1]
        return experiment.other_seeds.get(method, seeds)

    def placement_seeds(self, experiment: Placement, set: str, method: str) -> list[int]:
        """Seeds of a method on a set: one for a method without random draws, and only seeds of the set."""
        seeds = experiment.seeds if self.graph_methods[method].draws else experiment.seeds[:1]
        seeds_of_set = experiment.seeds_of_sets.get(set, experiment.seeds)
        return [seed for seed in experiment.other_seeds.get(method, seeds) if seed in seeds_of_set]

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
        return [target for target in experiment.targets if target in list(GraphTarget) or self.graph_sets[name].timed]

    def methods_of(self, experiment: str) -> list[str]:
        """Names of an experiment's methods; each of its networks for all lengths is a method, too."""
        chosen = self.experiments[experiment]
        networks = chosen.models if isinstance(chosen, Imitation | Processors) else {}
        return [*chosen.methods, *networks]

    def entry(self, experiment: str, method: str) -> Entry:
        """Entry of an experiment's method."""
        chosen = self.experiments[experiment]
        if isinstance(chosen, Imitation | Processors) and method in chosen.models:
            return entry("ordering", model=method)
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
        networks = {} if chosen is None or isinstance(chosen, Hardware | OnGraphs) else chosen.models
        if name not in networks:
            raise ValueError(
                f"methods.{method}.model is {model!r}, which experiments.{owner or experiment} has not "
                f"({sorted(networks)}); train it there, or leave {method} out of experiments.{experiment}.methods"
            )
        return Network(experiment=owner or experiment, model=name, settings=networks[name])

    def serves(self, experiment: str, method: str, target: str) -> bool:
        """Whether a method of the experiment makes orders for a target."""
        chosen = self.experiments[experiment]
        if isinstance(chosen, Processors) and method in chosen.models:
            return target in chosen.models[method].machines
        processors = self.entry(experiment, method).processors
        return processors is None or target in processors or target == GCC

    def seeds(self, experiment: str, method: str) -> list[int]:
        """Seeds of an experiment's method."""
        chosen = self.experiments[experiment]
        network = self.network(experiment, method)
        if network is None:
            return chosen.untrained_seeds or chosen.seeds
        return chosen.seeds_of(network.model)


def _check_names(key: str, names: Iterable[str], existing: Iterable[str]) -> None:
    if unknown := sorted(set(names) - set(existing)):
        raise ValueError(f"{key} names {unknown}; there are {sorted(existing)}: correct the name, or add the entry")


def validate(contents: object, where: str = "params.yaml") -> Params:
    """Settings from parsed and resolved YAML. Raises ConfigError naming every faulty key."""
    try:
        return Params.model_validate(contents)
    except ValidationError as error:
        raise explain(error, where) from error


def load(path: Path = PARAMS) -> Params:
    """Settings from a file, resolved. Raises ConfigError naming the file and every faulty key."""
    return validate(resolve(read(path)), str(path))
