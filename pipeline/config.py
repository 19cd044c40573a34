"""params.yaml as typed, validated settings; unknown or mistyped keys are refused with their place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

Dependencies = Literal["full", "conservative", "paper"]
Sampler = Literal["random_ready", "uniform"]
Priority = Literal["critical_path", "weighted_height", "register_pressure", "source_order"]
Walk = Literal["restarts", "annealing", "mcmc"]
HaifaRule = Literal["priority", "last_insn", "dependents"]
_Hex256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_Positive = Annotated[int, Field(gt=0)]
T = TypeVar("T")


class ConfigError(ValueError):
    """params.yaml, or a section of it, is not valid; the message names the key and the remedy."""


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Source(Section):
    include: list[str]
    text_share: Annotated[float, Field(gt=0, le=1)] = 1.0


class WheelSource(_Source):
    kind: Literal["wheel"]
    package: str
    version: str
    platform: str
    python_version: str
    abi: str
    bytes: _Positive
    sha256: _Hex256


class NpmSource(_Source):
    kind: Literal["npm"]
    package: str
    version: str
    bytes: _Positive
    sha256: _Hex256


class FilesSource(_Source):
    kind: Literal["files"]


class BhiveSource(Section):
    kind: Literal["bhive"]
    include: list[str]


class DebianSource(Section):
    kind: Literal["debian"]
    package: str  # a source package
    version: str  # upstream's
    file: Annotated[str, Field(pattern=r"^[^/]+$")]  # upstream's tarball
    bytes: _Positive
    sha256: _Hex256


class FolderSource(Section):
    kind: Literal["folder"]
    path: str


Source = Annotated[WheelSource | NpmSource | FilesSource | BhiveSource, Field(discriminator="kind")]


def _regular_expression(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return value


class Corpus(Section):
    sources: Annotated[dict[str, Source], Field(min_length=1)]
    compiler: Annotated[str, AfterValidator(_regular_expression)]
    start_up_compiler: Annotated[str, AfterValidator(_regular_expression)]
    shards: _Positive
    min_instructions: _Positive
    max_instructions: Annotated[int, Field(gt=0, le=1000)]

    @model_validator(mode="after")
    def _lengths_are_a_range(self) -> Corpus:
        if self.min_instructions > self.max_instructions:
            raise ValueError("min_instructions is greater than max_instructions")
        return self


class SystemCompiler(Section):
    kind: Literal["system"]  # the `gcc` of PATH


class CProgram(Section):
    artifact: Annotated[DebianSource | NpmSource | FolderSource, Field(discriminator="kind")]
    sources: Annotated[list[str], Field(min_length=1)]
    exclude: list[str] = []
    flags: list[str] = []
    copies: dict[str, str] = {}  # path -> the file of the archive it becomes a copy of
    overlay: str | None = None  # folder whose files are laid over the archive's


class Compiled(Section):
    source: str
    compiler: Annotated[WheelSource | SystemCompiler, Field(discriminator="kind")]
    comment: Annotated[str, AfterValidator(_regular_expression)]
    flags: list[str]
    min_instructions: Annotated[int, Field(ge=2)]
    max_instructions: Annotated[int, Field(gt=0, le=64)]
    programs: Annotated[dict[str, CProgram], Field(min_length=1)]


class Split(Section):
    sources: Annotated[list[str], Field(min_length=1)]
    seed: int
    sampler: Sampler
    n_instructions: Annotated[int, Field(ge=2)]
    training: _Positive
    development: _Positive
    test: _Positive


class Verification(Section):
    seed: int
    blocks: _Positive
    control_blocks: _Positive
    sensitivity_blocks: _Positive
    orders: _Positive
    states: Annotated[int, Field(ge=3)]
    aliased_states: _Positive
    search_states: Annotated[int, Field(ge=4)]


class Tokens(Section):
    min_count: _Positive


class Machine(Section):
    cpu: str
    iterations: _Positive
    metric: str


class Latency(Section):
    machines: dict[str, Machine]


class Training(Section):
    operator: Literal["sinkhorn", "popocs"]
    method: Literal["cyclic", "extrapolated", "nearest"]  # of popocs
    proposal: Literal["logits", "softmax", "sinkhorn"]
    iterations: _Positive
    loss: Literal["cross_entropy", "fenchel_young"]
    floor: Annotated[float, Field(gt=0, lt=1)]
    optimiser: Literal["adam", "sgd"]
    learning_rate: Annotated[float, Field(gt=0)]
    decay: Literal["none", "cosine"]  # of the learning rate
    batch_size: Annotated[int, Field(ge=2)]
    steps: _Positive
    hidden: _Positive


class Experiment(Section):
    dependencies: Annotated[list[Dependencies], Field(min_length=1)]
    seeds: Annotated[list[int], Field(min_length=1)]
    models: dict[str, Training]


class Trials(Section):
    dependencies: Dependencies
    seed: int
    models: dict[str, Training]


class BlockSet(Section):
    """Blocks named by where they come from and by a share of their ids, so that new sources move none."""

    corpus: Literal["released", "compiled"] = "released"
    sources: Annotated[list[str], Field(min_length=1)]
    input: Literal["drawn", "before_scheduling"] = "drawn"  # the order that is shown; the latter of compiled alone
    held_out: bool = False  # POCSNet's test blocks in their order there, instead of all but these
    share: tuple[Annotated[float, Field(ge=0, le=1)], Annotated[float, Field(ge=0, le=1)]] = (0.0, 1.0)
    lengths: tuple[_Positive, _Positive] = (2, 64)
    programs: list[str] = ["*"]  # any of these patterns ...
    without: list[str] = []  # ... and none of these


class Encoder(Section):
    kind: Literal["attention", "lstm"]
    width: _Positive
    layers: _Positive
    heads: _Positive  # of attention
    expansion: _Positive  # of the perceptrons
    relations: bool  # whether the dependency DAG is seen
    positions: bool = False  # whether the order in which the instructions are shown is seen
    following: bool = False  # whether the instructions behind the block are seen
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0  # of what a layer of attention adds to an instruction
    token_dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0  # of an instruction's tokens


class Head(Section):
    kind: Literal["pointer", "pairwise", "sinkhorn", "popocs"]
    hidden: _Positive  # of pointer and pairwise
    beam: _Positive  # of pointer: beginnings kept
    iterations: _Positive  # of sinkhorn


class Imitator(Section):
    encoder: Encoder
    head: Head
    training: str  # names of sets
    development: str = "development"
    machines: list[str] = []  # processors whose best orders are learned; none: GCC's orders are
    blocks: _Positive | None = None  # of the training set, drawn by the seed; all by default
    min_count: _Positive
    batch_instructions: _Positive
    steps: _Positive
    learning_rate: Annotated[float, Field(gt=0)]
    warmup: _Positive
    weight_decay: Annotated[float, Field(ge=0)]
    measurements: _Positive = 20  # on the development blocks, over the training, at equal distances
    patience: _Positive
    precision: Literal["bfloat16", "float32"]
    threads: _Positive


class Imitation(Section):
    seeds: Annotated[list[int], Field(min_length=1)]
    other_seeds: dict[str, Annotated[list[int], Field(min_length=1)]] = {}  # of single models
    tested: Annotated[list[str], Field(min_length=1)]  # names of sets
    baselines: list[str] = []  # names of schedulers without a model, measured on the same sets
    models: Annotated[dict[str, Imitator], Field(min_length=1)]

    def seeds_of(self, model: str) -> list[int]:
        return self.other_seeds.get(model, self.seeds)


class Rollouts(Section):
    """How the preference of a policy is learned (schedulers/on_machine/rollouts.py)."""

    blocks: _Positive
    rollouts: _Positive  # of each ready instruction
    rounds: _Positive
    randomness: Annotated[float, Field(ge=0, le=1)]  # of the choices of rollouts after the first round


class Scheduler(Section):
    """A scheduler and its settings: each is taken by the methods named behind it, and refused by the others."""

    method: str
    model: str | None = None
    iterations: Annotated[_Positive | None, "network"] = None
    priority: Annotated[Priority | None, "list_scheduling"] = None
    search: Annotated[Walk | None, "search"] = None
    evaluations: Annotated[_Positive | None, "search", "branch_and_bound", "cp_sat"] = None  # orders timed by search
    states: Annotated[_Positive | None, "branch_and_bound"] = None  # beginnings of orders of each block
    seconds: Annotated[Annotated[float, Field(gt=0)] | None, "cp_sat", "milp"] = None  # limit for each block
    learning: Annotated[Rollouts | None, "policy"] = None
    issue_rate: Annotated[_Positive | None, "haifa"] = None  # instructions per cycle
    rules: Annotated[list[HaifaRule] | None, "haifa"] = None  # all by default
    machines: list[str] | None = None  # processors of `scheduling` that it is run for; all by default
    exact: Annotated[bool | None, "cp_sat", "branch_and_bound"] = None  # whether what it proves is measured

    @model_validator(mode="after")
    def _settings_are_of_the_method(self) -> Scheduler:
        for name, field in type(self).model_fields.items():
            methods = [said for said in field.metadata if isinstance(said, str)]
            if methods and getattr(self, name) is not None and self.method not in methods:
                raise ValueError(f"{name} is a setting of {' and '.join(methods)}, not of {self.method}")
        return self


class ProcessorModel(Section):
    """A processor that is scheduled for."""

    cpu: str  # llvm-mca's name of it
    iterations: Annotated[list[_Positive], Field(min_length=1)]  # that llvm-mca judges: 1 is a single pass
    best: str  # scheduler that finds the best orders to learn

    def machine(self, iterations: int) -> Machine:
        """The model as llvm-mca's settings."""
        return Machine(cpu=self.cpu, iterations=iterations, metric=f"cycles_{self.cpu}_{iterations}")


class Scheduling(Section):
    """Every scheduler on processor models."""

    seeds: Annotated[list[int], Field(min_length=1)]  # of networks; the others take the first
    tested: Annotated[list[str], Field(min_length=1)]  # names of sets
    machines: Annotated[dict[str, ProcessorModel], Field(min_length=1)]
    schedulers: dict[str, Scheduler]
    models: dict[str, Imitator]  # networks that learn the best orders found


class Intervals(Section):
    bootstrap_samples: _Positive
    confidence: Annotated[float, Field(gt=0, lt=1)]


class Evaluation(Intervals):
    sweep_iterations: list[Annotated[int, Field(ge=0)]]
    example_blocks: _Positive


class Residuals(Section):
    seed: int
    lengths: list[Annotated[int, Field(ge=2)]]
    blocks: _Positive
    scale: Annotated[float, Field(gt=0)]
    iterations: list[_Positive]
    shown: list[_Positive]
    tolerance: Annotated[float, Field(gt=0)]

    @model_validator(mode="after")
    def _shown_are_measured(self) -> Residuals:
        if extra := sorted(set(self.shown) - set(self.iterations)):
            raise ValueError(f"shown names {extra}, which iterations has not")
        return self


class Report(Section):
    experiments: Annotated[list[str], Field(min_length=1)]


class Params(Section):
    corpus: Corpus
    compiled: Compiled
    split: Split
    tokens: Tokens
    verification: Verification
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
        for name, model in chosen.models.items():
            if not model.machines or set(model.machines) - set(chosen.machines):
                raise ValueError(f"scheduling.models.{name}.machines must name some of {sorted(chosen.machines)}")
        if both := sorted(set(chosen.schedulers) & set(chosen.models)):
            raise ValueError(f"scheduling.models has {both}, which are names of its schedulers")

    def schedulers_of(self, experiment: str) -> list[str]:
        """Names of the schedulers that take part in an experiment: those without a model, and those of its models."""
        models = self.experiments[experiment].models
        return [name for name, one in self.schedulers.items() if one.model is None or one.model in models]


def _explain(error: ValidationError, where: str) -> ConfigError:
    lines = [f"{where} is not valid:"]
    for fault in error.errors():
        place = ".".join(str(part) for part in fault["loc"]) or "(whole file)"
        if fault["type"] == "extra_forbidden":
            lines.append(f"  {place}: unknown key; check its spelling and its place, or delete it")
        else:
            lines.append(f"  {place}: {fault['msg']} (found {str(fault['input'])[:80]!r})")
    return ConfigError("\n".join(lines))


def validate(data: object, where: str = "params.yaml") -> Params:
    """Settings from parsed YAML. Raises ConfigError naming every faulty key."""
    try:
        return Params.model_validate(data)
    except ValidationError as error:
        raise _explain(error, where) from error


def load(path: Path = Path("params.yaml")) -> Params:
    """Settings from a file. Raises ConfigError naming the file and every faulty key."""
    try:
        data = yaml.safe_load(path.read_text())
    except FileNotFoundError as error:
        raise ConfigError(f"{path} is missing; run from the repository's root") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not YAML: {error}") from error
    return validate(data, str(path))


def section(kind: type[T], text: str) -> T:
    """One section of the settings from the JSON that Snakemake hands to a stage.

    `kind` is any type pydantic can validate, such as `Split` or `dict[str, Scheduler]`.
    Raises ConfigError naming every faulty key.
    """
    try:
        return TypeAdapter(kind).validate_json(text)
    except ValidationError as error:
        raise _explain(error, "--settings") from error
