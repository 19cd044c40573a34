"""Learned policies for computation graphs: train -> (schedule, judge) -> measure distances -> evaluate."""

from learned_schedulers.graphs.models.policy_settings import Policy
from pipeline.policies.settings import Policies

SHIPPED_POLICY = ("gflownet_paper_sizes", "larger")  # experiment, and its network


def training_machines(wildcards):
    """Machines of the sets that a policy learns from, and of the one that it is measured on, as a JSON list."""
    return json.dumps([machines_of_set(name, ["proxy"]) for name in sets_learned(wildcards)], sort_keys=True)


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
    log: "logs/train_policy/{experiment}/{model}/{seed}.log"
    benchmark: "benchmarks/rules/train_policy/{experiment}/{model}/{seed}.tsv"
    message: "Training {wildcards.model} ({wildcards.experiment}, seed {wildcards.seed})"
    shell: stage("train_policy", "settings", "machines", "seed")


rule measure_distances:
    input:
        src=src("measure_distances"),
        graphs=path("graphs"),
        graph_schedules=of_methods("graph_schedules"),
    output:
        distances=path("schedule_distances"),
    params:
        machines=machines,
    log: "logs/measure_distances/{experiment}/{graph_set}.log"
    benchmark: "benchmarks/rules/measure_distances/{experiment}/{graph_set}.tsv"
    message: "Measuring distances between the schedules of {wildcards.graph_set} ({wildcards.experiment})"
    shell: stage("measure_distances", "machines")


rule ship_policy:
    """Put the best seed of the policy into the package: `snakemake data/published/shipped_policy.done`."""
    input:
        src=src("ship"),
        weights=lambda w: network_files(SHIPPED_POLICY[0], "network_weights", SHIPPED_POLICY[1]),
        history=lambda w: network_files(SHIPPED_POLICY[0], "policy_history", SHIPPED_POLICY[1]),
        results=path("results", experiment=SHIPPED_POLICY[0]),
    output:
        touch("data/published/shipped_policy.done"),
    params:
        options=reading,
        methods=lambda w: methods_with(*SHIPPED_POLICY),
    log: "logs/ship_policy.log"
    benchmark: "benchmarks/rules/ship_policy.tsv"
    message: "Putting the best policy into the package, with its model card"
    shell: stage("ship", "methods", kind="policy")
