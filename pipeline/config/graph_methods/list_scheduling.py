"""Settings of graphs/schedulers/list_scheduling.py: it has none, and draws nothing."""

from __future__ import annotations

from pipeline.config.graph_methods import GraphMethodSettings


class Settings(GraphMethodSettings):
    @property
    def draws(self) -> bool:
        return False
