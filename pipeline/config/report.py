"""What the report shows."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pipeline.config.section import Section


class Report(Section):
    experiments: Annotated[list[str], Field(min_length=1)]  # on blocks
    graph_experiments: list[str] = []  # on computation graphs
