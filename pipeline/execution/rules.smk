"""Schedules that two cores of this machine execute: (schedule) -> time, simulate -> evaluate."""

from pipeline.execution.settings import Execution


rule time_graph_schedules:
    """It executes graphs on two cores of this machine and times them; so nothing but a request runs it."""
    input:
        src=src("time_graph_schedules"),
        graphs=path("graphs"),
        graph_schedules=of_methods("graph_schedules"),
    output:
        graph_timings=path("graph_timings"),
        machine_rates=path("machine_rates"),
    params:
        settings=lambda w: section("experiments", w.experiment, "execution"),
    threads: 1024  # all of them: a job beside it would be measured, too
    log: "logs/time_graph_schedules/{experiment}/{graph_set}.log"
    benchmark: "benchmarks/rules/time_graph_schedules/{experiment}/{graph_set}.tsv"
    message: "Executing schedules of {wildcards.graph_set} on two cores ({wildcards.experiment})"
    shell: stage("time_graph_schedules", "settings")


rule simulate_executed:
    input:
        src=src("simulate_executed"),
        graphs=path("graphs"),
        graph_schedules=of_methods("graph_schedules"),
        strengths=FROZEN_TARGETS,
    output:
        simulated_timings=path("simulated_timings"),
    params:
        settings=lambda w: section("experiments", w.experiment, "execution"),
        machines=machines,
    log: "logs/simulate_executed/{experiment}/{graph_set}.log"
    benchmark: "benchmarks/rules/simulate_executed/{experiment}/{graph_set}.tsv"
    message: "Simulating what is executed of {wildcards.graph_set} ({wildcards.experiment})"
    shell: stage("simulate_executed", "settings", "machines")


use rule evaluate_graphs as evaluate_execution with:
    output:
        results=path("results"),
        parts=path("parts"),
        further=path("executed_points"),
    wildcard_constraints: experiment=of_task(Execution)


ruleorder: evaluate_execution > evaluate_graphs
