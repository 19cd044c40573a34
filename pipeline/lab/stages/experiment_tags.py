"""What MLflow's pages show of an experiment, as its tags: a description, and the columns of its table of runs.

MLflow keeps a view of the runs that is shared by a link in a tag of the experiment; the link names the tag's end.
"""

from __future__ import annotations

import json
from typing import Any

from pipeline.lab import runs
from pipeline.lab.config.experiments import tasks
from pipeline.lab.page.names import set_label
from pipeline.lab.page.pages import Page, pages

_VIEW = "key_metrics"
_RUNS = (
    "a method, over all seeds; a training, of one network with one seed; and `tables`, whose artifacts are the "
    "experiment's tables. The first columns compare methods: a ratio below 1 is better than the baseline in its name. "
    "The tags say where a run's numbers come from."
)


def page_of(experiment: str) -> Page | None:
    """The report's page that shows the experiment."""
    return next((page for page in pages() if experiment in page.experiments), None)


def tags(experiment: str, settings: dict[str, Any], items: list[runs.Run]) -> dict[str, str]:
    """Tags of the experiment in MLflow. `settings`: its own, resolved; `items`: its runs."""
    return {
        "mlflow.experimentKind": "custom_model_development",  # opens the pages for training, not those for agents
        "mlflow.note.content": _description(experiment, settings),
        f"mlflow.sharedViewState.{_VIEW}": json.dumps(_view(items)),
    }


def address(server: str, experiment_id: str) -> str:
    """Where the server shows the experiment's runs."""
    return f"{server}/#/experiments/{experiment_id}/runs?workflowType=machine_learning&viewStateShareKey={_VIEW}"


def _description(experiment: str, settings: dict[str, Any]) -> str:
    page, task = page_of(experiment), tasks().get(settings.get("task", ""))
    paragraphs = [f"**Question**: {page.question}"] if page else []
    if task:
        first_sentence = str(task.__doc__).partition("\n")[0]
        paragraphs.append(f"**Task** `{settings['task']}`: {first_sentence}")
    if sets := settings.get("sets"):
        paragraphs.append("**Sets**: " + "; ".join(f"`{name}` ({set_label(name)})" for name in sets) + ".")
    paragraphs.append(f"**Runs**: {_RUNS}")
    if page:
        place = f"`reports/{page.name}.html`, and an artifact of `tables` in the experiment `{page.experiments[0]}`"
        paragraphs.append(f"**Report**: {page.title}: {place}.")
    return "\n\n".join(paragraphs)


def _view(items: list[runs.Run]) -> dict[str, Any]:
    """State of the page of runs: current ones, the best first, with the key metrics as columns."""
    names = runs.columns(items)
    order = {"orderByKey": f"metrics.`{names[0]}`", "orderByAsc": ".ratio." in names[0]} if names else {}
    columns = [f"metrics.`{name}`" for name in names]
    return order | {"searchFilter": "tags.state = 'current'", "selectedColumns": columns, "runsHiddenMode": "SHOW_ALL"}
