"""POCSNet's vocabulary."""

from __future__ import annotations

from pipeline.config.section import Positive, Section


class Tokens(Section):
    min_count: Positive
