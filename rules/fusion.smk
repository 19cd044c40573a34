"""The road of experiments that fuse the operations of graphs: graphs -> (train) -> fuse -> judge -> evaluate."""


def fusion_sets():
    """Sets of graphs that are fused, as a regular expression."""
    return "|".join(P.fusion_sets) or "none"


def fusion_machines(wildcards):
    """What the plans of an experiment are made for and judged on, as JSON."""
    chosen = P.experiments[wildcards.experiment]
    device = None if chosen.machine == THIS_MACHINE else config["devices"][chosen.machine]
    links = {name: config["links"][name] for name in chosen.targets if name in P.links}
    return json.dumps({"device": device, "devices": chosen.devices, "links": links, "targets": chosen.targets}, sort_keys=True)


def fusion_weights(wildcards):
    """The trained network of a method, by the same experiment or by the one that it names."""
    network = P.fusion_methods[wildcards.method].network
    if network is None:
        return []
    return path("network_weights", experiment=P.trained_by(wildcards.experiment, network), model=network, seed=wildcards.seed)


def fusion_plans(wildcards):
    """Paths of an experiment's plans of one set."""
    chosen = P.experiments[wildcards.experiment]
    return [
        path("fusion_plans", experiment=wildcards.experiment, graph_set=wildcards.graph_set, method=method, seed=seed)
        for method in chosen.methods
        for seed in P.fusion_seeds(chosen, method)
    ]


rule fusion_graphs:
    input:
        src=src("fusion_graphs"),
        files=EXPORTED,
    output:
        graphs=path("graphs"),
    wildcard_constraints:
        graph_set=fusion_sets(),
    params:
        options=options,
        name="{graph_set}",
        settings=lambda w: section("fusion_sets", w.graph_set),
    log:
        "logs/fusion_graphs/{graph_set}.log",
    benchmark:
        "benchmarks/rules/fusion_graphs/{graph_set}.tsv"
    message:
        "Reading the graphs of {wildcards.graph_set}"
    shell:
        stage("fusion_graphs", "name", "settings")


rule train_fusing:
    input:
        src=src("train_fusing"),
        training=lambda w: expand(path("graphs"), graph_set=P.experiments[w.experiment].models[w.model].training),
        development=lambda w: path("graphs", graph_set=P.experiments[w.experiment].models[w.model].development),
    output:
        weights=path("network_weights"),
        history=path("whole_graph_history"),
    wildcard_constraints:
        model=networks_of(FusionNetwork),
    params:
        options=options,
        settings=lambda w: section("experiments", w.experiment, "models", w.model),
        seed="{seed}",
    log:
        "logs/train_fusing/{experiment}/{model}/{seed}.log",
    benchmark:
        "benchmarks/rules/train_fusing/{experiment}/{model}/{seed}.tsv"
    priority: 10
    message:
        "Training {wildcards.model} ({wildcards.experiment}, seed {wildcards.seed})"
    shell:
        stage("train_fusing", "settings", "seed")


rule fuse_graphs:
    input:
        src=src("fuse_graphs"),
        graphs=path("graphs"),
        weights=fusion_weights,
    output:
        fusion_plans=path("fusion_plans"),
    params:
        options=options,
        settings=lambda w: section("fusion_methods", w.method),
        machines=fusion_machines,
        seed="{seed}",
    log:
        "logs/fuse_graphs/{experiment}/{graph_set}/{method}/{seed}.log",
    benchmark:
        "benchmarks/rules/fuse_graphs/{experiment}/{graph_set}/{method}/{seed}.tsv"
    message:
        "Fusing the graphs of {wildcards.graph_set} with {wildcards.method} ({wildcards.experiment}, seed {wildcards.seed})"
    shell:
        stage("fuse_graphs", "settings", "machines", "seed")


rule judge_fusions:
    input:
        src=src("judge_fusions"),
        graphs=path("graphs"),
        fusion_plans=fusion_plans,
    output:
        fusion_costs=path("fusion_costs"),
    wildcard_constraints:
        graph_set=fusion_sets(),
    params:
        options=options,
        machines=fusion_machines,
    log:
        "logs/judge_fusions/{experiment}/{graph_set}.log",
    benchmark:
        "benchmarks/rules/judge_fusions/{experiment}/{graph_set}.tsv"
    message:
        "Costing every plan of {wildcards.graph_set} ({wildcards.experiment})"
    shell:
        stage("judge_fusions", "machines")


rule evaluate_fusion:
    input:
        src=src("evaluate_fusion"),
        fusion_costs=lambda w: expand(path("fusion_costs", experiment=w.experiment), graph_set=P.experiments[w.experiment].sets),
    output:
        results=path("results"),
        parts=path("parts"),
    wildcard_constraints:
        experiment=of_task(Fusion),
    params:
        options=lambda wildcards, input, output: " ".join([
            options(wildcards, input, output),
            flags([("peers", P.experiments[wildcards.experiment].peers)]),
        ]),
        experiment="{experiment}",
        intervals=INTERVALS,
    log:
        "logs/evaluate_fusion/{experiment}.log",
    benchmark:
        "benchmarks/rules/evaluate_fusion/{experiment}.tsv"
    message:
        "Numbers with intervals ({wildcards.experiment})"
    shell:
        stage("evaluate_fusion", "experiment", "intervals")


rule fusion_examples:
    """Plans of fusion that the page draws."""
    input:
        src=src("fusion_examples"),
        graphs=lambda w: path("graphs", graph_set=P.experiments[w.experiment].shown.set),
        fusion_plans=lambda w: [
            path("fusion_plans", experiment=w.experiment, graph_set=shown.set, method=method, seed=P.experiments[w.experiment].seeds[0])
            for shown in [P.experiments[w.experiment].shown]
            for method in shown.methods
        ],
    output:
        fused_operations=path("fused_operations"),
    wildcard_constraints:
        experiment=of_task(Fusion),
    params:
        options=options,
        settings=lambda w: section("experiments", w.experiment, "shown"),
    log:
        "logs/fusion_examples/{experiment}.log",
    benchmark:
        "benchmarks/rules/fusion_examples/{experiment}.tsv"
    message:
        "Drawing plans of fusion ({wildcards.experiment})"
    shell:
        stage("fusion_examples", "settings")
