"""The policy for job-shops: drawn job-shops -> trained networks -> the shipped one."""

JOB_SHOP = dict(experiment="job_shop_training", model="job_shop")


rule train_job_shop:
    input:
        src=src("train_job_shop"),
    output:
        weights=path("network_weights"),
        history=path("job_shop_history"),
    wildcard_constraints:
        experiment=JOB_SHOP["experiment"],
        model=JOB_SHOP["model"],
    params:
        settings=section("job_shop", "network"),
        seed="{seed}",
    log: "logs/train_job_shop/{experiment}/{model}/{seed}.log"
    benchmark: "benchmarks/rules/train_job_shop/{experiment}/{model}/{seed}.tsv"
    message: "Training the policy for job-shops (seed {wildcards.seed})"
    shell: stage("train_job_shop", "settings", "seed")


def job_shop_trainings(kind):
    """Paths of the trainings' weights or histories."""
    return expand(path(kind, **JOB_SHOP), seed=P.job_shop.seeds)


FURTHER[JOB_SHOP["experiment"]] = Further(
    tables=lambda: job_shop_trainings("job_shop_history"),
    settings=lambda: json.loads(section("job_shop")),
    alike=lambda: [f"experiments/{JOB_SHOP['experiment']}"],
)


rule ship_job_shop:
    """Put the best seed of the policy into the package: `snakemake data/published/shipped_job_shop.done`."""
    input:
        src=src("ship"),
        weights=job_shop_trainings("network_weights"),
        history=job_shop_trainings("job_shop_history"),
    output:
        touch("data/published/shipped_job_shop.done"),
    params:
        options=reading,
        facts=json.dumps({"trained": P.job_shop.network.model_dump()}, sort_keys=True),
    log: "logs/ship_job_shop.log"
    benchmark: "benchmarks/rules/ship_job_shop.tsv"
    message: "Putting the best policy for job-shops into the package, with its model card"
    shell: stage("ship", "facts", kind="job_shop")
