"""Sets of computation graphs, and experts' placements of them."""

from pipeline.graph_sets.settings import GraphSet, PlacedSet


def graph_files(wildcards):
    """Files that a set of graphs is read from."""
    sources = P.graph_sets[wildcards.graph_set].sources
    patterns = [pattern for source in sources if source.kind == "workloads" for pattern in source.include]
    exported = EXPORTED if any(source.kind == "exported" for source in sources) else []
    return unique([*exported, *(file for pattern in patterns for file in glob(pattern))])


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
    log: "logs/graph_sets/{graph_set}.log"
    benchmark: "benchmarks/rules/graph_sets/{graph_set}.tsv"
    message: "Choosing the computation graphs of {wildcards.graph_set}"
    shell: stage("graph_sets", "name", "settings", "device")


rule placed_graphs:
    input:
        src=src("placed_graphs"),
        files=EXPORTED,
    output:
        graphs=path("graphs"),
    wildcard_constraints: graph_set=named(PlacedSet, P.placement_sets)
    params:
        name="{graph_set}",
        settings=lambda w: section("placement_sets", w.graph_set),
    log: "logs/placed_graphs/{graph_set}.log"
    benchmark: "benchmarks/rules/placed_graphs/{graph_set}.tsv"
    message: "Reading the whole graphs of {wildcards.graph_set}"
    shell: stage("placed_graphs", "name", "settings")


rule fusion_graphs:
    input:
        src=src("fusion_graphs"),
        files=EXPORTED,
    output:
        graphs=path("graphs"),
    wildcard_constraints: graph_set=named(object, P.fusion_sets)
    params:
        name="{graph_set}",
        settings=lambda w: section("fusion_sets", w.graph_set),
    log: "logs/fusion_graphs/{graph_set}.log"
    benchmark: "benchmarks/rules/fusion_graphs/{graph_set}.tsv"
    message: "Reading the graphs of {wildcards.graph_set}"
    shell: stage("fusion_graphs", "name", "settings")
