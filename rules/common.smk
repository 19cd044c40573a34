"""What the rules share: the parameters, how a stage is called, and which files belong to what."""

import json
import os
import re
import sys
from glob import glob
from pathlib import Path
from shlex import quote
from typing import get_args

from pipeline.config.bases import resolve
from pipeline.config.dags import Dependencies
from pipeline.config.experiments import GCC, THIS_MACHINE, Devices, Execution, Fusion, Hardware, Imitation, OnGraphs, Placement, Policies, Processors, Reproduction
from pipeline.config.fusion import FusionNetwork
from pipeline.config.graph_sets import ExecutedSet, GraphSet
from pipeline.config.ordering import modules as architecture
from pipeline.config.params import Params, validate
from pipeline.config.pocsnet import Training
from pipeline.config.policy import Policy
from pipeline.config.slot_network import SlotNetwork
from pipeline.config.whole_graph import Generalised
from pipeline.places import path, place
from pipeline.recovery import guard
from pipeline.wiring import closure

config = resolve(config)
P: Params = validate(config)
NO_FLAGS = ("src", "files", "options")  # inputs that a stage needs on disk and not as options

# Every job is one process on one core, in this Python; the logs show its progress as it goes.
shell.prefix(f"set -euo pipefail; export OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 PATH={quote(str(Path(sys.executable).parent))}:$PATH; ")

guard(sys.argv)


wildcard_constraints:
    experiment=r"\w+",
    dependencies="|".join(get_args(Dependencies)),
    source="|".join(P.corpus.sources),
    trial="|".join(map(re.escape, P.trials.models)),
    set="|".join(P.sets),
    graph_set="|".join([*P.graph_sets, *P.placement_sets, *P.fusion_sets]),
    corpus="released|compiled",
    machine="|".join(P.processors),
    target="|".join([GCC, *P.processors]),
    method=r"\w+",
    model=r"\w+",
    judge="|".join(P.judges),
    shard=r"\d+",
    seed=r"\d+",


def section(*keys, only=None):
    """Canonical JSON of a section of the parameters: a job re-runs when it changes, and only then."""
    value = config
    for key in keys:
        value = value[key]
    if only:
        value = {key: value[key] for key in only}
    return json.dumps(value, sort_keys=True)


def src(stage, *more):
    """Source files of a stage, as inputs: an edit re-runs exactly what is made of it."""
    return closure(f"pipeline.stages.{stage}", *more)


def options(wildcards, input, output):
    """Every named input and output of a job as an option of its stage: `--blocks a.parquet --out b.parquet`."""
    return flags([*input.items(), *output.items()])


def reading(wildcards, input):
    """The same of a job that knows by itself what it writes where."""
    return flags(input.items())


def flags(named):
    words = []
    for name, files in named:
        listed = [files] if isinstance(files, str) else list(files)
        if name not in NO_FLAGS and listed:
            words += [f"--{name.replace('_', '-')}", *map(quote, map(str, listed))]
    return " ".join(words)


def stage(name, *params, **given):
    """The shell command of a stage: its inputs and outputs, then the named params, then what is `given`."""
    named = {key: f"{{params.{key}:q}}" for key in params} | given
    said = "".join(f" --{key.replace('_', '-')} {value}" for key, value in named.items())
    return f"python -m pipeline.stages {name} {{params.options}}{said} 2> >(tee {{log}} >&2)"


def unique(paths):
    return sorted(set(paths))


def corpus_of(set):
    return P.sets[set].corpus


def of_set(kind):
    """A table of the corpus, and with the dependencies, of the wildcard's set, as an input function."""

    def one(wildcards):
        chosen = P.sets[wildcards.set]
        return path(kind).format(corpus=chosen.corpus, dependencies=chosen.dependencies)

    return one


def own_files(wildcards):
    """A user's own files are inputs, so that a rebuilt program is read again."""
    source = P.corpus.sources[wildcards.source]
    if source.kind not in ("files", "bhive"):
        return []
    return unique(path for pattern in source.include for path in glob(pattern, recursive=True) if os.path.isfile(path))
