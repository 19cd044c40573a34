"""Claims about instances of others."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, row_of


def claims() -> Iterator[Claim]:
    """There are enough instances, and no makespan contradicts what others have proven."""
    for name, target in (("instances", ">= 250"), ("better_than_proven", "== 0"), ("bound_above_best", "== 0")):
        yield Claim(f"outside_{name}", target, row_of("outside_instances", metric=name))
