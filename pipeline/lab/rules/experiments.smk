"""Experiments on basic blocks: (train) -> schedule -> judge -> evaluate."""


def tested(experiment):
    """Wildcards of all schedules of an experiment, in the order of the parameters."""
    chosen = P.experiments[experiment]
    return [
        dict(experiment=experiment, set=name, target=target, method=method, seed=seed)
        for name in chosen.sets
        for target in chosen.targets
        for method in P.methods_of(experiment)
        if P.serves(experiment, method, target)
        for seed in P.seeds(experiment, method)
    ]


def schedules(experiment, kind="schedules", **only):
    """Paths of an experiment's schedules; `only`: name of a wildcard -> the values that count."""
    chosen = [names for names in tested(experiment) if all(names[key] in values for key, values in only.items())]
    return unique(path(kind).format(**names) for names in chosen)


def trainings(experiment, kind, models=None):
    """Paths of weights or histories of an experiment's networks."""
    chosen = P.experiments[experiment]
    return unique(
        path(kind, experiment=experiment, dependencies=mode, model=name, seed=seed)
        for name in (getattr(chosen, "models", {}) if models is None else models)
        for mode in chosen.dependencies
        for seed in chosen.seeds_of(name)
    )


def learned_from(purpose):
    """Set of blocks that the wildcards' network learns from, or is measured on."""
    return lambda w: path("sets", set=getattr(network_of(w), purpose))


rule train_ordering:
    """Train a network for all lengths on GCC's orders."""
    input:
        src=src("train_ordering"),
        encodings=path("encodings"),
        instructions=path("instructions"),
        dags=path("dags", dependencies="full"),
        training=learned_from("training"),
        development=learned_from("development"),
    output:
        weights=path("weights", dependencies="full"),
        history=path("history", dependencies="full"),
    wildcard_constraints:
        experiment=of_task(LearnsOrders),
        model="|".join(unique(name for e in P.experiments.values() if isinstance(e, LearnsOrders) for name in e.models)) or "none",
    params:
        settings=network_section,
        seed="{seed}",
    threads: lambda w: network_of(w).threads
    priority: 10
    log: "logs/train_ordering/{experiment}/{model}/{seed}.log"
    benchmark: "benchmarks/rules/train_ordering/{experiment}/{model}/{seed}.tsv"
    message: "Training {wildcards.model} ({wildcards.experiment}, seed {wildcards.seed})"
    shell: stage("train_ordering", "settings", "seed")


def weights_of(wildcards):
    """Weights of the wildcards' method; none for a method without training."""
    entry, network = P.entry(wildcards.experiment, wildcards.method), P.network(wildcards.experiment, wildcards.method)
    if network is not None:
        mode = P.sets[wildcards.set].dependencies if isinstance(network.settings, Training) else "full"
        names = dict(experiment=network.experiment, model=network.model, seed=wildcards.seed)
        return path("weights", dependencies=mode, **names)
    return entry.shipped or []


def tokens_of(kind):
    """Tokens or their vocabulary, for a method that reads them, as an input function."""
    return lambda w: path(kind) if "tokens" in P.entry(w.experiment, w.method).needs else []


rule schedule:
    """Order the blocks of a set by one method and one seed, as GCC would or for a processor."""
    input:
        src=lambda w: src("schedule", *modules("block", P.entry(w.experiment, w.method))),
        set=path("sets"),
        dags=of_set("dags"),
        encodings=path("encodings"),
        instructions=path("instructions"),
        tokens=tokens_of("tokens"),
        vocabulary=tokens_of("vocabulary"),
        weights=weights_of,
        machine=lambda w: [] if w.target == GCC else path("machine_instructions", machine=w.target),
    output:
        schedules=path("schedules"),
        confidence=path("confidence"),
    params:
        settings=lambda w: resolved(P.entry(w.experiment, w.method)),
        seed="{seed}",
        batch=lambda w: experiment_of(w).batch,
    log: "logs/schedule/{experiment}/{set}/{target}/{method}/{seed}.log"
    benchmark: "benchmarks/rules/schedule/{experiment}/{set}/{target}/{method}/{seed}.tsv"
    message: "Scheduling {wildcards.set} for {wildcards.target}: {wildcards.method}, seed {wildcards.seed} ({wildcards.experiment})"
    shell: stage("schedule", "settings", "seed", "batch")


def judged_by(wildcards):
    """Schedules that a judge counts the cycles of: those for GCC or for its processor."""
    chosen, cpu = experiment_of(wildcards), P.judges[wildcards.judge].cpu
    targets = [t for t in chosen.targets if t == GCC or P.processors[t].cpu == cpu]
    return schedules(wildcards.experiment, set=[wildcards.set], target=targets)


rule judge:
    input:
        src=src("judge"),
        blocks=path("blocks"),
        dags=of_set("dags"),
        schedules=judged_by,
    output:
        latency=path("latency"),
    params:
        judge="{judge}",
        settings=lambda w: section("judges", w.judge),
    threads: 2
    log: "logs/judge/{experiment}/{set}/{judge}.log"
    benchmark: "benchmarks/rules/judge/{experiment}/{set}/{judge}.tsv"
    message: "llvm-mca on {wildcards.judge}: cycles of every order of {wildcards.set} ({wildcards.experiment})"
    shell: stage("judge", "judge", "settings", threads="{threads}")


def per_set(kind):
    """The tables with the blocks of the experiment's sets, as an input function."""
    return lambda w: unique(table_of(kind, name) for name in experiment_of(w).sets)


def judged(wildcards):
    chosen = experiment_of(wildcards)
    return expand(path("latency", experiment=wildcards.experiment), set=chosen.sets, judge=chosen.judges)


def proofs(wildcards):
    """Tables `optima` of the experiment's exact methods."""
    return unique(
        path("optima", machine=names["target"], method=names["method"], set=names["set"])
        for names in tested(wildcards.experiment)
        if P.entry(wildcards.experiment, names["method"]).exact
    )


READ = {  # tables that numbers are of -> their files, as an input function
    "sets": lambda w: expand(path("sets"), set=experiment_of(w).sets),
    "dags": per_set("dags"),
    "schedules": lambda w: schedules(w.experiment),
    "blocks": per_set("blocks"),
    "splits": lambda w: expand(path("splits"), dependencies=experiment_of(w).dependencies),
    "confidence": lambda w: schedules(w.experiment, "confidence"),
    "latency": judged,
    "optima": proofs,
    "instructions": per_set("instructions"),
    "machine_instructions": lambda w: expand(path("machine_instructions"), machine=experiment_of(w).judges),
}


rule evaluate:
    input:
        src=lambda w: src("evaluate", f"pipeline.{experiment_of(w).task}.numbers"),
        tables=lambda w: [file for kind in ("sets", "dags", "schedules", *experiment_of(w).reads) for file in READ[kind](w)],
    output:
        results=path("results"),
        parts=path("parts"),
    wildcard_constraints: experiment=of_task(OnBlocks)
    params:
        experiment="{experiment}",
        task=lambda w: experiment_of(w).task,
        intervals=INTERVALS,
        judges=lambda w: json.dumps({name: P.judges[name].model_dump() for name in experiment_of(w).judges}),
        dependencies=lambda w: json.dumps({name: P.sets[name].dependencies for name in experiment_of(w).sets}),
    log: "logs/evaluate/{experiment}.log"
    benchmark: "benchmarks/rules/evaluate/{experiment}.tsv"
    message: "Numbers with intervals ({wildcards.experiment})"
    shell: stage("evaluate", "experiment", "task", "intervals", "judges", "dependencies")
