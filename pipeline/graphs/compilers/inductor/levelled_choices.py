"""Levels of Inductor's scheduler nodes decide what it may fuse, and in which sequence it tries.

Zhou et al. (2020) give every operation a priority. Here two nodes, or kernels so far, may be fused where their levels
are the same and not 0; pairs of higher levels come first, those of the same level in Inductor's own sequence. Inductor
decides what is legal. Everything here is private to torch, which is pinned: the handler is made once per thread, so
that it asks for the levels anew each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch._inductor import config
from torch._inductor.choices import InductorChoices
from torch._inductor.virtualized import V

Levels = Mapping[str, int]  # by a scheduler node's name (`named`); ALONE where it has none
ALONE = 0


class _Current:
    levels: Levels | None = None  # None: Inductor's own choices
    graph = 0  # how many graphs of the model were begun: a training step has a second one


class LevelledChoices(InductorChoices):
    """Inductor's choices within what the levels allow."""

    def uuid(self) -> str:
        """For torch's caches, which are off where this is used."""
        return f"{type(self).__qualname__} {sorted((_Current.levels or {}).items())}"

    @staticmethod
    def can_fuse(scheduler: Any, node1: Any, node2: Any, shared_data_score: int) -> bool:
        """Inductor's own answer, where the levels are the same."""
        if not InductorChoices.can_fuse(scheduler, node1, node2, shared_data_score):
            return False
        return _Current.levels is None or (level(node1) == level(node2) != ALONE)

    @staticmethod
    def score_fusion(scheduler: Any, node1: Any, node2: Any) -> Any:
        """The level, then Inductor's own score."""
        own = InductorChoices.score_fusion(scheduler, node1, node2)
        return own if _Current.levels is None else (level(node1), own)


def level(node: Any) -> int:
    """Of a scheduler node, or of several that are fused: they have the same one."""
    names = (named(part) for part in node.get_nodes())
    return max((_Current.levels or {}).get(name, ALONE) for name in names)


def named(node: Any) -> str:
    """A scheduler node's name, with the number of its graph where that is not the model's first."""
    name: str = node.get_name()
    return name if _Current.graph <= 1 else f"{_Current.graph}:{name}"


def begin_graph() -> None:
    """From here on nodes are those of the model's next graph."""
    _Current.graph += 1


@contextmanager
def using(levels: Levels | None) -> Iterator[None]:
    """Compile with these levels; None: as Inductor itself decides.

    `inductor_choices_class` is read once per thread; a thread that has compiled before is given the handler, too.
    """
    _Current.levels, _Current.graph = levels, 0
    with config.patch(inductor_choices_class=LevelledChoices), V.set_choices_handler(LevelledChoices()):
        yield
    _Current.levels = None
