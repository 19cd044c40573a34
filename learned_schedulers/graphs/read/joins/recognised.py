"""The groups of a graph's operations that a runtime computes as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from learned_schedulers.graphs.read.joins.attention import attentions, guarded, masks
from learned_schedulers.graphs.read.joins.layers import biases, folded_norms, functions, layouts, normalisations
from learned_schedulers.graphs.read.joins.steps import Join, Operand, Steps


class Joins(NamedTuple):
    """Groups that share no operation, and operations that disappear."""

    groups: tuple[Join, ...]
    passed: Mapping[int, tuple[int, ...]]  # operation that is not computed -> the owners of what its readers read


def recognised(steps: Steps, constants: frozenset[int] = frozenset(), attention: bool = True) -> Joins:
    """All groups. constants: operations whose results never change; attention: False leaves attention in parts."""
    used = set(constants)
    joins: list[Join] = []
    for join in _candidates(steps, attention):
        if not used & {*join.members}:
            joins.append(join)
            used |= {*join.members}
    truths = masks(steps, joins)
    passed = {number: () if truth.owner is None else (truth.owner,) for number, truth in truths.items()}
    joins = [_with_truths(steps, join, truths) if join.kind == "attention" else join for join in joins]
    copies = {number: layers for number, layers in layouts(steps).items() if number not in used}
    return Joins(tuple(joins), passed | copies | dict.fromkeys(constants, ()))


def _candidates(steps: Steps, attention: bool) -> Iterator[Join]:
    if attention:
        yield from attentions(steps)
    for pattern in (guarded, folded_norms, normalisations, functions, biases):
        yield from pattern(steps)


def _with_truths(steps: Steps, join: Join, truths: Mapping[int, Operand]) -> Join:
    """An attention that reads masks of truth values in place of the numbers made of them."""
    masked = [operand for operand in steps.outer(join.members).values() if operand.owner in truths]
    saved = sum(operand.bytes - truths[operand.owner].bytes for operand in masked if operand.owner is not None)
    return join._replace(read=join.read - saved)
