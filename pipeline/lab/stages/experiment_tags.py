"""What MLflow's pages show of an experiment, as its tags: a description, and the columns of its table of runs.

MLflow keeps a view of the runs that is shared by a link in a tag of the experiment; the link names the tag's end.
MLflow opens an experiment on a page about agents; there the description is all that is ours. So it begins with the
link to the table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pipeline.lab import runs
from pipeline.lab.config.experiments import tasks
from pipeline.lab.page.names import set_label
from pipeline.lab.page.pages import Page, experiments, pages

_METHODS, _TRAININGS = "key_metrics", "trainings"  # views
_RUNS = (
    "a method each, over all seeds; and `tables`, whose artifacts are the experiment's tables. Trainings, each of one "
    "network with one seed, have a table of their own. A ratio below 1 is better than the baseline in its name. "
    "Numbers have four digits here, and more in `reports/results.csv`. Tags say where they come from."
)
_WIDTH = 180  # of a column, pixels: its name can be read
_BEST = 3  # methods that the description names
ID = "{experiment_id}"  # stands for it in tags that are made before it is known


def in_order(names: Iterable[str]) -> list[str]:
    """Experiments as a newcomer should meet them: the first one of each system's page, then page by page."""
    present = set(names)
    pictured = [page.experiments[0] for page in pages() if page.card]
    return [name for name in dict.fromkeys([*pictured, *experiments(present)]) if name in present]


def page_of(experiment: str) -> Page | None:
    """The report's page that shows the experiment."""
    return next((page for page in pages() if experiment in page.experiments), None)


def tags(experiment: str, settings: dict[str, Any], items: list[runs.Run]) -> dict[str, str]:
    """Tags of the experiment in MLflow. `settings`: its own, resolved; `items`: its runs."""
    trainings = [item for item in items if item.tags["kind"] == "training"]
    others = [item for item in items if item.tags["kind"] != "training"]
    return {
        "mlflow.experimentKind": "custom_model_development",  # opens the pages for training, not those for agents
        "mlflow.note.content": _description(experiment, settings, items),
        f"mlflow.sharedViewState.{_METHODS}": json.dumps(_view(others, "!=")),
        f"mlflow.sharedViewState.{_TRAININGS}": json.dumps(_view(trainings, "=")),
    }


def address(server: str, experiment_id: str, view: str = _METHODS) -> str:
    """Where the server shows the experiment's methods, or another view of its runs."""
    return f"{server}/#/experiments/{experiment_id}/runs?workflowType=machine_learning&viewStateShareKey={view}"


def _description(experiment: str, settings: dict[str, Any], items: list[runs.Run]) -> str:
    page, task = page_of(experiment), tasks().get(settings.get("task", ""))
    links = [f"[Methods, the best first]({address('.', ID)})"]
    if any(item.tags["kind"] == "training" for item in items):
        links.append(f"[trainings]({address('.', ID, _TRAININGS)})")
    paragraphs = [", ".join(links) + f". {page.question if page else ''}"]
    compared = runs.compared([item for item in items if item.tags["kind"] == "method"])
    lines = ["| Metric | Best methods |", "|---|---|"]
    for name, values in compared.items():
        best = [f"`{method}` {value:.4g}" for method, value in runs.ranked(values)[:_BEST].items()]
        lines.append(f"| `{name}` | {', '.join(best)} |")
    if len(compared.columns):
        paragraphs.append("\n".join(lines))
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


def _view(items: list[runs.Run], training: str) -> dict[str, Any]:
    """State of the page of runs: current ones, the best first, with the key metrics as columns.

    `training`: how the kind of the items compares with "training", `=` or `!=`.
    """
    names = runs.columns(items)
    order = {"orderByKey": f"metrics.`{names[0]}`", "orderByAsc": runs.less_is_better(names[0])} if names else {}
    columns = [f"metrics.`{name}`" for name in names]
    widths = {column: _WIDTH for column in columns}
    shown = {"selectedColumns": columns, "columnOrder": columns, "columnWidths": widths, "runsHiddenMode": "SHOW_ALL"}
    return order | shown | {"searchFilter": f"tags.state = 'current' AND tags.kind {training} 'training'"}
