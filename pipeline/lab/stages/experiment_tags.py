"""What MLflow's pages show of an experiment, as its tags: a description, and the columns of its table of runs.

MLflow keeps a view of the runs that is shared by a link in a tag of the experiment; the link names the tag's end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from pipeline.lab import runs
from pipeline.lab.page.pages import Page, experiments, pages

_METHODS, _TRAININGS, _EARLIER = "key_metrics", "trainings", "earlier"  # views
_RUNS = (
    "a method each, over all seeds; and `tables`, whose artifacts are the experiment's tables. Trainings, each of one "
    "network with one seed, have a table of their own, and so have runs whose numbers were replaced: trials. "
    "`up` or `down` in a metric's name says what is better; a ratio below 1 is better than the baseline in its name. "
    "Numbers have four digits here, and more in `reports/results.csv`. Tags say where they come from."
)
_WIDTH = 250  # of a column, pixels: its name can be read
ID = "{experiment_id}"  # stands for it in tags that are made before it is known


def in_order(names: Iterable[str]) -> list[str]:
    """Experiments as a newcomer should meet them: the first one of each system's page, then page by page."""
    present = set(names)
    pictured = [page.experiments[0] for page in pages() if page.card]
    return [name for name in dict.fromkeys([*pictured, *experiments(present)]) if name in present]


def page_of(experiment: str) -> Page | None:
    """The report's page that shows the experiment."""
    return next((page for page in pages() if experiment in page.experiments), None)


def tags(experiment: str, items: list[runs.Run]) -> dict[str, str]:
    """Tags of the experiment in MLflow; `items`: its runs."""
    trainings = [item for item in items if item.tags["kind"] == "training"]
    others = [item for item in items if item.tags["kind"] != "training"]
    return {
        "mlflow.experimentKind": "custom_model_development",  # not for agents
        "mlflow.note.content": _description(experiment, items),
        f"mlflow.sharedViewState.{_METHODS}": _view(others, "tags.state = 'current' AND tags.kind != 'training'"),
        f"mlflow.sharedViewState.{_TRAININGS}": _view(trainings, "tags.state = 'current' AND tags.kind = 'training'"),
        f"mlflow.sharedViewState.{_EARLIER}": _view(
            others, "tags.state = 'superseded'", "tags.`trial`", "tags.`changed`"
        ),
    }


def address(server: str, experiment_id: str, view: str = _METHODS) -> str:
    """Where the server shows the experiment's methods, or another view of its runs."""
    return f"{server}/#/experiments/{experiment_id}/runs?workflowType=machine_learning&viewStateShareKey={view}"


def _description(experiment: str, items: list[runs.Run]) -> str:
    page = page_of(experiment)
    links = [f"[methods, the best first]({address('.', ID)})"]
    if any(item.tags["kind"] == "training" for item in items):
        links.append(f"[trainings]({address('.', ID, _TRAININGS)})")
    links.append(f"[earlier runs and trials]({address('.', ID, _EARLIER)})")
    paragraphs = [f"Tables: {', '.join(links)}.", f"**Runs**: {_RUNS}"]
    if page:
        paragraphs = [page.question, *paragraphs, f"**Report**: {page.title}: `reports/{page.name}.html`."]
    return "\n\n".join(paragraphs)


def _view(items: list[runs.Run], filter: str, *more: str) -> str:
    """State of the page of runs, JSON: the best first, with `more` and the key metrics of the items as columns."""
    names = runs.columns(items)
    order = {"orderByKey": f"metrics.`{names[0]}`", "orderByAsc": runs.less_is_better(names[0])} if names else {}
    columns = [*more, *(f"metrics.`{name}`" for name in names)]
    widths = {column: _WIDTH for column in columns}
    shown = {"selectedColumns": columns, "columnOrder": columns, "columnWidths": widths, "runsHiddenMode": "SHOW_ALL"}
    return json.dumps(order | shown | {"searchFilter": filter})
