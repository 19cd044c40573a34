"""Experiments on computation graphs: sets -> (train) -> schedule -> judge -> evaluate."""

FROZEN_TARGETS = OnGraphs.frozen_table
EXPORTED = sorted(glob("pipeline/graph_sets/exported/*.parquet"))


def device_of(set):
    """The settings of a set's device, as JSON; null where the graphs bring their run times along."""
    name = P.graph_sets[set].device
    return "null" if name is None else section("devices", name)


def on_devices(device, devices, targets):
    """Devices, their number, and targets with the figures of the links among them."""
    links = {name: config["links"][name] for name in targets if name in P.links}
    return {"device": device, "devices": devices, "links": links, "targets": targets}


def machines_of_set(set, targets):
    chosen = P.graph_sets[set]
    return on_devices(json.loads(device_of(set)), chosen.devices, targets) | {"memory_bytes": chosen.memory_bytes}


def machines_of(experiment, set):
    """Machines that the schedules of a set are made for and judged on, as JSON."""
    return json.dumps(machines_of_set(set, P.graph_targets(P.experiments[experiment], set)), sort_keys=True)


def machines(wildcards):
    return machines_of(wildcards.experiment, wildcards.graph_set)


def graph_schedules(experiment, kind="graph_schedules", sets=None):
    """Paths of an experiment's schedules of graphs, or of other solutions by its methods, of some sets or of all."""
    chosen = P.experiments[experiment]
    return [
        path(kind, experiment=experiment, graph_set=name, method=method, seed=seed)
        for name in sets or chosen.sets
        for method in chosen.methods
        for seed in chosen.seeds_of_set(name, method, P)
    ]


def of_methods(kind):
    """Tables of the experiment's methods for the wildcards' set, as an input function."""
    return lambda w: graph_schedules(w.experiment, kind, [w.graph_set])


def networks_of(kind):
    """Networks of a kind, of all experiments on graphs, as a regular expression."""
    return named(kind, *(experiment.models for experiment in P.on_graphs.values()))


def sets_learned(wildcards):
    """Names of the sets that the wildcards' network learns from, and of the one that it is measured on."""
    return [*network_of(wildcards).training, network_of(wildcards).development]


def learning_graphs(kind):
    """The table of each set that the wildcards' network learns from, as an input function."""
    return lambda w: expand(path(kind), graph_set=network_of(w).training)


def development_graphs(kind):
    """The table of the set that the wildcards' network is measured on, as an input function."""
    return lambda w: path(kind, graph_set=network_of(w).development)


def network_weights(methods):
    """The network of a method of this section, trained by the same experiment or by the one that it names."""

    def weights(wildcards):
        network = methods[wildcards.method].network
        if network is None:
            return []
        experiment = P.trained_by(wildcards.experiment, network)
        return path("network_weights", experiment=experiment, model=network, seed=wildcards.seed)

    return weights


def of_each_set(kind):
    """A table of each of the experiment's sets of graphs, as an input function."""
    return lambda w: expand(path(kind).replace("{experiment}", w.experiment), graph_set=experiment_of(w).sets)


def tables_to_evaluate(w):
    """The tables that the task reads: of each set, or of each training."""
    chosen = experiment_of(w)
    of_sets = [file for kind in chosen.reads if kind != chosen.history for file in of_each_set(kind)(w)]
    return of_sets + (network_files(w.experiment, chosen.history) if chosen.history in chosen.reads else [])


def compared_with(key):
    """Methods that the experiment's numbers are compared with, if it names any, as a function of the wildcards."""
    return lambda w: getattr(experiment_of(w), key, [])


def drawn(kind):
    """Tables of the methods that a page draws, of each its first seed, as an input function."""
    return lambda w: [
        path(kind, experiment=w.experiment, graph_set=shown_of(w).set, method=method, seed=experiment_of(w).seeds[0])
        for method in shown_of(w).methods
    ]


rule schedule_graphs:
    input:
        src=lambda w: src("schedule_graphs", *modules("graph", P.graph_methods[w.method])),
        graphs=path("graphs"),
        strengths=FROZEN_TARGETS,
        weights=network_weights(P.graph_methods),
    output:
        graph_schedules=path("graph_schedules"),
    params:
        settings=lambda w: resolved(P.graph_methods[w.method]),
        machines=machines,
        seed="{seed}",
    log: "logs/schedule_graphs/{experiment}/{graph_set}/{method}/{seed}.log"
    benchmark: "benchmarks/rules/schedule_graphs/{experiment}/{graph_set}/{method}/{seed}.tsv"
    message: "Scheduling {wildcards.graph_set} with {wildcards.method} ({wildcards.experiment}, seed {wildcards.seed})"
    shell: stage("schedule_graphs", "settings", "machines", "seed")


rule judge_graphs:
    input:
        src=src("judge_graphs"),
        graphs=path("graphs"),
        graph_schedules=of_methods("graph_schedules"),
        strengths=FROZEN_TARGETS,
    output:
        makespans=path("makespans"),
    params:
        machines=machines,
    log: "logs/judge_graphs/{experiment}/{graph_set}.log"
    benchmark: "benchmarks/rules/judge_graphs/{experiment}/{graph_set}.tsv"
    message: "Simulating every schedule of {wildcards.graph_set} on its targets ({wildcards.experiment})"
    shell: stage("judge_graphs", "machines")


rule evaluate_graphs:
    input:
        src=lambda w: src("evaluate_graphs", f"pipeline.{experiment_of(w).task}.numbers"),
        tables=tables_to_evaluate,
        strengths=lambda w: FROZEN_TARGETS if experiment_of(w).frozen_table == FROZEN_TARGETS else [],
    output:
        results=path("results"),
        parts=path("parts"),
    wildcard_constraints: experiment=of_task(OnGraphs)
    params:
        options=options_and(peers=compared_with("peers"), experts=compared_with("experts")),
        experiment="{experiment}",
        task=lambda w: experiment_of(w).task,
        intervals=INTERVALS,
        methods=lambda w: resolved({name: experiment_of(w).sections(P)[1][name] for name in experiment_of(w).methods}),
    log: "logs/evaluate_graphs/{experiment}.log"
    benchmark: "benchmarks/rules/evaluate_graphs/{experiment}.tsv"
    message: "Numbers with intervals ({wildcards.experiment})"
    shell: stage("evaluate_graphs", "experiment", "task", "intervals", "methods")


def network_files(experiment, kind, model=None):
    """Weights or histories of every seed of an experiment's networks, or of one of them."""
    chosen = P.experiments[experiment]
    models = chosen.models if model is None else [model]
    return [path(kind, experiment=experiment, model=name, seed=seed) for name in models for seed in chosen.seeds_of(name)]


def methods_with(experiment, model):
    """Methods of an experiment on graphs that use a network."""
    return [method for method in P.experiments[experiment].methods if P.graph_methods[method].network == model]
