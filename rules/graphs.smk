"""The road of every experiment on computation graphs: sets -> schedule -> judge -> evaluate."""

FROZEN_TARGETS = "pipeline/graphs/devices/frozen/graph_targets.csv"
EXPORTED = sorted(glob("pipeline/graphs/corpus/exported/*.parquet"))


def device_of(set):
    """The settings of the set's device, as JSON; null without one."""
    name = P.graph_sets[set].device
    return "null" if name is None else section("devices", name)


def machines(wildcards):
    """What the schedules of the wildcards' set are made for and judged on, as JSON."""
    return machines_of(wildcards.experiment, wildcards.graph_set)


def machines_of(experiment, set):
    chosen = P.graph_sets[set]
    targets = P.graph_targets(P.experiments[experiment], set)
    links = {name: config["links"][name] for name in targets if name in P.links}
    said = {"device": json.loads(device_of(set)), "devices": chosen.devices, "memory_bytes": chosen.memory_bytes, "links": links, "targets": targets}
    return json.dumps(said, sort_keys=True)


def sets_of(kind):
    """Sets of graphs of a kind, as a regular expression."""
    return "|".join(name for name, chosen in P.graph_sets.items() if isinstance(chosen, kind)) or "none"


def graph_files(wildcards):
    """Files that a set of graphs is read from."""
    sources = P.graph_sets[wildcards.graph_set].sources
    own = [file for source in sources if source.kind == "workloads" for pattern in source.include for file in glob(pattern)]
    return unique(own + [file for source in sources if source.kind == "exported" for file in EXPORTED])


def graph_schedules(experiment, **only):
    """Paths of an experiment's schedules of graphs, of one set or of all."""
    chosen = P.experiments[experiment]
    return [
        path("graph_schedules", experiment=experiment, graph_set=name, method=method, seed=seed)
        for name in chosen.sets
        if only.get("graph_set", name) == name
        for method in chosen.methods
        for seed in (chosen.seeds if P.graph_methods[method].draws else chosen.seeds[:1])
    ]


def networks_of(kind):
    """Networks of a kind, of all experiments on graphs, as a regular expression."""
    chosen = [experiment for experiment in P.experiments.values() if isinstance(experiment, OnGraphs)]
    return "|".join(unique(name for experiment in chosen for name, model in experiment.models.items() if isinstance(model, kind))) or "none"


def training_machines(wildcards):
    """Devices of the sets that a policy learns from, and of the one that it is measured on, as JSON."""
    model = P.experiments[wildcards.experiment].models[wildcards.model]
    sets = [(name, P.graph_sets[name]) for name in [*model.training, model.development]]
    said = [{"device": json.loads(device_of(name)), "devices": chosen.devices, "memory_bytes": chosen.memory_bytes, "links": {}, "targets": ["proxy"]} for name, chosen in sets]
    return json.dumps(said, sort_keys=True)


def network_weights(wildcards):
    """The trained network of a method, by the same experiment or by the one that it names."""
    network = P.graph_methods[wildcards.method].network
    if network is None:
        return []
    experiment = P.trained_by(wildcards.experiment, network)
    return path("network_weights", experiment=experiment, model=network, seed=wildcards.seed)


rule graph_sets:
    input:
        src=src("graph_sets"),
        files=graph_files,
    output:
        graphs=path("graphs"),
        looked_at=path("graph_candidates"),
    wildcard_constraints:
        graph_set=sets_of(GraphSet),
    params:
        options=options,
        name="{graph_set}",
        settings=lambda w: section("graph_sets", w.graph_set),
        device=lambda w: device_of(w.graph_set),
    log:
        "logs/graph_sets/{graph_set}.log",
    benchmark:
        "benchmarks/rules/graph_sets/{graph_set}.tsv"
    message:
        "Choosing the computation graphs of {wildcards.graph_set}"
    shell:
        stage("graph_sets", "name", "settings", "device")


rule coarsen_graphs:
    input:
        src=src("coarsen_graphs"),
        graphs=lambda w: path("graphs", graph_set=P.graph_sets[w.graph_set].executes),
    output:
        out=path("graphs"),
    wildcard_constraints:
        graph_set=sets_of(ExecutedSet),
    params:
        options=options,
        settings=lambda w: section("graph_sets", w.graph_set, "coarsening"),
    log:
        "logs/coarsen_graphs/{graph_set}.log",
    benchmark:
        "benchmarks/rules/coarsen_graphs/{graph_set}.tsv"
    message:
        "Merging small operations: {wildcards.graph_set}"
    shell:
        stage("coarsen_graphs", "settings")


rule job_examples:
    input:
        src=src("job_examples"),
        graphs=path("graphs"),
    output:
        job_examples=path("job_examples"),
    params:
        options=options,
        settings=section("job_examples"),
        device=lambda w: device_of(w.graph_set),
        devices=lambda w: P.graph_sets[w.graph_set].devices,
    log:
        "logs/job_examples/{graph_set}.log",
    benchmark:
        "benchmarks/rules/job_examples/{graph_set}.tsv"
    message:
        "Best known orders of the small graphs of {wildcards.graph_set}"
    shell:
        stage("job_examples", "settings", "device", "devices")


rule train_slot_network:
    input:
        src=src("train_slot_network"),
        training=lambda w: expand(path("job_examples"), graph_set=P.experiments[w.experiment].models[w.model].training),
        development=lambda w: path("job_examples", graph_set=P.experiments[w.experiment].models[w.model].development),
    output:
        weights=path("network_weights"),
        history=path("slot_history"),
    wildcard_constraints:
        model=networks_of(SlotNetwork),
    params:
        options=options,
        settings=lambda w: section("experiments", w.experiment, "models", w.model),
        seed="{seed}",
    log:
        "logs/train_slot_network/{experiment}/{model}/{seed}.log",
    benchmark:
        "benchmarks/rules/train_slot_network/{experiment}/{model}/{seed}.tsv"
    message:
        "Training {wildcards.model} ({wildcards.experiment}, seed {wildcards.seed})"
    shell:
        stage("train_slot_network", "settings", "seed")


rule train_policy:
    input:
        src=src("train_policy"),
        training=lambda w: expand(path("graphs"), graph_set=P.experiments[w.experiment].models[w.model].training),
        development=lambda w: path("graphs", graph_set=P.experiments[w.experiment].models[w.model].development),
    output:
        weights=path("network_weights"),
        history=path("policy_history"),
    wildcard_constraints:
        model=networks_of(Policy),
    params:
        options=options,
        settings=lambda w: section("experiments", w.experiment, "models", w.model),
        machines=training_machines,
        seed="{seed}",
    log:
        "logs/train_policy/{experiment}/{model}/{seed}.log",
    benchmark:
        "benchmarks/rules/train_policy/{experiment}/{model}/{seed}.tsv"
    message:
        "Training {wildcards.model} ({wildcards.experiment}, seed {wildcards.seed})"
    shell:
        stage("train_policy", "settings", "machines", "seed")


rule schedule_graphs:
    input:
        src=lambda w: src("schedule_graphs", *P.graph_methods[w.method].modules()),
        graphs=path("graphs"),
        strengths=FROZEN_TARGETS,
        weights=network_weights,
    output:
        graph_schedules=path("graph_schedules"),
    params:
        options=options,
        settings=lambda w: section("graph_methods", w.method),
        machines=machines,
        seed="{seed}",
    log:
        "logs/schedule_graphs/{experiment}/{graph_set}/{method}/{seed}.log",
    benchmark:
        "benchmarks/rules/schedule_graphs/{experiment}/{graph_set}/{method}/{seed}.tsv"
    message:
        "Scheduling the graphs of {wildcards.graph_set} with {wildcards.method} ({wildcards.experiment}, seed {wildcards.seed})"
    shell:
        stage("schedule_graphs", "settings", "machines", "seed")


rule judge_graphs:
    input:
        src=src("judge_graphs"),
        graphs=path("graphs"),
        graph_schedules=lambda w: graph_schedules(w.experiment, graph_set=w.graph_set),
        strengths=FROZEN_TARGETS,
    output:
        makespans=path("makespans"),
    params:
        options=options,
        machines=machines,
    log:
        "logs/judge_graphs/{experiment}/{graph_set}.log",
    benchmark:
        "benchmarks/rules/judge_graphs/{experiment}/{graph_set}.tsv"
    message:
        "Simulating every schedule of {wildcards.graph_set} on its targets ({wildcards.experiment})"
    shell:
        stage("judge_graphs", "machines")


rule evaluate_graphs:
    input:
        src=src("evaluate_graphs"),
        graphs=lambda w: expand(path("graphs"), graph_set=P.experiments[w.experiment].sets),
        candidates=lambda w: expand(path("graph_candidates"), graph_set=P.experiments[w.experiment].sets),
        makespans=lambda w: expand(path("makespans", experiment=w.experiment), graph_set=P.experiments[w.experiment].sets),
        strengths=FROZEN_TARGETS,
    output:
        results=path("results"),
        parts=path("parts"),
    wildcard_constraints:
        experiment=of_task(Devices),
    params:
        options=options,
        experiment="{experiment}",
        intervals=INTERVALS,
    log:
        "logs/evaluate_graphs/{experiment}.log",
    benchmark:
        "benchmarks/rules/evaluate_graphs/{experiment}.tsv"
    message:
        "Numbers with intervals ({wildcards.experiment})"
    shell:
        stage("evaluate_graphs", "experiment", "intervals")


rule measure_distances:
    input:
        src=src("measure_distances"),
        graphs=path("graphs"),
        graph_schedules=lambda w: graph_schedules(w.experiment, graph_set=w.graph_set),
    output:
        distances=path("schedule_distances"),
    params:
        options=options,
        machines=machines,
    log:
        "logs/measure_distances/{experiment}/{graph_set}.log",
    benchmark:
        "benchmarks/rules/measure_distances/{experiment}/{graph_set}.tsv"
    message:
        "How far apart the schedules of {wildcards.graph_set} are ({wildcards.experiment})"
    shell:
        stage("measure_distances", "machines")


rule evaluate_policies:
    input:
        src=src("evaluate_policies"),
        distances=lambda w: expand(path("schedule_distances", experiment=w.experiment), graph_set=P.experiments[w.experiment].sets),
        graphs=lambda w: expand(path("graphs"), graph_set=P.experiments[w.experiment].sets),
        candidates=lambda w: expand(path("graph_candidates"), graph_set=P.experiments[w.experiment].sets),
        makespans=lambda w: expand(path("makespans", experiment=w.experiment), graph_set=P.experiments[w.experiment].sets),
        strengths=FROZEN_TARGETS,
    output:
        results=path("results"),
        parts=path("parts"),
    wildcard_constraints:
        experiment=of_task(Policies),
    params:
        options=options,
        experiment="{experiment}",
        intervals=INTERVALS,
        peers=lambda w: P.experiments[w.experiment].peers,
        methods=lambda w: json.dumps({name: config["graph_methods"][name] for name in P.experiments[w.experiment].methods}, sort_keys=True),
    log:
        "logs/evaluate_policies/{experiment}.log",
    benchmark:
        "benchmarks/rules/evaluate_policies/{experiment}.tsv"
    message:
        "Numbers with intervals ({wildcards.experiment})"
    shell:
        stage("evaluate_policies", "experiment", "intervals", "peers", "methods")


def shown_graphs(wildcards):
    return P.experiments[wildcards.experiment].shown


rule graph_examples:
    """Schedules that the page draws."""
    input:
        src=src("graph_examples"),
        graphs=lambda w: path("graphs", graph_set=shown_graphs(w).set),
        makespans=lambda w: path("makespans", experiment=w.experiment, graph_set=shown_graphs(w).set),
        graph_schedules=lambda w: [
            path("graph_schedules", experiment=w.experiment, graph_set=shown_graphs(w).set, method=method, seed=P.experiments[w.experiment].seeds[0])
            for method in shown_graphs(w).methods
        ],
    output:
        gantts=path("gantts"),
        memory_curves=path("memory_curves"),
        kept_points=path("kept_points"),
    wildcard_constraints:
        experiment=of_task(Devices, Policies),
    params:
        options=options,
        machines=lambda w: machines_of(w.experiment, shown_graphs(w).set),
        methods=lambda w: shown_graphs(w).methods,
        examples=lambda w: shown_graphs(w).graphs,
    log:
        "logs/graph_examples/{experiment}.log",
    benchmark:
        "benchmarks/rules/graph_examples/{experiment}.tsv"
    message:
        "Drawing example schedules ({wildcards.experiment})"
    shell:
        stage("graph_examples", "machines", "methods", "examples")


rule time_graph_schedules:
    """Executes graphs on two cores of this machine, and times them; so only when asked for."""
    input:
        src=src("time_graph_schedules"),
        graphs=path("graphs"),
        graph_schedules=lambda w: graph_schedules(w.experiment, graph_set=w.graph_set),
    output:
        graph_timings=path("graph_timings"),
        machine_rates=path("machine_rates"),
    params:
        options=options,
        settings=lambda w: section("experiments", w.experiment, "execution"),
    threads: 1024  # all there are: whatever runs beside it is measured, too
    log:
        "logs/time_graph_schedules/{experiment}/{graph_set}.log",
    benchmark:
        "benchmarks/rules/time_graph_schedules/{experiment}/{graph_set}.tsv"
    message:
        "Executing schedules of {wildcards.graph_set} on two cores ({wildcards.experiment})"
    shell:
        stage("time_graph_schedules", "settings")


rule simulate_executed:
    input:
        src=src("simulate_executed"),
        graphs=path("graphs"),
        graph_schedules=lambda w: graph_schedules(w.experiment, graph_set=w.graph_set),
        strengths=FROZEN_TARGETS,
    output:
        simulated_timings=path("simulated_timings"),
    params:
        options=options,
        settings=lambda w: section("experiments", w.experiment, "execution"),
        machines=machines,
    log:
        "logs/simulate_executed/{experiment}/{graph_set}.log",
    benchmark:
        "benchmarks/rules/simulate_executed/{experiment}/{graph_set}.tsv"
    message:
        "Simulating what is executed of {wildcards.graph_set} ({wildcards.experiment})"
    shell:
        stage("simulate_executed", "settings", "machines")


def executed(kind):
    """A table of each of the experiment's sets."""
    return lambda w: expand(path(kind, experiment=w.experiment), graph_set=P.experiments[w.experiment].sets)


rule evaluate_execution:
    input:
        src=src("evaluate_execution"),
        graphs=lambda w: expand(path("graphs"), graph_set=P.experiments[w.experiment].sets),
        graph_timings=executed("graph_timings"),
        machine_rates=executed("machine_rates"),
        simulated_timings=executed("simulated_timings"),
    output:
        results=path("results"),
        parts=path("parts"),
        executed_points=path("executed_points"),
    wildcard_constraints:
        experiment=of_task(Execution),
    params:
        options=options,
        experiment="{experiment}",
        intervals=INTERVALS,
    log:
        "logs/evaluate_execution/{experiment}.log",
    benchmark:
        "benchmarks/rules/evaluate_execution/{experiment}.tsv"
    message:
        "Numbers with intervals ({wildcards.experiment})"
    shell:
        stage("evaluate_execution", "experiment", "intervals")
