"""A schedule for each priority rule and each generation scheme, and the shortest of several schedules."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from learned_schedulers.projects.method_settings import RULES, SCHEMES, Rule, Scheme
from learned_schedulers.projects.methods.rules.generation import generated
from learned_schedulers.projects.methods.rules.priorities import keys_of
from learned_schedulers.projects.problem import Project

PAIRS: tuple[tuple[Rule, Scheme], ...] = tuple(product(RULES, SCHEMES))


def by_rules(project: Project, pairs: Sequence[tuple[Rule, Scheme]] = PAIRS) -> np.ndarray:
    """(S, n) int64: the starts by each of these S rules and schemes."""
    plain = np.ones((1, len(project)))
    return np.concatenate([generated(project, keys_of(project, rule, plain), scheme) for rule, scheme in pairs])


def shortest(project: Project, starts: np.ndarray) -> int:
    """The number of the first of the shortest schedules. starts: (S, n), S at least 1."""
    return int((starts + project.durations).max(1, initial=0).argmin())
