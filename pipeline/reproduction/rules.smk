"""POCSNet's experiment: tokens -> train -> (schedule, judge, evaluate) -> sweep, examples."""

from pipeline.reproduction.settings import Reproduction


rule tokens:
    input:
        src=src("tokens"),
        blocks=path("blocks"),
        splits=path("splits", dependencies="full"),
    output:
        tokens=path("tokens"),
        vocabulary=path("vocabulary"),
    params:
        settings=section("tokens"),
    log: "logs/tokens.log"
    benchmark: "benchmarks/rules/tokens.tsv"
    message: "Turning instructions into tokens; the vocabulary is the training split's"
    shell: stage("tokens", "settings")


rule train:
    """Train POCSNet's network, for blocks of one length."""
    input:
        src=src("train"),
        dags=path("dags"),
        splits=path("splits"),
        tokens=path("tokens"),
        vocabulary=path("vocabulary"),
    output:
        weights=path("weights"),
        history=path("history"),
    wildcard_constraints: experiment=of_task(Reproduction)
    params:
        settings=network_section,
        seed="{seed}",
        sampler=P.split.sampler,
    priority: 10
    log: "logs/train/{experiment}/{dependencies}/{model}/{seed}.log"
    benchmark: "benchmarks/rules/train/{experiment}/{dependencies}/{model}/{seed}.tsv"
    message: "Training {wildcards.model} ({wildcards.experiment}, {wildcards.dependencies}, seed {wildcards.seed})"
    shell: stage("train", "settings", "seed", "sampler")


rule block_outcomes:
    input:
        src=src("block_outcomes"),
        schedules=path("schedules", target=GCC),
    output:
        block_outcomes=path("block_outcomes"),
    wildcard_constraints: experiment=of_task(Reproduction)
    log: "logs/block_outcomes/{experiment}/{set}/{method}/{seed}.log"
    benchmark: "benchmarks/rules/block_outcomes/{experiment}/{set}/{method}/{seed}.tsv"
    message: "What became of each block of {wildcards.set}: {wildcards.method}, seed {wildcards.seed} ({wildcards.experiment})"
    shell: stage("block_outcomes")


rule sweep:
    input:
        src=src("sweep", *modules("block", P.methods["popocs_20"])),
        set=lambda w: set_with(w),
        dags=path("dags"),
        instructions=path("instructions"),
        tokens=path("tokens"),
        vocabulary=path("vocabulary"),
        weights=path("weights", model="popocs"),
    output:
        sweep=path("sweep"),
    params:
        settings=section("evaluation", "sweep_iterations"),
        seed="{seed}",
    log: "logs/sweep/{experiment}/{dependencies}/{seed}.log"
    benchmark: "benchmarks/rules/sweep/{experiment}/{dependencies}/{seed}.tsv"
    message: "Violations against test-time iterations (Figure 3), seed {wildcards.seed}"
    shell: stage("sweep", "settings", "seed")


def set_with(wildcards):
    """The experiment's set that has the wildcards' mode of dependencies."""
    names = experiment_of(wildcards).sets
    return path("sets", set=next(name for name in names if P.sets[name].dependencies == wildcards.dependencies))


def first_weights(model):
    """Weights of the first seed of an experiment's network, as an input function."""
    return lambda w: path("weights", model=model, seed=experiment_of(w).seeds[0]).format(**w)


rule examples:
    input:
        src=src("examples", *modules("block", P.methods["popocs_20"])),
        blocks=path("blocks"),
        set=lambda w: set_with(w),
        dags=path("dags"),
        instructions=path("instructions"),
        tokens=path("tokens"),
        vocabulary=path("vocabulary"),
        sinkhorn=first_weights("sinkhorn"),
        popocs=first_weights("popocs"),
    output:
        examples=path("examples"),
    params:
        n_blocks=P.evaluation.example_blocks,
    log: "logs/examples/{experiment}/{dependencies}.log"
    benchmark: "benchmarks/rules/examples/{experiment}/{dependencies}.tsv"
    message: "Example blocks with their matrices before and after projection"
    shell: stage("examples", "n_blocks")


COMPLETE["tokens"] = rules.tokens.output
for name in P.report.experiments:
    chosen = P.experiments[name]
    if isinstance(chosen, Reproduction):
        COMPLETE[f"sweep_{name}"] = expand(path("sweep", experiment=name), dependencies=chosen.dependencies, seed=chosen.seeds)
        COMPLETE[f"examples_{name}"] = expand(path("examples", experiment=name), dependencies=chosen.dependencies)
