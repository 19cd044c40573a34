"""The methods that `conform` checks: of a reference or a package, each with its checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from learned_schedulers import methods, outside_methods
from learned_schedulers.conformance import graphs
from learned_schedulers.conformance.failures import Failure
from learned_schedulers.graphs.methods import Budget, make
from learned_schedulers.method_settings import entry

BUDGET = Budget(proposals=150, evaluations=150)  # of a stranger's method on each graph


class Subject(NamedTuple):
    """A method, and its checks by their names."""

    candidate: graphs.Candidate
    checks: dict[str, Callable[[graphs.Candidate], Iterator[Failure]]]


def names_of(text: str) -> list[str]:
    """A reference alone, or the names of all methods that a package offers. Raises ValueError if there are none."""
    if ":" in text:
        return [text]
    if names := list(outside_methods.offered_by(text)):
        return names
    raise ValueError(
        f"{text}: no installed package of this name offers methods; name a class, {text}:Class, or add the group "
        f"{outside_methods.GROUP} to its pyproject.toml and install it"
    )


def subject(name: str, keys: dict[str, Any]) -> Subject:
    """The method with these settings. Raises ValueError for what is no method, and for one that needs more."""
    settings = entry("graph", name, **keys)
    methods.maker("graph", settings)
    _check(name, settings, frozenset({"target"}))
    of_target = partial(make, settings)
    candidate = graphs.Candidate(settings, lambda problem, target: of_target({"target": target}), BUDGET)
    return Subject(candidate, dict(graphs.CHECKS))


def _check(name: str, settings: Any, available: frozenset[str]) -> None:
    if missing := sorted(settings.needs - available):
        raise ValueError(
            f"{name}: it needs {', '.join(missing)}, and `needs` may name {', '.join(sorted(available))} alone; let it "
            "load its own files, by paths in its Settings"
        )
    outside_methods.check_constructor(name, available & (settings.needs | settings.uses))
