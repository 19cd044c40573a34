"""One target for each stage of dvc.yaml: the files that complete the stage."""

MODES = unique(mode for e in P.report.experiments for mode in P.experiments[e].dependencies)


def of_report(experiment):
    """Stage of dvc.yaml -> its files, of one experiment of the report."""
    chosen = P.experiments[experiment]
    return {
        "train": trainings(experiment, "weights"),
        "schedule": schedules(experiment),
        "judge": expand(path("latency", experiment=experiment), set=chosen.sets, judge=chosen.judges),
        "evaluate": [path("results", experiment=experiment)],
    }


def of_graphs(experiment):
    """The same, of one experiment on computation graphs."""
    chosen = P.experiments[experiment]
    return {
        "schedule_graphs": graph_schedules(experiment),
        "judge_graphs": expand(path("makespans", experiment=experiment), graph_set=chosen.sets),
        "evaluate_graphs": [path("results", experiment=experiment)],
    }


for name, files in {
    "fetch": ARTIFACTS,
    "ingest": [rules.manifest.output, rules.join_partitions.output],
    "dags": expand(path("dags"), dependencies=MODES),
    "describe": expand(path("corpus"), dependencies=MODES),
    "split": expand(path("splits"), dependencies=MODES),
    "sets": expand(path("sets"), set=unique(s for e in P.report.experiments for s in P.experiments[e].sets)),
    "instructions": [path("encodings"), path("instructions")],
    "graph_sets": expand(path("graphs"), graph_set=unique(s for e in P.report.graph_experiments for s in P.experiments[e].sets)),
    "claims": rules.claims.output,
    "report": rules.report.output,
    "track": rules.track.output,
    **COMPLETE,
    **{f"{stage}_{e}": files for e in P.report.experiments for stage, files in of_report(e).items()},
    **{f"{stage}_{e}": files for e in P.report.graph_experiments for stage, files in of_graphs(e).items()},
}.items():

    rule:
        name: f"all_{name}"
        input:
            files,
