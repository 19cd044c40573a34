"""Settings of graphs/schedulers/heft.py: it has none, and always sees the target."""

from __future__ import annotations

from pipeline.config.graph_methods import GraphMethodSettings


class Settings(GraphMethodSettings):
    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"target"})
