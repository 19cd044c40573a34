"""Schedules and cycles -> numbers, published folders, claims, pages, runs on the dashboard."""

from pipeline.report.pages import FILES as PAGES

COMMITTED = sorted(file.parent.name for file in Path("reports/published").glob("*/provenance.json"))
EVIDENCE = "imitation_evidence"  # published beside the experiment whose section `evidence` says what it is of
SECTIONS = ("dag_verification", "trials")  # published, and no experiments
MAY_BE_ASKED = {*P.experiments, *SECTIONS, EVIDENCE}
# What is published is committed and a source of the report, unless this very command asks for it: then it is made first.
ASKED = sorted({name for word in sys.argv for name in re.findall(r"(?:published/|publish:experiment=)(\w+)", word)} & MAY_BE_ASKED)
PUBLISHED = [path("published", experiment=name) for name in unique([*COMMITTED, *ASKED])]
INTERVALS = section("evaluation", only=["bootstrap_samples", "confidence"])


def only(tasks, files):
    """Files of experiments of some tasks, as an input function; nothing for others."""
    return lambda w: files(w) if P.experiments[w.experiment].task in tasks else []


def measured(wildcards):
    """Schedules that an experiment measures."""
    chosen = P.experiments[wildcards.experiment]
    return schedules(wildcards.experiment, set=chosen.sets, target=chosen.targets)


def per_set(kind):
    """A table of the corpus, and with the dependencies, of each of the experiment's sets."""
    chosen = lambda w: [P.sets[name] for name in P.experiments[w.experiment].sets]
    return lambda w: unique(path(kind).format(corpus=s.corpus, dependencies=s.dependencies) for s in chosen(w))


def judged(wildcards):
    chosen = P.experiments[wildcards.experiment]
    return expand(path("latency", experiment=wildcards.experiment), set=chosen.sets, judge=chosen.judges)


def proofs(wildcards):
    """Tables `optima` of the experiment's exact methods."""
    chosen = P.experiments[wildcards.experiment]
    return unique(
        path("optima", machine=names["target"], method=names["method"], set=names["set"])
        for names in tested(wildcards.experiment)
        if P.entry(wildcards.experiment, names["method"]).exact
    )


def series_before(wildcards):
    """What the series before the wildcards' one has timed; nothing for the first."""
    before = int(wildcards.series) - 1
    return path("timed_blocks", **{**wildcards, "series": before}) if before else []


rule time_orders:
    """Runs machine code of the corpus, and times it on the processor of this machine; so only when asked for."""
    input:
        src=src("time_orders"),
        set=path("sets"),
        blocks=of_set("blocks"),
        dags=of_set("dags"),
        schedules=lambda w: schedules(w.experiment, set=[w.set], target=P.experiments[w.experiment].targets),
        earlier=series_before,
    output:
        timings=path("timings"),
        timed_blocks=path("timed_blocks"),
    params:
        options=options,
        settings=lambda w: section("experiments", w.experiment, "timing"),
    threads: 1024  # all there are: whatever runs beside it is measured, too
    log:
        "logs/time_orders/{experiment}/{set}/{series}.log",
    benchmark:
        "benchmarks/rules/time_orders/{experiment}/{set}/{series}.tsv"
    message:
        "Timing orders of {wildcards.set} on this processor, series {wildcards.series}"
    shell:
        stage("time_orders", "settings")


def timed(wildcards, kind):
    """Tables of all series of an experiment on hardware."""
    chosen = P.experiments[wildcards.experiment]
    return expand(path(kind, experiment=wildcards.experiment), set=chosen.sets, series=range(1, chosen.timing.series + 1))


rule evaluate:
    input:
        src=lambda w: src("evaluate", f"pipeline.analysis.{P.experiments[w.experiment].task}_task"),
        sets=lambda w: expand(path("sets"), set=P.experiments[w.experiment].sets),
        dags=per_set("dags"),
        blocks=only(["imitation", "hardware"], per_set("blocks")),
        splits=only(["reproduction"], lambda w: expand(path("splits"), dependencies=P.experiments[w.experiment].dependencies)),
        schedules=measured,
        confidence=only(["imitation"], lambda w: schedules(w.experiment, "confidence")),
        latency=only(["reproduction", "processors", "hardware"], judged),
        optima=only(["processors"], proofs),
        timings=only(["hardware"], lambda w: timed(w, "timings")),
        timed_blocks=only(["hardware"], lambda w: timed(w, "timed_blocks")),
        instructions=only(["hardware"], per_set("instructions")),
        machine_instructions=only(["hardware"], lambda w: expand(path("machine_instructions", corpus="released"), machine=P.experiments[w.experiment].judges)),
    output:
        results=path("results"),
        parts=path("parts"),
        outcomes=path("outcomes"),
    wildcard_constraints:
        experiment=of_task(Reproduction, Imitation, Processors, Hardware),
    params:
        options=options,
        experiment="{experiment}",
        task=lambda w: P.experiments[w.experiment].task,
        intervals=INTERVALS,
        judges=lambda w: json.dumps({name: P.judges[name].model_dump() for name in P.experiments[w.experiment].judges}),
        dependencies=lambda w: json.dumps({name: P.sets[name].dependencies for name in P.experiments[w.experiment].sets}),
    log:
        "logs/evaluate/{experiment}.log",
    benchmark:
        "benchmarks/rules/evaluate/{experiment}.tsv"
    message:
        "Numbers with intervals ({wildcards.experiment})"
    shell:
        stage("evaluate", "experiment", "task", "intervals", "judges", "dependencies")


rule sweep:
    input:
        src=src("sweep", *P.methods["popocs_20"].modules()),
        set=lambda w: path("sets", set=set_with(w)),
        dags=path("dags", corpus="released"),
        instructions=path("instructions", corpus="released"),
        tokens=path("tokens"),
        vocabulary=path("vocabulary"),
        weights=path("weights", model="popocs"),
    output:
        sweep=path("sweep"),
    params:
        options=options,
        settings=section("evaluation", "sweep_iterations"),
        seed="{seed}",
    log:
        "logs/sweep/{experiment}/{dependencies}/{seed}.log",
    benchmark:
        "benchmarks/rules/sweep/{experiment}/{dependencies}/{seed}.tsv"
    message:
        "Violations against test-time iterations (Figure 3), seed {wildcards.seed}"
    shell:
        stage("sweep", "settings", "seed")


def set_with(wildcards):
    """The experiment's set of the wildcard's dependencies."""
    chosen = P.experiments[wildcards.experiment]
    return next(name for name in chosen.sets if P.sets[name].dependencies == wildcards.dependencies)


rule examples:
    input:
        src=src("examples", *P.methods["popocs_20"].modules()),
        blocks=path("blocks", corpus="released"),
        set=lambda w: path("sets", set=set_with(w)),
        dags=path("dags", corpus="released"),
        instructions=path("instructions", corpus="released"),
        tokens=path("tokens"),
        vocabulary=path("vocabulary"),
        sinkhorn=lambda w: path("weights", model="sinkhorn", seed=P.experiments[w.experiment].seeds[0]).format(**w),
        popocs=lambda w: path("weights", model="popocs", seed=P.experiments[w.experiment].seeds[0]).format(**w),
    output:
        examples=path("examples"),
    params:
        options=options,
        n_blocks=P.evaluation.example_blocks,
    log:
        "logs/examples/{experiment}/{dependencies}.log",
    benchmark:
        "benchmarks/rules/examples/{experiment}/{dependencies}.tsv"
    message:
        "Example blocks with their matrices before and after projection"
    shell:
        stage("examples", "n_blocks")


rule trial:
    input:
        src=src("train"),
        dags=path("dags", corpus="released", dependencies=P.trials.dependencies),
        splits=path("splits", dependencies=P.trials.dependencies),
        tokens=path("tokens"),
        vocabulary=path("vocabulary"),
    output:
        weights=temp(path("trial_weights")),
        history=path("trial_history"),
    params:
        options=options,
        settings=lambda w: section("trials", "models", w.trial),
        seed=P.trials.seed,
        sampler=P.split.sampler,
    log:
        "logs/trial/{trial}.log",
    benchmark:
        "benchmarks/rules/trial/{trial}.tsv"
    message:
        "Trying {wildcards.trial} on the development split"
    shell:
        stage("train", "settings", "seed", "sampler")


rule timelines:
    """Example blocks whose best order beats GCC's, side by side."""
    input:
        src=src("timelines"),
        set=lambda w: path("sets", set=P.experiments[w.experiment].shown.set),
        blocks=path("blocks", corpus="released"),
        instructions=path("instructions", corpus="released"),
        dags=path("dags", corpus="released", dependencies="full"),
        machine=lambda w: path("machine_instructions", corpus="released", machine=P.experiments[w.experiment].shown.target),
        learned=lambda w: shown_schedule(w.experiment),
        optima=lambda w: shown_optima(w.experiment),
    output:
        timelines=path("timelines"),
    params:
        options=options,
        seed=P.split.seed,
        n_blocks=lambda w: P.experiments[w.experiment].shown.blocks,
        longest=lambda w: P.experiments[w.experiment].shown.longest,
    log:
        "logs/timelines/{experiment}.log",
    benchmark:
        "benchmarks/rules/timelines/{experiment}.tsv"
    message:
        "Drawing example blocks whose best order beats GCC's"
    shell:
        stage("timelines", "seed", "n_blocks", "longest")


def shown_schedule(experiment):
    shown = P.experiments[experiment].shown
    seed = P.seeds(experiment, shown.method)[0]
    return path("schedules", experiment=experiment, set=shown.set, target=shown.target, method=shown.method, seed=seed)


def shown_optima(experiment):
    shown = P.experiments[experiment].shown
    return path("optima", machine=shown.target, method=P.processors[shown.target].best, set=shown.set)


def evidence(experiment):
    return P.experiments[experiment].evidence


rule ceiling:
    input:
        **blocks_of("released"),
        src=src("ceiling"),
        blocks=path("blocks", corpus="released"),
        training=lambda w: path("sets", set=evidence(w.experiment).training),
        sets=lambda w: expand(path("sets"), set=[evidence(w.experiment).development, *P.experiments[w.experiment].sets]),
    output:
        out=path("ceiling"),
        twins_out=path("twins"),
    params:
        options=options,
        source=lambda w: P.sets[evidence(w.experiment).training].sources[0],
    log:
        "logs/ceiling/{experiment}.log",
    benchmark:
        "benchmarks/rules/ceiling/{experiment}.tsv"
    message:
        "Orders of blocks that are equal up to renaming ({wildcards.experiment})"
    shell:
        stage("ceiling", "source")


rule audit:
    input:
        **blocks_of("released"),
        src=src("audit"),
        blocks=path("blocks", corpus="released"),
        set=lambda w: path("sets", set=evidence(w.experiment).development),
    output:
        out=path("audit"),
    params:
        options=options,
        seed=P.split.seed,
        sampler=P.split.sampler,
        confidence=P.evaluation.confidence,
    log:
        "logs/audit/{experiment}.log",
    benchmark:
        "benchmarks/rules/audit/{experiment}.tsv"
    message:
        "Sorting instructions by every feature of a network alone"
    shell:
        stage("audit", "seed", "sampler", "confidence")


def leading_decoder(network):
    """The decoder by which a network is measured while it is trained, and whose orders it has a confidence in."""
    return "greedy" if network.head.kind in ("pointer", "pairwise") else "best"


rule errors:
    input:
        src=src("errors"),
        blocks=of_set("blocks"),
        encodings=of_set("encodings"),
        instructions=of_set("instructions"),
        dags=of_set("dags"),
        schedules=path("schedules", target=GCC),
        confidence=path("confidence", target=GCC),
    output:
        out=path("errors"),
        shares_out=path("error_shares"),
    params:
        options=options,
        decoder=lambda w: leading_decoder(P.network(w.experiment, w.method).settings),
        n_blocks=200,
        seed=P.split.seed,
        level=P.evaluation.confidence,
    log:
        "logs/errors/{experiment}/{set}/{method}/{seed}.log",
    benchmark:
        "benchmarks/rules/errors/{experiment}/{set}/{method}/{seed}.tsv"
    message:
        "Sorting wrong blocks of {wildcards.method} on {wildcards.set} by kind ({wildcards.experiment})"
    shell:
        stage("errors", "decoder", "n_blocks", "seed", "level")
