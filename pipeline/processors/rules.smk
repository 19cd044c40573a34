"""The best orders for processors: the first guess, and searches with proofs."""

from pipeline.processors.settings import Processors

GUESSES = "|".join(unique(name for e in P.experiments.values() if isinstance(e, Processors) for name in e.guesses)) or "none"
GUESS = "guess"  # network of the experiment `first_guess` that is shipped


def learned_sets(wildcards):
    """Sets whose instructions are described: what methods schedule or learn from, and what models are tried on."""
    names = ["latency_development"]
    for experiment in P.experiments.values():
        if isinstance(experiment, Processors):
            names += experiment.sets
            names += [name for network in experiment.guesses.values() for name in (network.training, network.development)]
    return unique(path("sets", set=name) for name in names)


rule machine_instructions:
    input:
        src=src("machine_instructions"),
        encodings=path("encodings"),
        instructions=path("instructions"),
        sets=learned_sets,
    output:
        out=path("machine_instructions"),
    params:
        machine="{machine}",
        settings=lambda w: P.processors[w.machine].judge.model_dump_json(),
    threads: 2
    log: "logs/machine_instructions/{machine}.log"
    benchmark: "benchmarks/rules/machine_instructions/{machine}.tsv"
    message: "llvm-mca on {wildcards.machine}: distinct instructions of the corpus"
    shell: stage("machine_instructions", "machine", "settings", threads="{threads}")


def guess_of(wildcards):
    """Settings of the first guess that the wildcards' experiment trains."""
    return experiment_of(wildcards).guesses[wildcards.model]


rule learn_first_guess:
    input:
        src=src("learn_first_guess"),
        machine=lambda w: [path("machine_instructions", machine=name) for name in guess_of(w).machines],
        instructions=path("instructions"),
        dags=path("dags", dependencies="full"),
        training=lambda w: path("sets", set=guess_of(w).training),
        development=lambda w: path("sets", set=guess_of(w).development),
    output:
        weights=path("weights", dependencies="full"),
        history=path("guess_history"),
    wildcard_constraints: model=GUESSES
    params:
        settings=lambda w: section("experiments", w.experiment, "guesses", w.model),
        seed="{seed}",
    log: "logs/learn_first_guess/{experiment}/{model}/{seed}.log"
    benchmark: "benchmarks/rules/learn_first_guess/{experiment}/{model}/{seed}.tsv"
    message: "Learning {wildcards.model} ({wildcards.experiment}, seed {wildcards.seed})"
    shell: stage("learn_first_guess", "settings", "seed")


rule optima:
    """Find the best orders for a processor by one method, with proofs where it has them."""
    input:
        src=lambda w: src("optima", *modules("block", P.methods[w.method])),
        set=path("sets"),
        blocks=path("blocks"),
        instructions=path("instructions"),
        dags=path("dags", dependencies="full"),
        machine=path("machine_instructions"),
    output:
        optima=path("optima"),
    params:
        settings=lambda w: resolved(P.methods[w.method]),
        judge=lambda w: P.processors[w.machine].judge.model_dump_json(),
        target="{machine}",
        seed=P.split.seed,
    threads: 2
    log: "logs/optima/{machine}/{method}/{set}.log"
    benchmark: "benchmarks/rules/optima/{machine}/{method}/{set}.tsv"
    message: "Finding the best orders of {wildcards.set} on {wildcards.machine} ({wildcards.method})"
    shell: stage("optima", "settings", "judge", "target", "seed", threads="{threads}")


def shipped_guess():
    return P.experiments["first_guess"].guesses[GUESS]


rule ship_schedulers:
    """Put the network for processors into the package: `snakemake data/published/shipped_schedulers.done`."""
    input:
        src=src("ship"),
        weights=lambda w: trainings("first_guess", "weights", [GUESS]),
        history=lambda w: expand(path("guess_history", experiment="first_guess", model=GUESS), seed=P.experiments["first_guess"].seeds),
        training=lambda w: path("sets", set=shipped_guess().training),
    output:
        touch("data/published/shipped_schedulers.done"),
    params:
        options=reading,
        facts=lambda w: json.dumps({
            "sources": config["sets"][shipped_guess().training]["sources"],
            "guess": shipped_guess().model_dump(mode="json"),
        }),
    log: "logs/ship_schedulers.log"
    benchmark: "benchmarks/rules/ship_schedulers.tsv"
    message: "Putting the best network for processors into the package, with its model card"
    shell: stage("ship", "facts", kind="schedulers")
