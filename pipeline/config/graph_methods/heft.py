"""Settings of graphs/schedulers/heft.py: it has none, always sees the target, and draws nothing."""

from __future__ import annotations

from pipeline.config.graph_methods import GraphMethodSettings


class Settings(GraphMethodSettings):
    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"target"})

    @property
    def draws(self) -> bool:
        return False
