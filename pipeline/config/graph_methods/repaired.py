"""Settings of graphs/schedulers/repaired.py."""

from __future__ import annotations

from pydantic import Field

from pipeline.config.graph_methods import GraphEntry, GraphMethodSettings, graph_entry


class Settings(GraphMethodSettings):
    of: GraphEntry = Field(default_factory=lambda: graph_entry("heft"))  # the method whose schedules are repaired

    @property
    def needs(self) -> frozenset[str]:
        return self.of.needs | {"target"}

    @property
    def network(self) -> str | None:
        return self.of.network

    @property
    def draws(self) -> bool:
        return self.of.draws

    def modules(self) -> list[str]:
        return [*super().modules(), *self.of.modules()]
