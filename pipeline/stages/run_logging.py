"""One run of an experiment, written into MLflow's store, whichever store it is; and all runs that a store has."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tqdm import tqdm

from pipeline.analysis import runs

if TYPE_CHECKING:
    from mlflow import MlflowClient, entities

Origin = Callable[[], dict[str, str]]  # tags that say where numbers come from that are made now
_BATCH = 1000  # metrics that MLflow takes at once
_PAGE = 10_000  # runs that it gives at once


def log_all(
    client: MlflowClient,
    experiment_id: str,
    experiment: str,
    items: list[runs.Run],
    origin: Origin,
    state: dict[str, str],
) -> None:
    """Write the runs with their files. `state`: tags of the store. A run that is FINISHED is there as a whole."""
    origin_now = origin() if items else {}
    for item in tqdm(items, desc=f"MLflow, {experiment}", unit="run", disable=not items):
        _log(client, experiment_id, item, (item.provenance or origin_now) | state)


def _log(client: MlflowClient, experiment_id: str, item: runs.Run, more_tags: dict[str, str]) -> None:
    from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param

    fixed = {"identity": item.identity, "fingerprint": item.fingerprint}
    tags = {**item.tags, **item.state, **fixed, **more_tags, "mlflow.source.git.commit": more_tags["git_commit"]}
    run_id = client.create_run(experiment_id, tags=tags, run_name=item.name).info.run_id
    now = time.time_ns() // 1_000_000
    metrics = [Metric(key, value, now, step) for key, value, step in item.curves]
    metrics += [Metric(key, value, now, 0) for key, value in item.metrics.items()]
    client.log_batch(run_id, params=[Param(key, value) for key, value in item.parameters.items()])
    for start in range(0, len(metrics), _BATCH):
        client.log_batch(run_id, metrics=metrics[start : start + _BATCH])
    if "dataset_sha256" in item.tags:
        sha256, mode = item.tags["dataset_sha256"], item.tags["dependencies"]
        dataset = Dataset(f"splits/{mode}", sha256[:32], "local", f"data/splits/{mode}.parquet")
        client.log_inputs(run_id, [DatasetInput(dataset, [InputTag("mlflow.data.context", "training")])])
    for folder, paths in item.files.items():
        for path in paths:
            client.log_artifact(run_id, str(path), folder)
    if item.history is not None:
        from pipeline.report.plots import training
        from pipeline.report.reproduction.paper_tables import CURVES  # takes a second: not where nothing is drawn

        client.log_figure(run_id, training(item.history, CURVES), "plots/training.png")
    client.set_terminated(run_id)


def everything(client: MlflowClient, experiment_id: str) -> list[entities.Run]:
    """All runs of the experiment, those in MLflow's bin too."""
    from mlflow.entities import ViewType

    listed: dict[str, entities.Run] = {}  # by id: where others write meanwhile, two pages may have the same run
    token = None
    while token != "":
        page = client.search_runs([experiment_id], "", ViewType.ALL, max_results=_PAGE, page_token=token)
        listed |= {run.info.run_id: run for run in page}
        token = page.token or ""
    return list(listed.values())
