"""From schedules and cycles to numbers: results, and the evidence behind them."""

from pipeline.lab.page.pages import files as page_files

COMMITTED = sorted(file.parent.name for file in Path("reports/published").glob("*/provenance.json"))
EVIDENCE = "imitation_evidence"  # published beside the experiment that has a section `evidence`
SECTIONS = ("dag_verification",)  # published, though it is no experiment
PUBLISHABLE = {*P.experiments, *SECTIONS, EVIDENCE}
# Published folders are committed sources of the report; those that this command requests are made first.
REQUESTED = sorted({name for word in sys.argv for name in re.findall(r"(?:published/|publish:experiment=)(\w+)", word)} & PUBLISHABLE)
PUBLISHED = [path("published", experiment=name) for name in unique([*COMMITTED, *REQUESTED])]
INTERVALS = section("evaluation", only=["bootstrap_samples", "confidence"])


def only(tasks, files):
    """Files that only experiments of some tasks read, as an input function."""
    return lambda w: files(w) if experiment_of(w).task in tasks else []


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


def series_before(wildcards):
    """Table `timed_blocks` of the series before the wildcards' series; the first one has none."""
    before = int(wildcards.series) - 1
    return path("timed_blocks", **{**wildcards, "series": before}) if before else []


rule time_orders:
    """It runs machine code of the corpus and times it on this machine; so nothing but a request runs it."""
    input:
        src=src("time_orders"),
        set=path("sets"),
        blocks=of_set("blocks"),
        dags=of_set("dags"),
        schedules=lambda w: schedules(w.experiment, set=[w.set], target=experiment_of(w).targets),
        earlier=series_before,
    output:
        timings=path("timings"),
        timed_blocks=path("timed_blocks"),
    params:
        settings=lambda w: section("experiments", w.experiment, "timing"),
    threads: 1024  # all of them: a job beside it would be measured, too
    message: "Timing orders of {wildcards.set} on this processor, series {wildcards.series}"
    shell: stage("time_orders", "settings")


def timed(kind):
    """Tables of all series of an experiment on hardware, as an input function."""
    series = lambda w: range(1, experiment_of(w).timing.series + 1)
    return lambda w: expand(path(kind, experiment=w.experiment), set=experiment_of(w).sets, series=series(w))


rule evaluate:
    input:
        src=lambda w: src("evaluate", f"pipeline.{experiment_of(w).task}.numbers"),
        sets=lambda w: expand(path("sets"), set=experiment_of(w).sets),
        dags=per_set("dags"),
        blocks=only(["imitation", "hardware"], per_set("blocks")),
        splits=only(["reproduction"], lambda w: expand(path("splits"), dependencies=experiment_of(w).dependencies)),
        schedules=lambda w: schedules(w.experiment),
        confidence=only(["imitation"], lambda w: schedules(w.experiment, "confidence")),
        latency=only(["reproduction", "processors", "hardware"], judged),
        optima=only(["processors"], proofs),
        timings=only(["hardware"], timed("timings")),
        timed_blocks=only(["hardware"], timed("timed_blocks")),
        instructions=only(["hardware"], per_set("instructions")),
        machine_instructions=only(
            ["hardware"], lambda w: expand(path("machine_instructions", corpus="released"), machine=experiment_of(w).judges)
        ),
    output:
        results=path("results"),
        parts=path("parts"),
        outcomes=path("outcomes"),
    wildcard_constraints: experiment=of_task(Reproduction, Imitation, Processors, Hardware)
    params:
        experiment="{experiment}",
        task=lambda w: experiment_of(w).task,
        intervals=INTERVALS,
        judges=lambda w: json.dumps({name: P.judges[name].model_dump() for name in experiment_of(w).judges}),
        dependencies=lambda w: json.dumps({name: P.sets[name].dependencies for name in experiment_of(w).sets}),
    message: "Numbers with intervals ({wildcards.experiment})"
    shell: stage("evaluate", "experiment", "task", "intervals", "judges", "dependencies")


rule sweep:
    input:
        src=src("sweep", *P.methods["popocs_20"].modules()),
        set=lambda w: set_with(w),
        dags=path("dags", corpus="released"),
        instructions=path("instructions", corpus="released"),
        tokens=path("tokens"),
        vocabulary=path("vocabulary"),
        weights=path("weights", model="popocs"),
    output:
        sweep=path("sweep"),
    params:
        settings=section("evaluation", "sweep_iterations"),
        seed="{seed}",
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
        src=src("examples", *P.methods["popocs_20"].modules()),
        blocks=path("blocks", corpus="released"),
        set=lambda w: set_with(w),
        dags=path("dags", corpus="released"),
        instructions=path("instructions", corpus="released"),
        tokens=path("tokens"),
        vocabulary=path("vocabulary"),
        sinkhorn=first_weights("sinkhorn"),
        popocs=first_weights("popocs"),
    output:
        examples=path("examples"),
    params:
        n_blocks=P.evaluation.example_blocks,
    message: "Example blocks with their matrices before and after projection"
    shell: stage("examples", "n_blocks")


def shown_schedule(wildcards):
    """Schedules of the method that the page draws, by its first seed."""
    shown, seed = shown_of(wildcards), P.seeds(wildcards.experiment, shown_of(wildcards).method)[0]
    names = dict(set=shown.set, target=shown.target, method=shown.method, seed=seed)
    return path("schedules", experiment=wildcards.experiment, **names)


rule timelines:
    """Draw example blocks whose best order beats GCC's, side by side."""
    input:
        src=src("timelines"),
        set=lambda w: path("sets", set=shown_of(w).set),
        blocks=path("blocks", corpus="released"),
        instructions=path("instructions", corpus="released"),
        dags=path("dags", corpus="released", dependencies="full"),
        machine=lambda w: path("machine_instructions", corpus="released", machine=shown_of(w).target),
        learned=shown_schedule,
        optima=lambda w: path("optima", machine=shown_of(w).target, method=P.processors[shown_of(w).target].best, set=shown_of(w).set),
    output:
        timelines=path("timelines"),
    params:
        seed=P.split.seed,
        n_blocks=lambda w: shown_of(w).blocks,
        longest=lambda w: shown_of(w).longest,
    message: "Drawing example blocks whose best order beats GCC's"
    shell: stage("timelines", "seed", "n_blocks", "longest")


def evidence(experiment):
    """Which training, sets and seed the evidence on an imitator is of."""
    return P.experiments[experiment].evidence


rule ceiling:
    input:
        **blocks_of("released"),
        src=src("ceiling"),
        blocks=path("blocks", corpus="released"),
        training=lambda w: path("sets", set=evidence(w.experiment).training),
        sets=lambda w: expand(path("sets"), set=[evidence(w.experiment).development, *experiment_of(w).sets]),
    output:
        out=path("ceiling"),
        twins_out=path("twins"),
    params:
        source=lambda w: P.sets[evidence(w.experiment).training].sources[0],
    message: "Orders of blocks that are equal up to renaming ({wildcards.experiment})"
    shell: stage("ceiling", "source")


rule audit:
    input:
        **blocks_of("released"),
        src=src("audit"),
        blocks=path("blocks", corpus="released"),
        set=lambda w: path("sets", set=evidence(w.experiment).development),
    output:
        out=path("audit"),
    params:
        seed=P.split.seed,
        sampler=P.split.sampler,
        confidence=P.evaluation.confidence,
    message: "Sorting instructions by every feature of a network alone"
    shell: stage("audit", "seed", "sampler", "confidence")


def leading_decoder(network):
    """The decoder that measures a network during its training; the network's confidence is in its orders."""
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
        decoder=lambda w: leading_decoder(P.network(w.experiment, w.method).settings),
        n_blocks=200,
        seed=P.split.seed,
        level=P.evaluation.confidence,
    message: "Sorting wrong blocks of {wildcards.method} on {wildcards.set} by kind ({wildcards.experiment})"
    shell: stage("errors", "decoder", "n_blocks", "seed", "level")
