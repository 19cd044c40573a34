"""Experiments that the report evaluates."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from learned_schedulers.section import Section


class Report(Section):
    experiments: Annotated[list[str], Field(min_length=1)]  # on blocks
    graph_experiments: Annotated[list[str], Field(min_length=1)]  # on computation graphs

    @property
    def all(self) -> list[str]:
        """Every experiment that is evaluated with the report."""
        return [*self.experiments, *self.graph_experiments]
