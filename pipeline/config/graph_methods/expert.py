"""Settings of graphs/schedulers/expert.py."""

from __future__ import annotations

from typing import Literal

from pipeline.config.graph_methods import GraphMethodSettings


class Settings(GraphMethodSettings):
    by: Literal["layers", "balanced", "published"] = "layers"  # graphs/corpus/experts.py
    order: Literal["rule", "graph"] = "rule"  # of the operations: the one rule of ordering, or by their numbers

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"target", "expert"})

    @property
    def draws(self) -> bool:
        return False
