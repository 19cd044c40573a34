"""The wing of projects and job-shops of others: activities that need resources become schedules."""

from typing import TYPE_CHECKING

from learned_schedulers.public import offer

if TYPE_CHECKING:
    from learned_schedulers.projects.judge import Violation, makespan
    from learned_schedulers.projects.problem import JobShop, Project, project_of
    from learned_schedulers.projects.read.best_known import read_best_known
    from learned_schedulers.projects.read.reading import read_project

__all__ = ["JobShop", "Project", "Violation", "makespan", "project_of", "read_best_known", "read_project"]
offer(
    __name__,
    {
        "judge": "Violation makespan",
        "problem": "JobShop Project project_of",
        "read.best_known": "read_best_known",
        "read.reading": "read_project",
    },
)
