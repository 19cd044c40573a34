"""Settings of graphs/schedulers/contiguous.py: it has none."""

from __future__ import annotations

from pipeline.config.graph_methods import GraphMethodSettings


class Settings(GraphMethodSettings):
    pass
