"""Settings of graphs/schedulers/ppo.py."""

from __future__ import annotations

from pipeline.config.graph_methods import GraphMethodSettings
from pipeline.config.section import Positive


class Settings(GraphMethodSettings):
    model: str = "ppo"  # the trained policy, of the experiment or of the one that it names
    most_operations: Positive = 2000  # of a graph that it takes: its arrays have operations^2 entries

    @property
    def network(self) -> str:
        return self.model

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"weights"})
