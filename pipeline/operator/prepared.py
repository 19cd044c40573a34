"""Violations that the projection leaves in this run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from pipeline.lab import tables
from pipeline.lab.page.prepared import Files, Prepared
from pipeline.operator.results import residual_rows
from pipeline.operator.tables import RESIDUALS


def prepared(files: Files, params: Mapping[str, Any]) -> Prepared:
    """Table `residuals`, and its rows of results."""
    violations = pd.concat([tables.read(RESIDUALS, path) for path in files["residuals"]])
    return Prepared({"residuals": violations}, (residual_rows(violations, params["residuals"]["shown"]),))
