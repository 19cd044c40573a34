"""Priority rules of projects and job-shops: which of the activities that could start comes first.

A rule gives each activity a positive weight and says whether a small or a large one comes first. The names are those of
project scheduling; in a job-shop, where each job is a chain, `latest_start` is most work remaining.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from learned_schedulers.projects.method_settings import Rule
from learned_schedulers.projects.problem import Project


class _Weights(NamedTuple):
    of: Callable[[Project], np.ndarray]  # (n,)
    small_first: bool = False
    by_readiness: bool = False  # the weight is a factor of the time at which the activity could start


_RULES: dict[Rule, _Weights] = {
    "latest_start": _Weights(lambda project: project.tails),  # the longest path with the activity
    "latest_finish": _Weights(lambda project: project.tails - project.durations),  # the longest path behind it
    "shortest": _Weights(lambda project: project.durations, small_first=True),  # shortest processing time
    "first_come": _Weights(lambda project: np.ones(len(project)), small_first=True, by_readiness=True),
}


class Keys(NamedTuple):
    """The keys of S schedules: the smallest key comes first, then the activity with the smallest number."""

    keys: np.ndarray  # (S, n) float64
    by_readiness: bool  # a key is a factor of the time at which the activity could start


def keys_of(project: Project, rule: Rule, factors: np.ndarray) -> Keys:
    """The keys by a rule whose weights are multiplied by factors, (S, n) positive."""
    weights = _RULES[rule]
    keys = weights.of(project) * factors
    return Keys(keys if weights.small_first else -keys, weights.by_readiness)
