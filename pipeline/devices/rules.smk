"""Schedules of computation graphs on simulated devices: judged -> evaluate, examples."""

from pipeline.devices.settings import Devices




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
    wildcard_constraints: experiment=drawn_by("gantts")
    params:
        machines=lambda w: machines_of(w.experiment, shown_of(w).set),
        methods=lambda w: shown_of(w).methods,
        examples=lambda w: shown_of(w).graphs,
    log: "logs/graph_examples/{experiment}.log"
    benchmark: "benchmarks/rules/graph_examples/{experiment}.tsv"
    message: "Drawing example schedules ({wildcards.experiment})"
    shell: stage("graph_examples", "machines", "methods", "examples")
