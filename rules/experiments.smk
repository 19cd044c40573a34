"""The road of every experiment: train -> schedule -> judge -> evaluate."""

def tested(experiment):
    """(set, target, method, seed) of all schedules of an experiment, in the order of the parameters."""
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
    """Paths of an experiment's schedules, those of which some names are given alone."""
    chosen = [names for names in tested(experiment) if all(names[key] in values for key, values in only.items())]
    return unique(path(kind).format(**names) for names in chosen)


def trainings(experiment, kind, models=None):
    """Paths of weights or histories of an experiment's networks."""
    chosen = P.experiments[experiment]
    return unique(
        path(kind, experiment=experiment, dependencies=mode, model=name, seed=seed)
        for name in (chosen.models if models is None else models)
        for mode in chosen.dependencies
        for seed in chosen.seeds_of(name)
    )


def blocks_of(corpus):
    """The tables of a corpus that a network for all lengths reads."""
    return dict(
        encodings=path("encodings", corpus=corpus),
        instructions=path("instructions", corpus=corpus),
        dags=path("dags", corpus=corpus, dependencies="full"),
    )


def of_model(kind):
    """A table of the corpus that the wildcards' network learns from, as an input function."""
    return lambda w: blocks_of(corpus_of(P.experiments[w.experiment].models[w.model].training))[kind]


def learned_from(purpose):
    """Set of blocks that the wildcards' network learns from, or is measured on."""
    return lambda w: path("sets", set=getattr(P.experiments[w.experiment].models[w.model], purpose))


def machines_of(wildcards):
    """Tables of the processors that the wildcards' network learns for; none: it imitates GCC."""
    model = P.experiments[wildcards.experiment].models[wildcards.model]
    return [path("machine_instructions", corpus=corpus_of(model.training), machine=name) for name in model.machines]


def best_orders(purpose):
    """Tables `optima` that the wildcards' network learns from, as an input function."""

    def paths(wildcards):
        model = P.experiments[wildcards.experiment].models[wildcards.model]
        return [
            path("optima", machine=name, method=P.processors[name].best, set=getattr(model, purpose))
            for name in model.machines
        ]

    return paths


def of_task(*kinds):
    """Experiments of some tasks, as a regular expression."""
    return "|".join(name for name, experiment in P.experiments.items() if isinstance(experiment, kinds)) or "none"


rule train:
    """POCSNet's network, for blocks of one length."""
    input:
        src=src("train"),
        dags=path("dags", corpus="released"),
        splits=path("splits"),
        tokens=path("tokens"),
        vocabulary=path("vocabulary"),
    output:
        weights=path("weights"),
        history=path("history"),
    wildcard_constraints:
        experiment=of_task(Reproduction),
    params:
        options=options,
        settings=lambda w: section("experiments", w.experiment, "models", w.model),
        seed="{seed}",
        sampler=P.split.sampler,
    log:
        "logs/train/{experiment}/{dependencies}/{model}/{seed}.log",
    benchmark:
        "benchmarks/rules/train/{experiment}/{dependencies}/{model}/{seed}.tsv"
    priority: 10
    message:
        "Training {wildcards.model} ({wildcards.experiment}, dependencies {wildcards.dependencies}, seed {wildcards.seed})"
    shell:
        stage("train", "settings", "seed", "sampler")


rule train_ordering:
    """A network for all lengths: of GCC's orders, or of the best ones for processors."""
    input:
        src=lambda w: src("train_ordering", *architecture(P.experiments[w.experiment].models[w.model], decoding=False)),
        encodings=of_model("encodings"),
        instructions=of_model("instructions"),
        dags=of_model("dags"),
        training=learned_from("training"),
        development=learned_from("development"),
        machine=machines_of,
        best_training=best_orders("training"),
        best_development=best_orders("development"),
    output:
        weights=path("weights", dependencies="full"),
        history=path("history", dependencies="full"),
    wildcard_constraints:
        experiment=of_task(Imitation, Processors),
    params:
        options=options,
        settings=lambda w: section("experiments", w.experiment, "models", w.model),
        seed="{seed}",
    threads: lambda w: P.experiments[w.experiment].models[w.model].threads
    priority: 10
    log:
        "logs/train_ordering/{experiment}/{model}/{seed}.log",
    benchmark:
        "benchmarks/rules/train_ordering/{experiment}/{model}/{seed}.tsv"
    message:
        "Training {wildcards.model} ({wildcards.experiment}, seed {wildcards.seed})"
    shell:
        stage("train_ordering", "settings", "seed")


rule learn_policy:
    input:
        src=src("learn_policy"),
        machine=path("machine_instructions", corpus="released", machine="{target}"),
        instructions=path("instructions", corpus="released"),
        dags=path("dags", corpus="released", dependencies="full"),
        training=lambda w: path("sets", set=P.entry(w.experiment, w.method).settings.learning.training),
    output:
        weights=path("policies"),
    params:
        options=options,
        settings=lambda w: section("methods", w.method, "learning"),
        seed=P.split.seed,
    log:
        "logs/learn_policy/{experiment}/{target}/{method}.log",
    benchmark:
        "benchmarks/rules/learn_policy/{experiment}/{target}/{method}.tsv"
    message:
        "Learning {wildcards.method} for {wildcards.target} from rollouts"
    shell:
        stage("learn_policy", "settings", "seed")


rule optima:
    """The best orders that a method finds for a processor, with proofs where it has them."""
    input:
        src=lambda w: src("optima", *P.methods[w.method].modules()),
        set=path("sets"),
        blocks=path("blocks", corpus="released"),
        instructions=path("instructions", corpus="released"),
        dags=path("dags", corpus="released", dependencies="full"),
        machine=path("machine_instructions", corpus="released"),
    output:
        optima=path("optima"),
    params:
        options=options,
        settings=lambda w: section("methods", w.method),
        judge=lambda w: P.processors[w.machine].judge.model_dump_json(),
        target="{machine}",
        seed=P.split.seed,
    threads: 2
    log:
        "logs/optima/{machine}/{method}/{set}.log",
    benchmark:
        "benchmarks/rules/optima/{machine}/{method}/{set}.tsv"
    message:
        "Finding the best orders of {wildcards.set} on {wildcards.machine} ({wildcards.method})"
    shell:
        stage("optima", "settings", "judge", "target", "seed", threads="{threads}")


def weights_of(wildcards):
    """What the wildcards' method is loaded from, as an input function; nothing for one that learned nothing."""
    entry, network = P.entry(wildcards.experiment, wildcards.method), P.network(wildcards.experiment, wildcards.method)
    if network is not None:
        mode = P.sets[wildcards.set].dependencies if isinstance(network.settings, Training) else "full"
        return path("weights").format(
            experiment=network.experiment, dependencies=mode, model=network.model, seed=wildcards.seed
        )
    if getattr(entry.settings, "learning", None) is not None:
        return path("policies").format(**wildcards)
    return entry.settings.shipped or []


def sources_of(wildcards):
    """Modules that the wildcards' method is made of: its own, and of its network encoder, head and decoders."""
    network = P.network(wildcards.experiment, wildcards.method)
    return P.entry(wildcards.experiment, wildcards.method).modules(None if network is None else network.settings)


def words(kind):
    """A table of tokens, which POCSNet's network reads, as an input function."""
    return lambda w: path(kind) if "tokens" in P.entry(w.experiment, w.method).settings.needs else []


def raw_entry(wildcards):
    """The wildcards' method as params.yaml has it; of a network for all lengths there is no entry."""
    return config["methods"].get(wildcards.method) or dict(method="ordering", model=wildcards.method)


rule schedule:
    """Orders of a set by one method and one seed, for GCC's sake or for a processor."""
    input:
        src=lambda w: src("schedule", *sources_of(w)),
        set=path("sets"),
        dags=of_set("dags"),
        encodings=of_set("encodings"),
        instructions=of_set("instructions"),
        tokens=words("tokens"),
        vocabulary=words("vocabulary"),
        weights=weights_of,
        machine=lambda w: [] if w.target == GCC else path("machine_instructions", corpus=corpus_of(w.set), machine=w.target),
    output:
        schedules=path("schedules"),
        confidence=path("confidence"),
    params:
        options=options,
        settings=lambda w: json.dumps(raw_entry(w), sort_keys=True),
        seed="{seed}",
        batch=lambda w: 0 if isinstance(P.experiments[w.experiment], Reproduction) else 8192,  # instructions; 0: all at once
    log:
        "logs/schedule/{experiment}/{set}/{target}/{method}/{seed}.log",
    benchmark:
        "benchmarks/rules/schedule/{experiment}/{set}/{target}/{method}/{seed}.tsv"
    message:
        "Scheduling {wildcards.set} for {wildcards.target} with {wildcards.method} ({wildcards.experiment}, seed {wildcards.seed})"
    shell:
        stage("schedule", "settings", "seed", "batch")


def judged_by(wildcards):
    """Schedules that a judge tells the cycles of: for a processor those that were made for it; of hardware none."""
    chosen, cpu = P.experiments[wildcards.experiment], P.judges[wildcards.judge].cpu
    targets = [t for t in chosen.targets if t == GCC or P.processors[t].cpu == cpu]
    return [] if isinstance(chosen, Hardware) else schedules(wildcards.experiment, set=[wildcards.set], target=targets)


rule judge:
    input:
        src=src("judge"),
        blocks=of_set("blocks"),
        dags=of_set("dags"),
        schedules=judged_by,
        timings=lambda w: path("timings", series=1) if isinstance(P.experiments[w.experiment], Hardware) else [],  # all series draw the same orders
    output:
        latency=path("latency"),
    params:
        options=options,
        judge="{judge}",
        settings=lambda w: section("judges", w.judge),
    threads: 2
    log:
        "logs/judge/{experiment}/{set}/{judge}.log",
    benchmark:
        "benchmarks/rules/judge/{experiment}/{set}/{judge}.tsv"
    message:
        "llvm-mca on {wildcards.judge}: cycles of every order of {wildcards.set} ({wildcards.experiment})"
    shell:
        stage("judge", "judge", "settings", threads="{threads}")
