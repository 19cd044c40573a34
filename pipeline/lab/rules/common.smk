"""What the rules share: the parameters, how a stage is called, and which files a job reads.

`snakemake --lint` asks for functions in modules of their own. A chapter's rules and the functions that choose their files
stand in one file, so that a chapter is one folder; nothing else is reported.
"""

import csv
import json
import os
import sys
from collections.abc import Callable
from functools import cache
from glob import glob
from pathlib import Path
from shlex import quote
from typing import NamedTuple, get_args

from pydantic_core import to_jsonable_python
from snakemake.settings.types import DeploymentMethod

from pipeline.lab import chapters
from pipeline.lab.checksums import verify_all
from pipeline.lab.config.bases import resolve
from learned_schedulers.blocks.dag.settings import Dependencies
from pipeline.lab.config.experiments import GCC, LearnsOrders, OnBlocks, OnGraphs
from pipeline.lab.config.files import complete
from pipeline.lab.config.params import Params, validate
from learned_schedulers.blocks.models.pocsnet_settings import Training
from pipeline.lab.places import path, place
from pipeline.lab.recovery import lock_dvc_out, refuse_foreign
from learned_schedulers.method_settings import modules
from pipeline.lab.wiring import SETTINGS, closure

config = resolve(complete(config, Path(workflow.basedir, "params.yaml")))
P: Params = validate(config)
config |= {name: P.model_dump(mode="json", include={name})[name] for name in ("devices", "links")}  # with those that need no entry
NO_FLAGS = ("src", "files", "options")  # inputs that a stage needs on disk and not as options

# Every job is one process on one core, in this Python; the logs show its progress while it runs.
HERE = f"PATH={quote(str(Path(sys.executable).parent))}:$PATH"
IN_CONDA = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method  # --sdm conda: its Python instead
shell.prefix(f"set -euo pipefail; export OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 {'' if IN_CONDA else HERE}; ")

with open(os.path.join(workflow.basedir, "pipeline/lab/rules/resources.csv"), newline="") as lines:
    DECLARED = {line["rule"]: line for line in csv.DictReader(lines)}


wildcard_constraints:
    experiment=r"\w+",
    dependencies="|".join(get_args(Dependencies)),
    source="|".join(P.corpus.sources),
    set="|".join(P.sets),
    graph_set="|".join([*P.graph_sets, *P.placement_sets, *P.fusion_sets]),
    machine="|".join(P.processors),
    target="|".join([GCC, *P.processors]),
    method=r"\w+",
    model=r"\w+",
    judge="|".join(P.judges),
    shard=r"\d+",
    seed=r"\d+",


INTERVALS = json.dumps({key: config["evaluation"][key] for key in ("bootstrap_samples", "confidence")}, sort_keys=True)


class Further(NamedTuple):
    """What a chapter publishes beside experiments; each part is a function without arguments."""

    tables: Callable  # -> paths
    settings: Callable  # -> a mapping
    alike: Callable  # -> folders of data/ that are made alike on the tiny corpus


FURTHER = {}  # name -> Further; chapters add to it
COMPLETE = {}  # stage of dvc.yaml -> files that complete it; chapters add to it


def section(*keys, only=None):
    """Canonical JSON of a section of the parameters: a job re-runs if the section changes, and only then."""
    value = config
    for key in keys:
        value = value[key]
    if only:
        value = {key: value[key] for key in only}
    return json.dumps(value, sort_keys=True)


def src(stage, *more):
    """Source files of a stage, as inputs: an edit re-runs exactly the jobs that depend on it."""
    return closure(chapters.stages()[stage], *more)


def resolved(settings):
    """Canonical JSON of settings of methods, with their defaults: the text of their classes is no source of a job."""
    return json.dumps(to_jsonable_python(settings), sort_keys=True)


def options(wildcards, input, output):
    """Every named input and output of a job as options of its stage: `--blocks a.parquet --out b.parquet`."""
    return flags([*input.items(), *output.items()])


def reading(wildcards, input):
    """The inputs alone as options, for a stage that knows where it writes."""
    return flags(input.items())


def flags(values):
    """Pairs of a name and a value, or a list of values, as options; a name without values is left out."""
    words = []
    for name, value in values:
        texts = [value] if isinstance(value, str) else list(value)
        if name not in NO_FLAGS and texts:
            words += [f"--{name.replace('_', '-')}", *map(quote, map(str, texts))]
    return " ".join(words)


files_are_its_own = cache(refuse_foreign)  # asked for every job


def no_foreign_files(wildcards):
    """No further input; it refuses to run jobs beside files that another program has put in place.

    What only reads, as `-n` and `--dag`, may look at any files; with --forceall (DVC) Snakemake trusts no record anyway.
    A job on another machine begins while the files of others have no record yet.
    """
    reads = workflow.executor_plugin is None or workflow.dryrun or workflow.touch
    if not reads and not workflow.dag_settings.forceall and workflow.is_main_process:
        files_are_its_own()
    return []


def complete(rules):
    """Give each rule its check of files, and one that runs a stage its param `options`, unless it has its own, and resources."""
    for stage_rule in rules:
        stage_rule.set_input(no_foreign_files)
        if not stage_rule.shellcmd:
            continue
        stage_rule.conda_env = os.path.join(workflow.basedir, "profiles/conda.yaml")
        if "options" not in stage_rule.params.keys():
            stage_rule.set_params(options=options)
        chosen = workflow.resource_settings.overwrite_resources.get(stage_rule.name, {})  # --set-resources wins
        tasks = chosen["tasks"].value if "tasks" in chosen else 1
        needs = resources_of(stage_rule.name, tasks)
        stage_rule.resources.update({name: value for name, value in needs.items() if name not in chosen})


def resources_of(rule, tasks):
    """Memory (MB), time (minutes) and GPUs, if any, of a rule, for schedulers of clusters; its cores are its threads.

    Each of its tasks holds what one process holds. A job that was killed for its memory or its time gets twice as much
    at the next attempt. `launcher` runs a stage: Python, or what starts it as several processes (profiles/slurm/).
    """
    if rule not in DECLARED:
        raise ValueError(f"pipeline/lab/rules/resources.csv has no line for rule {rule}: python -m benchmarks.rule_costs adds it")
    needs = DECLARED[rule]
    memory, minutes, gpus = (int(needs[name]) for name in ("mem_mb", "minutes", "gpus"))
    return {
        "mem_mb": lambda wildcards, attempt: memory * tasks * 2 ** (attempt - 1),
        "runtime": lambda wildcards, attempt: minutes * 2 ** (attempt - 1),
        "launcher": "python",
        **({"gpu": gpus} if gpus else {}),  # some plugins take 0 for a wish
    }


def options_and(**more):
    """As `options`, then further options: name -> function of the wildcards, which returns a list of values."""
    return lambda wildcards, input, output: " ".join(
        [options(wildcards, input, output), flags((name, values(wildcards)) for name, values in more.items())]
    )


def stage(name, *params, **more):
    """The shell command of a stage: its inputs and outputs, then the params of these names, then more options."""
    values = {key: f"{{params.{key}:q}}" for key in params} | more
    words = "".join(f" --{key.replace('_', '-')} {value}" for key, value in values.items())
    return f"{{resources.launcher}} -m pipeline {name} {{params.options}}{words} 2> >(tee {{log}} >&2)"


def unique(paths):
    return sorted(set(paths))


def experiment_of(wildcards):
    """Settings of the wildcards' experiment."""
    return P.experiments[wildcards.experiment]


def shown_of(wildcards):
    """What a page draws of the wildcards' experiment."""
    return experiment_of(wildcards).shown


def network_of(wildcards):
    """Settings of the network that the wildcards' experiment trains."""
    return experiment_of(wildcards).models[wildcards.model]


def network_section(wildcards):
    """The same as JSON."""
    return section("experiments", wildcards.experiment, "models", wildcards.model)


def named(kinds, *sections):
    """Names of the entries of sections that are of these kinds, as a regular expression."""
    return "|".join(unique(name for entries in sections for name, entry in entries.items() if isinstance(entry, kinds))) or "none"


def of_task(*kinds):
    """Experiments of some tasks, as a regular expression."""
    return named(kinds, P.experiments)


def drawn_by(table):
    """Experiments of the tasks that a table is drawn of, as a regular expression."""
    return "|".join(name for name, chosen in P.experiments.items() if table in chosen.drawn) or "none"


def table_of(kind, set):
    """Path of the table with the blocks of a set: of its dependencies."""
    return path(kind).format(dependencies=P.sets[set].dependencies)


def of_set(kind):
    """The table with the blocks of the wildcards' set, as an input function."""
    return lambda w: table_of(kind, w.set)


def own_files(wildcards):
    """The user's own files are inputs, so that a rebuilt program is read again."""
    source = P.corpus.sources[wildcards.source]
    patterns = source.include if source.kind in ("files", "bhive") else []
    return unique(file for pattern in patterns for file in glob(pattern, recursive=True) if os.path.isfile(file))
