"""Experiments that fuse the operations of graphs: graphs -> (train) -> fuse -> judge -> evaluate."""

from learned_schedulers.graphs.models.fusing.settings import FusionNetwork
from pipeline.fusion.settings import THIS_MACHINE, Fusion


FUSION_SETS = named(object, P.fusion_sets)


def fusion_machines(wildcards):
    """Machines that the plans of an experiment are made for and judged on, as JSON."""
    chosen = experiment_of(wildcards)
    device = None if chosen.machine == THIS_MACHINE else config["devices"][chosen.machine]
    return json.dumps(on_devices(device, chosen.devices, chosen.targets), sort_keys=True)


rule train_fusing:
    input:
        src=src("train_fusing"),
        training=learning_graphs("graphs"),
        development=development_graphs("graphs"),
    output:
        weights=path("network_weights"),
        history=path("whole_graph_history"),
    wildcard_constraints: model=networks_of(FusionNetwork)
    params:
        settings=network_section,
        seed="{seed}",
    priority: 10
    log: "logs/train_fusing/{experiment}/{model}/{seed}.log"
    benchmark: "benchmarks/rules/train_fusing/{experiment}/{model}/{seed}.tsv"
    message: "Training {wildcards.model} ({wildcards.experiment}, seed {wildcards.seed})"
    shell: stage("train_fusing", "settings", "seed")


rule fuse_graphs:
    input:
        src=lambda w: src("fuse_graphs", *modules("fusion", P.fusion_methods[w.method])),
        graphs=path("graphs"),
        weights=network_weights(P.fusion_methods),
    output:
        fusion_plans=path("fusion_plans"),
    params:
        settings=lambda w: resolved(P.fusion_methods[w.method]),
        machines=fusion_machines,
        seed="{seed}",
    log: "logs/fuse_graphs/{experiment}/{graph_set}/{method}/{seed}.log"
    benchmark: "benchmarks/rules/fuse_graphs/{experiment}/{graph_set}/{method}/{seed}.tsv"
    message: "Fusing {wildcards.graph_set} with {wildcards.method} ({wildcards.experiment}, seed {wildcards.seed})"
    shell: stage("fuse_graphs", "settings", "machines", "seed")


rule judge_fusions:
    input:
        src=src("judge_fusions"),
        graphs=path("graphs"),
        fusion_plans=of_methods("fusion_plans"),
    output:
        fusion_costs=path("fusion_costs"),
    wildcard_constraints: graph_set=FUSION_SETS
    params:
        machines=fusion_machines,
    log: "logs/judge_fusions/{experiment}/{graph_set}.log"
    benchmark: "benchmarks/rules/judge_fusions/{experiment}/{graph_set}.tsv"
    message: "Costing every plan of {wildcards.graph_set} ({wildcards.experiment})"
    shell: stage("judge_fusions", "machines")


rule fusion_examples:
    """Draw plans of fusion for the page."""
    input:
        src=src("fusion_examples"),
        graphs=lambda w: path("graphs", graph_set=shown_of(w).set),
        fusion_plans=drawn("fusion_plans"),
    output:
        fused_operations=path("fused_operations"),
    wildcard_constraints: experiment=of_task(Fusion)
    params:
        settings=lambda w: section("experiments", w.experiment, "shown"),
    log: "logs/fusion_examples/{experiment}.log"
    benchmark: "benchmarks/rules/fusion_examples/{experiment}.tsv"
    message: "Drawing plans of fusion ({wildcards.experiment})"
    shell: stage("fusion_examples", "settings")
