"""What the rules share: the parameters, and which files belong to what."""

import json
import os
import sys
from glob import glob
from pathlib import Path
from shlex import quote
from typing import get_args

from pipeline.config.dags import Dependencies
from pipeline.config.params import Params, validate
from pipeline.recovery import guard
from pipeline.wiring import closure

P: Params = validate(config)
SHARDS = range(P.corpus.shards)
MODES = sorted({P.trials.dependencies}.union(*(e.dependencies for e in P.experiments.values())))

DAGS = "data/dags/{dependencies}.parquet"
STATISTICS = "data/statistics/{dependencies}.parquet"
SPLITS = "data/splits/{dependencies}.parquet"
HISTORIES = "data/models/{experiment}/{dependencies}/{model}/{seed}/history.parquet"
WEIGHTS = "data/models/{experiment}/{dependencies}/{model}/{seed}/weights.safetensors"
SCHEDULES = "data/schedules/{experiment}/{dependencies}/{scheduler}/test/{seed}.parquet"
SWEEPS = "data/sweep/{experiment}/{dependencies}/{seed}.parquet"
EXAMPLES = "data/examples/{experiment}/{dependencies}.parquet"
LATENCIES = "data/latency/{experiment}/{machine}.parquet"
RESULTS = "data/metrics/{experiment}.parquet"
RUNS = "data/tracking/{experiment}.json"

# Every job is one process on one core, in this Python; the logs show its progress as it goes.
shell.prefix(f"set -euo pipefail; export OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 PATH={quote(str(Path(sys.executable).parent))}:$PATH; ")

guard(sys.argv)


wildcard_constraints:
    experiment="|".join(P.experiments),
    dependencies="|".join(get_args(Dependencies)),
    source="|".join(P.corpus.sources),
    trial="|".join(P.trials.models),
    imitation="|".join(P.imitations),
    set="|".join(P.sets),
    corpus="released|compiled",
    imitator=r"\w+",
    machine="|".join({*P.latency.machines, *P.scheduling.machines}),
    iterations=r"\d+",
    exact="|".join(P.scheduling.schedulers),
    shard=r"\d+",
    seed=r"\d+",
    split="training|development|test",


def section(*path, only=None):
    """Canonical JSON of a section of the parameters: a job re-runs when it changes, and only then."""
    value = config
    for key in path:
        value = value[key]
    if only:
        value = {key: value[key] for key in only}
    return json.dumps(value, sort_keys=True)


def src(stage, *more):
    """Source files of a stage, as inputs: an edit re-runs exactly what is made of it."""
    return closure(f"pipeline.stages.{stage}", *more)


def files(pattern, *experiments):
    """Paths of all dependencies, seeds, schedulers, models and machines of the experiments, sorted."""
    return sorted(
        {
            path
            for name in experiments
            for path in expand(
                pattern,
                experiment=name,
                dependencies=P.experiments[name].dependencies,
                seed=P.experiments[name].seeds,
                scheduler=P.schedulers_of(name),
                model=P.experiments[name].models,
                machine=P.latency.machines,
            )
        }
    )


def of_experiment(pattern):
    """The same as an input function, for the wildcard's experiment."""
    return lambda wildcards: files(pattern, wildcards.experiment)


def own_files(wildcards):
    """A user's own files are inputs, so that a rebuilt program is read again."""
    source = P.corpus.sources[wildcards.source]
    if source.kind not in ("files", "bhive"):
        return []
    return sorted({path for pattern in source.include for path in glob(pattern, recursive=True) if os.path.isfile(path)})


def weights(wildcards):
    """Weights of the model behind the wildcard's scheduler, where it has one."""
    model = P.schedulers[wildcards.scheduler].model
    return WEIGHTS.replace("{model}", model) if model else []


def first_seed(model):
    """Weights of the model's first seed, as an input function."""
    return lambda wildcards: WEIGHTS.format(
        experiment=wildcards.experiment,
        dependencies=wildcards.dependencies,
        model=model,
        seed=P.experiments[wildcards.experiment].seeds[0],
    )
