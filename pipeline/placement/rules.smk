"""Experiments that place whole graphs: graphs -> (train) -> place -> judge -> evaluate."""

from learned_schedulers.graphs.models.whole_graph.settings import Generalised
from pipeline.placement.settings import Placement

SHIPPED_WHOLE_GRAPH = ("placement_few", "generalised")  # experiment, and its network


EXPERT_PLACEMENTS = Placement.frozen_table
PLACEMENT_SETS = named(object, P.placement_sets)


def device_of_placed(set):
    return section("devices", P.placement_sets[set].device)


def machines_of_placement(experiment, set):
    """Machines that the graphs of a set are placed on, as JSON."""
    chosen = P.experiments[experiment]
    return json.dumps(on_devices(json.loads(device_of_placed(set)), chosen.devices, chosen.targets), sort_keys=True)


def placement_machines(wildcards):
    return machines_of_placement(wildcards.experiment, wildcards.graph_set)


rule train_whole_graph:
    input:
        src=src("train_whole_graph"),
        training=learning_graphs("graphs"),
        development=development_graphs("graphs"),
    output:
        weights=path("network_weights"),
        history=path("whole_graph_history"),
    wildcard_constraints: model=networks_of(Generalised)
    params:
        options=options_and(device=lambda w: [device_of_placed(name) for name in sets_learned(w)]),
        settings=network_section,
        links=lambda w: section("links", only=network_of(w).links),
        seed="{seed}",
    priority: 10
    log: "logs/train_whole_graph/{experiment}/{model}/{seed}.log"
    benchmark: "benchmarks/rules/train_whole_graph/{experiment}/{model}/{seed}.tsv"
    message: "Training {wildcards.model} ({wildcards.experiment}, seed {wildcards.seed})"
    shell: stage("train_whole_graph", "settings", "links", "seed")


rule place_graphs:
    input:
        src=lambda w: src("place_graphs", *modules("graph", P.graph_methods[w.method])),
        graphs=path("graphs"),
        experts=EXPERT_PLACEMENTS,
        weights=network_weights(P.graph_methods),
    output:
        placements=path("placements"),
    params:
        settings=lambda w: resolved(P.graph_methods[w.method]),
        machines=placement_machines,
        seed="{seed}",
    log: "logs/place_graphs/{experiment}/{graph_set}/{method}/{seed}.log"
    benchmark: "benchmarks/rules/place_graphs/{experiment}/{graph_set}/{method}/{seed}.tsv"
    message: "Placing {wildcards.graph_set} with {wildcards.method} ({wildcards.experiment}, seed {wildcards.seed})"
    shell: stage("place_graphs", "settings", "machines", "seed")


rule judge_placements:
    input:
        src=src("judge_placements"),
        graphs=path("graphs"),
        placements=of_methods("placements"),
    output:
        placement_costs=path("placement_costs"),
    wildcard_constraints: graph_set=PLACEMENT_SETS
    params:
        machines=placement_machines,
    log: "logs/judge_placements/{experiment}/{graph_set}.log"
    benchmark: "benchmarks/rules/judge_placements/{experiment}/{graph_set}.tsv"
    message: "Simulating every placement of {wildcards.graph_set} ({wildcards.experiment})"
    shell: stage("judge_placements", "machines")


rule placement_examples:
    """Draw placed schedules for the page."""
    input:
        src=src("placement_examples"),
        graphs=lambda w: path("graphs", graph_set=shown_of(w).set),
        placements=drawn("placements"),
    output:
        placed_operations=path("placed_operations"),
        memory_curves=path("memory_curves"),
    wildcard_constraints: experiment=of_task(Placement)
    params:
        settings=lambda w: section("experiments", w.experiment, "shown"),
        machines=lambda w: machines_of_placement(w.experiment, shown_of(w).set),
    log: "logs/placement_examples/{experiment}.log"
    benchmark: "benchmarks/rules/placement_examples/{experiment}.tsv"
    message: "Drawing placed schedules ({wildcards.experiment})"
    shell: stage("placement_examples", "settings", "machines")


rule ship_whole_graph:
    """Put the best seed of the network into the package: `snakemake data/published/shipped_whole_graph.done`."""
    input:
        src=src("ship"),
        weights=lambda w: network_files(SHIPPED_WHOLE_GRAPH[0], "network_weights", SHIPPED_WHOLE_GRAPH[1]),
        history=lambda w: network_files(SHIPPED_WHOLE_GRAPH[0], "whole_graph_history", SHIPPED_WHOLE_GRAPH[1]),
        results=path("results", experiment=SHIPPED_WHOLE_GRAPH[0]),
    output:
        touch("data/published/shipped_whole_graph.done"),
    params:
        options=reading,
        facts=lambda w: json.dumps({"trained": P.experiments[SHIPPED_WHOLE_GRAPH[0]].models[SHIPPED_WHOLE_GRAPH[1]].model_dump()}, sort_keys=True),
        methods=lambda w: methods_with(*SHIPPED_WHOLE_GRAPH),
    log: "logs/ship_whole_graph.log"
    benchmark: "benchmarks/rules/ship_whole_graph.tsv"
    message: "Putting the best network for whole graphs into the package, with its model card"
    shell: stage("ship", "facts", "methods", kind="whole_graph")
