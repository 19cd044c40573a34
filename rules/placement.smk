"""The road of experiments that place whole graphs: graphs -> (train) -> place -> judge -> evaluate."""

EXPERT_PLACEMENTS = "pipeline/graphs/devices/frozen/expert_placements.parquet"


def placed_sets():
    """Sets of whole graphs, as a regular expression."""
    return "|".join(P.placement_sets) or "none"


def device_of_placed(set):
    return section("devices", P.placement_sets[set].device)


def devices_of_training(wildcards):
    """Device of each set that the wildcards' network learns from, and of the one that it is measured on, as JSON."""
    model = P.experiments[wildcards.experiment].models[wildcards.model]
    return [device_of_placed(name) for name in [*model.training, model.development]]


def placement_machines(experiment, set):
    """What the graphs of a set are placed on, as JSON; graphs that are executed bring their run times along."""
    chosen = P.experiments[experiment]
    if isinstance(chosen, Execution):
        device, devices, told = None, P.graph_sets[set].devices, [chosen.places]
    else:
        device, devices, told = json.loads(device_of_placed(set)), chosen.devices, chosen.targets
    links = {name: config["links"][name] for name in told}
    return json.dumps({"device": device, "devices": devices, "links": links, "targets": told}, sort_keys=True)


def placing():
    """Experiments that execute placed schedules, as a regular expression."""
    return "|".join(name for name, chosen in P.experiments.items() if isinstance(chosen, Execution) and chosen.places) or "none"


def experts_of(wildcards):
    """Experts' placements of a set: frozen ones, or those that a rule makes."""
    return EXPERT_PLACEMENTS if wildcards.graph_set in P.placement_sets else path("expert_placements", graph_set=wildcards.graph_set)


def placements(experiment, **only):
    """Paths of an experiment's placements, of one set and some methods, or of all."""
    chosen = P.experiments[experiment]
    return [
        path("placements", experiment=experiment, graph_set=name, method=method, seed=seed)
        for name in chosen.sets
        if only.get("graph_set", name) == name
        for method in only.get("methods", chosen.methods)
        for seed in P.placement_seeds(chosen, name, method)
    ]


rule placed_graphs:
    input:
        src=src("placed_graphs"),
        files=EXPORTED,
    output:
        graphs=path("graphs"),
    wildcard_constraints:
        graph_set=placed_sets(),
    params:
        options=options,
        name="{graph_set}",
        settings=lambda w: section("placement_sets", w.graph_set),
    log:
        "logs/placed_graphs/{graph_set}.log",
    benchmark:
        "benchmarks/rules/placed_graphs/{graph_set}.tsv"
    message:
        "Reading the whole graphs of {wildcards.graph_set}"
    shell:
        stage("placed_graphs", "name", "settings")


rule train_whole_graph:
    input:
        src=src("train_whole_graph"),
        training=lambda w: expand(path("graphs"), graph_set=P.experiments[w.experiment].models[w.model].training),
        development=lambda w: path("graphs", graph_set=P.experiments[w.experiment].models[w.model].development),
    output:
        weights=path("network_weights"),
        history=path("whole_graph_history"),
    wildcard_constraints:
        model=networks_of(Generalised),
    params:
        options=lambda wildcards, input, output: " ".join([
            options(wildcards, input, output),
            flags([("device", devices_of_training(wildcards))]),
        ]),
        settings=lambda w: section("experiments", w.experiment, "models", w.model),
        links=lambda w: section("links", only=P.experiments[w.experiment].models[w.model].links),
        seed="{seed}",
    log:
        "logs/train_whole_graph/{experiment}/{model}/{seed}.log",
    benchmark:
        "benchmarks/rules/train_whole_graph/{experiment}/{model}/{seed}.tsv"
    priority: 10
    message:
        "Training {wildcards.model} ({wildcards.experiment}, seed {wildcards.seed})"
    shell:
        stage("train_whole_graph", "settings", "links", "seed")


rule place_graphs:
    input:
        src=lambda w: src("place_graphs", *P.graph_methods[w.method].modules()),
        graphs=path("graphs"),
        experts=experts_of,
        weights=network_weights,
    output:
        placements=path("placements"),
    params:
        options=options,
        settings=lambda w: section("graph_methods", w.method),
        machines=lambda w: placement_machines(w.experiment, w.graph_set),
        seed="{seed}",
    log:
        "logs/place_graphs/{experiment}/{graph_set}/{method}/{seed}.log",
    benchmark:
        "benchmarks/rules/place_graphs/{experiment}/{graph_set}/{method}/{seed}.tsv"
    message:
        "Placing the graphs of {wildcards.graph_set} with {wildcards.method} ({wildcards.experiment}, seed {wildcards.seed})"
    shell:
        stage("place_graphs", "settings", "machines", "seed")


rule expert_placements:
    input:
        src=src("expert_placements"),
        graphs=path("graphs"),
    output:
        expert_placements=path("expert_placements"),
    wildcard_constraints:
        graph_set=sets_of(ExecutedSet),
    params:
        options=options,
        devices=lambda w: P.graph_sets[w.graph_set].devices,
    log:
        "logs/expert_placements/{graph_set}.log",
    benchmark:
        "benchmarks/rules/expert_placements/{graph_set}.tsv"
    message:
        "Experts' placements of {wildcards.graph_set}"
    shell:
        stage("expert_placements", "devices")


rule placed_schedules:
    """Placed schedules that are executed on this machine."""
    input:
        src=src("placed_schedules"),
        placements=path("placements"),
    output:
        graph_schedules=path("graph_schedules"),
    wildcard_constraints:
        experiment=placing(),
    params:
        options=options,
    log:
        "logs/placed_schedules/{experiment}/{graph_set}/{method}/{seed}.log",
    benchmark:
        "benchmarks/rules/placed_schedules/{experiment}/{graph_set}/{method}/{seed}.tsv"
    message:
        "Schedules of {wildcards.method} that are executed ({wildcards.experiment}, seed {wildcards.seed})"
    shell:
        stage("placed_schedules")


ruleorder: placed_schedules > schedule_graphs


rule judge_placements:
    input:
        src=src("judge_placements"),
        graphs=path("graphs"),
        placements=lambda w: placements(w.experiment, graph_set=w.graph_set),
    output:
        placement_costs=path("placement_costs"),
    wildcard_constraints:
        graph_set=placed_sets(),
    params:
        options=options,
        machines=lambda w: placement_machines(w.experiment, w.graph_set),
    log:
        "logs/judge_placements/{experiment}/{graph_set}.log",
    benchmark:
        "benchmarks/rules/judge_placements/{experiment}/{graph_set}.tsv"
    message:
        "Simulating every placement of {wildcards.graph_set} ({wildcards.experiment})"
    shell:
        stage("judge_placements", "machines")


rule evaluate_placement:
    input:
        src=src("evaluate_placement"),
        placement_costs=lambda w: expand(path("placement_costs", experiment=w.experiment), graph_set=P.experiments[w.experiment].sets),
    output:
        results=path("results"),
        parts=path("parts"),
    wildcard_constraints:
        experiment=of_task(Placement),
    params:
        options=lambda wildcards, input, output: " ".join([
            options(wildcards, input, output),
            flags((name, getattr(P.experiments[wildcards.experiment], name)) for name in ("peers", "experts")),
        ]),
        experiment="{experiment}",
        intervals=INTERVALS,
    log:
        "logs/evaluate_placement/{experiment}.log",
    benchmark:
        "benchmarks/rules/evaluate_placement/{experiment}.tsv"
    message:
        "Numbers with intervals ({wildcards.experiment})"
    shell:
        stage("evaluate_placement", "experiment", "intervals")


rule placement_examples:
    """Placed schedules that the page draws."""
    input:
        src=src("placement_examples"),
        graphs=lambda w: path("graphs", graph_set=P.experiments[w.experiment].shown.set),
        placements=lambda w: [
            path("placements", experiment=w.experiment, graph_set=shown.set, method=method, seed=P.experiments[w.experiment].seeds[0])
            for shown in [P.experiments[w.experiment].shown]
            for method in shown.methods
        ],
    output:
        placed_operations=path("placed_operations"),
        memory_curves=path("memory_curves"),
    wildcard_constraints:
        experiment=of_task(Placement),
    params:
        options=options,
        settings=lambda w: section("experiments", w.experiment, "shown"),
        machines=lambda w: placement_machines(w.experiment, P.experiments[w.experiment].shown.set),
    log:
        "logs/placement_examples/{experiment}.log",
    benchmark:
        "benchmarks/rules/placement_examples/{experiment}.tsv"
    message:
        "Drawing placed schedules ({wildcards.experiment})"
    shell:
        stage("placement_examples", "settings", "machines")
