"""The methods that a stranger's method is compared with, with the settings that the laboratory chose for them."""

from __future__ import annotations

from learned_schedulers.bench.budgets import Limit
from learned_schedulers.bench.graphs import entrant
from learned_schedulers.bench.instances import SETS
from learned_schedulers.bench.tasks import Introduction

TEN_SECONDS = Limit("seconds", 10.0)
LIMITS = {
    name: TEN_SECONDS for name in ("search_of_ten_seconds", "placed_search_of_ten_seconds")
}  # whatever the others


def peers(text: str, of_set: str) -> list[Introduction]:
    """`default`, `all`, or names with commas between them; the set's baseline is always the first."""
    usual = SETS[of_set].peers
    names = usual.get(text, tuple(name.strip() for name in text.split(",") if name.strip()))
    try:
        return [entrant(name).introduction for name in dict.fromkeys((baseline(of_set), *names))]
    except ValueError as error:
        raise ValueError(
            f"--peers {text}: {error}; the usual peers of {of_set} are {', '.join(usual['all'])}"
        ) from error


def baseline(of_set: str) -> str:
    """The name of the method over whose costs all costs of the set are told."""
    return SETS[of_set].peers["default"][0]
