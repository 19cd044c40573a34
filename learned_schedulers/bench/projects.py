"""Methods of other packages for projects and job-shops, in the process that runs them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from learned_schedulers.bench.provenance import package_of
from learned_schedulers.bench.tasks import Fault, Introduction, ProjectTask
from learned_schedulers.method_settings import MethodSettings, entry
from learned_schedulers.outside_methods import check_constructor
from learned_schedulers.projects.methods import UNSUPPORTED, Budget, Schedules, make
from learned_schedulers.projects.problem import Project


class ProjectEntrant(NamedTuple):
    """A method for projects in the process that runs it."""

    introduction: Introduction
    settings: MethodSettings

    def propose(self, task: ProjectTask) -> Schedules:
        """Schedules of the right form. Raises Fault, or what the method raises."""
        answer = make(self.settings).schedule(task.project, task.rng, task.budget)
        if wrong := list(faults(answer, task.project, task.budget)):
            raise Fault("; ".join(wrong))
        return answer


def faults(answer: object, project: Project, budget: Budget) -> Iterator[str]:
    """What is wrong with the form of an answer; whether its schedules are any is the judge's to say."""
    if not isinstance(answer, Schedules):
        yield f"schedule returned a {type(answer).__name__}, and no projects.methods.Schedules"
        return
    if answer.status == UNSUPPORTED:
        if not answer.message:
            yield "it does not support the project, and gives no reason"
        return
    starts = np.asarray(answer.starts)
    if starts.ndim != 2 or starts.shape[1] != len(project) or starts.dtype.kind not in "iu" or not len(starts):
        yield f"starts of shape {starts.shape} and type {starts.dtype}; (S, {len(project)}) integers are needed"
    elif len(starts) > budget.schedules:
        yield f"{len(starts)} schedules; budget.schedules allows {budget.schedules}"


def entrant(name: str, /, **keys: Any) -> ProjectEntrant:
    """A method for projects, `package:Class`, with these settings. Its code is imported.

    Raises ValueError for what is none, for an unknown setting, and for one that needs anything.
    """
    settings = entry("project", **({"method": name} | keys))
    if settings.needs:
        raise ValueError(
            f"the method {name!r} needs {', '.join(sorted(settings.needs))}; a method for projects gets none"
        )
    check_constructor(settings.method, ())
    package, source = package_of(settings.method)
    introduction = Introduction(
        name=name,
        kind="project",
        settings=settings.model_dump(mode="json"),
        draws=settings.draws,
        package=package,
        source=source,
    )
    return ProjectEntrant(introduction, settings)
