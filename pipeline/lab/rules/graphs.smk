"""Experiments on computation graphs: sets -> (train) -> schedule -> judge -> evaluate."""

FROZEN_TARGETS = "learned_schedulers/graphs/devices/frozen/graph_targets.csv"
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


def graph_files(wildcards):
    """Files that a set of graphs is read from."""
    sources = P.graph_sets[wildcards.graph_set].sources
    patterns = [pattern for source in sources if source.kind == "workloads" for pattern in source.include]
    exported = EXPORTED if any(source.kind == "exported" for source in sources) else []
    return unique([*exported, *(file for pattern in patterns for file in glob(pattern))])


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


def schedules_of_set(wildcards):
    return graph_schedules(wildcards.experiment, graph_set=wildcards.graph_set)


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


def training_machines(wildcards):
    """Machines of the sets that a policy learns from, and of the one that it is measured on, as a JSON list."""
    return json.dumps([machines_of_set(name, ["proxy"]) for name in sets_learned(wildcards)], sort_keys=True)


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


def drawn(kind):
    """Tables of the methods that a page draws, of each its first seed, as an input function."""
    return lambda w: [
        path(kind, experiment=w.experiment, graph_set=shown_of(w).set, method=method, seed=experiment_of(w).seeds[0])
        for method in shown_of(w).methods
    ]


rule graph_sets:
    input:
        src=src("graph_sets"),
        files=graph_files,
    output:
        graphs=path("graphs"),
        looked_at=path("graph_candidates"),
    wildcard_constraints: graph_set=named(GraphSet, P.graph_sets)
    params:
        name="{graph_set}",
        settings=lambda w: section("graph_sets", w.graph_set),
        device=lambda w: device_of(w.graph_set),
    message: "Choosing the computation graphs of {wildcards.graph_set}"
    shell: stage("graph_sets", "name", "settings", "device")


rule coarsen_graphs:
    input:
        src=src("coarsen_graphs"),
        graphs=lambda w: path("graphs", graph_set=P.graph_sets[w.graph_set].executes),
    output:
        out=path("graphs"),
    wildcard_constraints: graph_set=named(ExecutedSet, P.graph_sets)
    params:
        settings=lambda w: section("graph_sets", w.graph_set, "coarsening"),
    message: "Merging small operations: {wildcards.graph_set}"
    shell: stage("coarsen_graphs", "settings")


rule train_policy:
    input:
        src=src("train_policy"),
        training=learning_graphs("graphs"),
        development=development_graphs("graphs"),
    output:
        weights=path("network_weights"),
        history=path("policy_history"),
    wildcard_constraints: model=networks_of(Policy)
    params:
        settings=network_section,
        machines=training_machines,
        seed="{seed}",
    message: "Training {wildcards.model} ({wildcards.experiment}, seed {wildcards.seed})"
    shell: stage("train_policy", "settings", "machines", "seed")


rule schedule_graphs:
    input:
        src=lambda w: src("schedule_graphs", *P.graph_methods[w.method].modules()),
        graphs=path("graphs"),
        strengths=FROZEN_TARGETS,
        weights=network_weights(P.graph_methods),
    output:
        graph_schedules=path("graph_schedules"),
    params:
        settings=lambda w: section("graph_methods", w.method),
        machines=machines,
        seed="{seed}",
    message: "Scheduling {wildcards.graph_set} with {wildcards.method} ({wildcards.experiment}, seed {wildcards.seed})"
    shell: stage("schedule_graphs", "settings", "machines", "seed")


rule judge_graphs:
    input:
        src=src("judge_graphs"),
        graphs=path("graphs"),
        graph_schedules=schedules_of_set,
        strengths=FROZEN_TARGETS,
    output:
        makespans=path("makespans"),
    params:
        machines=machines,
    message: "Simulating every schedule of {wildcards.graph_set} on its targets ({wildcards.experiment})"
    shell: stage("judge_graphs", "machines")


rule evaluate_graphs:
    input:
        src=src("evaluate_graphs"),
        graphs=of_each_set("graphs"),
        candidates=of_each_set("graph_candidates"),
        makespans=of_each_set("makespans"),
        strengths=FROZEN_TARGETS,
    output:
        results=path("results"),
        parts=path("parts"),
    wildcard_constraints: experiment=of_task(Devices)
    params:
        experiment="{experiment}",
        intervals=INTERVALS,
    message: "Numbers with intervals ({wildcards.experiment})"
    shell: stage("evaluate_graphs", "experiment", "intervals")


rule measure_distances:
    input:
        src=src("measure_distances"),
        graphs=path("graphs"),
        graph_schedules=schedules_of_set,
    output:
        distances=path("schedule_distances"),
    params:
        machines=machines,
    message: "Measuring distances between the schedules of {wildcards.graph_set} ({wildcards.experiment})"
    shell: stage("measure_distances", "machines")


rule evaluate_policies:
    input:
        src=src("evaluate_policies"),
        distances=of_each_set("schedule_distances"),
        graphs=of_each_set("graphs"),
        candidates=of_each_set("graph_candidates"),
        makespans=of_each_set("makespans"),
        strengths=FROZEN_TARGETS,
    output:
        results=path("results"),
        parts=path("parts"),
    wildcard_constraints: experiment=of_task(Policies)
    params:
        experiment="{experiment}",
        intervals=INTERVALS,
        peers=lambda w: experiment_of(w).peers,
        methods=lambda w: section("graph_methods", only=experiment_of(w).methods),
    message: "Numbers with intervals ({wildcards.experiment})"
    shell: stage("evaluate_policies", "experiment", "intervals", "peers", "methods")


rule graph_examples:
    """Draw example schedules for the page."""
    input:
        src=src("graph_examples"),
        graphs=lambda w: path("graphs", graph_set=shown_of(w).set),
        makespans=lambda w: path("makespans", experiment=w.experiment, graph_set=shown_of(w).set),
        graph_schedules=drawn("graph_schedules"),
    output:
        gantts=path("gantts"),
        memory_curves=path("memory_curves"),
        kept_points=path("kept_points"),
    wildcard_constraints: experiment=of_task(Devices, Policies)
    params:
        machines=lambda w: machines_of(w.experiment, shown_of(w).set),
        methods=lambda w: shown_of(w).methods,
        examples=lambda w: shown_of(w).graphs,
    message: "Drawing example schedules ({wildcards.experiment})"
    shell: stage("graph_examples", "machines", "methods", "examples")


rule time_graph_schedules:
    """It executes graphs on two cores of this machine and times them; so nothing but a request runs it."""
    input:
        src=src("time_graph_schedules"),
        graphs=path("graphs"),
        graph_schedules=schedules_of_set,
    output:
        graph_timings=path("graph_timings"),
        machine_rates=path("machine_rates"),
    params:
        settings=lambda w: section("experiments", w.experiment, "execution"),
    threads: 1024  # all of them: a job beside it would be measured, too
    message: "Executing schedules of {wildcards.graph_set} on two cores ({wildcards.experiment})"
    shell: stage("time_graph_schedules", "settings")


rule simulate_executed:
    input:
        src=src("simulate_executed"),
        graphs=path("graphs"),
        graph_schedules=schedules_of_set,
        strengths=FROZEN_TARGETS,
    output:
        simulated_timings=path("simulated_timings"),
    params:
        settings=lambda w: section("experiments", w.experiment, "execution"),
        machines=machines,
    message: "Simulating what is executed of {wildcards.graph_set} ({wildcards.experiment})"
    shell: stage("simulate_executed", "settings", "machines")


rule evaluate_execution:
    input:
        src=src("evaluate_execution"),
        graphs=of_each_set("graphs"),
        graph_timings=of_each_set("graph_timings"),
        machine_rates=of_each_set("machine_rates"),
        simulated_timings=of_each_set("simulated_timings"),
    output:
        results=path("results"),
        parts=path("parts"),
        executed_points=path("executed_points"),
    wildcard_constraints: experiment=of_task(Execution)
    params:
        experiment="{experiment}",
        intervals=INTERVALS,
    message: "Numbers with intervals ({wildcards.experiment})"
    shell: stage("evaluate_execution", "experiment", "intervals")
