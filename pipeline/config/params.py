"""params.yaml as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field, ValidationError, model_validator

from pipeline.config.corpus import Compiled, Corpus
from pipeline.config.evidence import Evaluation, Hardware, Report, Residuals, Verification
from pipeline.config.experiments import Experiment, Tokens, Trials
from pipeline.config.machines import Latency
from pipeline.config.ordering import Imitation
from pipeline.config.schedulers import Scheduler, Scheduling
from pipeline.config.section import ConfigError, Section, explain
from pipeline.config.sets import BlockSet, Split


class Params(Section):
    corpus: Corpus
    compiled: Compiled
    split: Split
    tokens: Tokens
    verification: Verification
    hardware: Hardware
    latency: Latency
    experiments: Annotated[dict[str, Experiment], Field(min_length=1)]
    trials: Trials
    sets: Annotated[dict[str, BlockSet], Field(min_length=1)]
    imitations: dict[str, Imitation]
    scheduling: Scheduling
    schedulers: dict[str, Scheduler]
    evaluation: Evaluation
    residuals: Residuals
    report: Report

    @model_validator(mode="after")
    def _names_exist(self) -> Params:
        for name in self.split.sources:
            if name not in self.corpus.sources:
                raise ValueError(f"split.sources names {name!r}; corpus.sources has {sorted(self.corpus.sources)}")
        if self.compiled.source in self.corpus.sources:
            raise ValueError(f"compiled.source is {self.compiled.source!r}, a name of corpus.sources; give it another")
        for name in self.report.experiments:
            if name not in self.experiments:
                raise ValueError(f"report.experiments names {name!r}; there are {sorted(self.experiments)}")
        models = {model for experiment in self.experiments.values() for model in experiment.models}
        for name, scheduler in self.schedulers.items():
            if scheduler.model is not None and scheduler.model not in models:
                raise ValueError(f"schedulers.{name}.model is {scheduler.model!r}; experiments have {sorted(models)}")
        if both := sorted(set(self.experiments) & set(self.imitations)):
            raise ValueError(f"imitations has {both}, which are names of experiments")
        for name, imitation in self.imitations.items():
            pairs = [(one.training, one.development) for one in imitation.models.values()]
            used = {*imitation.tested, *(name for pair in pairs for name in pair)}
            if unknown := sorted(used - set(self.sets)):
                raise ValueError(f"imitations.{name} names the sets {unknown}; sets has {sorted(self.sets)}")
            if len(corpora := {self.sets[name].corpus for name in used}) > 1:
                raise ValueError(f"imitations.{name} mixes the corpora {sorted(corpora)}; they are never mixed")
            untrained = {scheduler for scheduler, one in self.schedulers.items() if one.model is None}
            if unknown := sorted(set(imitation.other_seeds) - set(imitation.models)):
                raise ValueError(f"imitations.{name}.other_seeds names {unknown}; models: {sorted(imitation.models)}")
            if unknown := sorted(set(imitation.baselines) - untrained):
                raise ValueError(f"imitations.{name}.baselines names {unknown}; without a model: {sorted(untrained)}")
            if both := sorted(set(self.schedulers) & set(imitation.models)):
                raise ValueError(f"imitations.{name}.models has {both}, which are names of schedulers")
        self._scheduling_exists()
        return self

    def _scheduling_exists(self) -> None:
        chosen = self.scheduling
        used = {*chosen.tested, *(name for one in chosen.models.values() for name in (one.training, one.development))}
        if unknown := sorted(used - set(self.sets)):
            raise ValueError(f"scheduling names the sets {unknown}; sets has {sorted(self.sets)}")
        if unknown := sorted({one.best for one in chosen.machines.values()} - set(chosen.schedulers)):
            raise ValueError(
                f"scheduling.machines names the schedulers {unknown}; there are {sorted(chosen.schedulers)}"
            )
        if unknown := sorted(set(self.hardware.machines) - set(chosen.machines)):
            raise ValueError(f"hardware.machines names {unknown}; scheduling.machines has {sorted(chosen.machines)}")
        for name, model in chosen.models.items():
            if not model.machines or set(model.machines) - set(chosen.machines):
                raise ValueError(f"scheduling.models.{name}.machines must name some of {sorted(chosen.machines)}")
        if both := sorted(set(chosen.schedulers) & set(chosen.models)):
            raise ValueError(f"scheduling.models has {both}, which are names of its schedulers")

    def schedulers_of(self, experiment: str) -> list[str]:
        """Names of the schedulers that take part in an experiment: those without a model, and those of its models."""
        models = self.experiments[experiment].models
        return [name for name, one in self.schedulers.items() if one.model is None or one.model in models]


def validate(data: object, where: str = "params.yaml") -> Params:
    """Settings from parsed YAML. Raises ConfigError naming every faulty key."""
    try:
        return Params.model_validate(data)
    except ValidationError as error:
        raise explain(error, where) from error


def load(path: Path = Path("params.yaml")) -> Params:
    """Settings from a file. Raises ConfigError naming the file and every faulty key."""
    try:
        data = yaml.safe_load(path.read_text())
    except FileNotFoundError as error:
        raise ConfigError(f"{path} is missing; run from the repository's root") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not YAML: {error}") from error
    return validate(data, str(path))
