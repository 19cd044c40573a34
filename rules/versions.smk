"""One target per stage of dvc.yaml: the files that make the stage complete."""

for name, made in {
    "fetch": expand(rules.fetch.output.artifact, source=P.corpus.sources),
    "ingest": [rules.manifest.output, rules.deduplicate.output],
    "dags": expand(DAGS, dependencies=MODES),
    "describe": expand(STATISTICS, dependencies=MODES),
    "split": expand(SPLITS, dependencies=MODES),
    "tokens": rules.tokens.output,
    "residuals": rules.residuals.output,
    "report": rules.report.output,
    "track_published": rules.track_published.output,
    **{
        f"{stage}_{experiment}": files(pattern, experiment)
        for experiment in P.experiments
        for stage, pattern in {
            "train": WEIGHTS,
            "schedule": SCHEDULES,
            "sweep": SWEEPS,
            "examples": EXAMPLES,
            "latency": LATENCIES,
            "evaluate": RESULTS,
            "track": RUNS,
        }.items()
    },
}.items():

    rule:
        name: f"all_{name}"
        input:
            made,
