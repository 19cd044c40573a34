"""Levels of Inductor's scheduler nodes, which decide what it may fuse and in which sequence it tries.

Zhou et al. (2020) give every operation a priority. Here two nodes, or two kernels so far, may be fused if their levels
are equal and not 0; pairs of higher levels come first, pairs of equal levels in Inductor's own sequence. Inductor
decides what is legal. All classes used here are private to torch, whose version is pinned. Torch makes the handler once
per thread, so it reads the levels anew each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch._inductor import config
from torch._inductor.choices import InductorChoices
from torch._inductor.virtualized import V

Levels = Mapping[str, int]  # level by a scheduler node's name (`named`); ALONE if the name is missing
ALONE = 0


class _Current:
    levels: Levels | None = None  # None: Inductor's own choices
    graph = 0  # number of the model's graphs so far: a training step has two


class LevelledChoices(InductorChoices):
    """Inductor's choices within what the levels allow."""

    def uuid(self) -> str:
        """Identity for torch's caches, which are off when this class is used."""
        return f"{type(self).__qualname__} {sorted((_Current.levels or {}).items())}"

    @staticmethod
    def can_fuse(scheduler: Any, node1: Any, node2: Any, shared_data_score: int) -> bool:
        """Inductor's own answer, if the levels are equal."""
        if not InductorChoices.can_fuse(scheduler, node1, node2, shared_data_score):
            return False
        return _Current.levels is None or (level(node1) == level(node2) != ALONE)

    @staticmethod
    def score_fusion(scheduler: Any, node1: Any, node2: Any) -> Any:
        """The level, then Inductor's own score."""
        score = InductorChoices.score_fusion(scheduler, node1, node2)
        return score if _Current.levels is None else (level(node1), score)


def level(node: Any) -> int:
    """Level of a scheduler node, or of several fused nodes, which have the same level."""
    names = (named(part) for part in node.get_nodes())
    return max((_Current.levels or {}).get(name, ALONE) for name in names)


def named(node: Any) -> str:
    """A scheduler node's name, with the number of its graph if it is not the model's first graph."""
    name: str = node.get_name()
    return name if _Current.graph <= 1 else f"{_Current.graph}:{name}"


def begin_graph() -> None:
    """Count a new graph: the following nodes belong to it."""
    _Current.graph += 1


@contextmanager
def using(levels: Levels | None) -> Iterator[None]:
    """Compile with these levels; None: with Inductor's own choices.

    Torch reads `inductor_choices_class` once per thread; the handler is also set for a thread that has compiled before.
    """
    _Current.levels, _Current.graph = levels, 0
    with config.patch(inductor_choices_class=LevelledChoices), V.set_choices_handler(LevelledChoices()):
        yield
    _Current.levels = None
