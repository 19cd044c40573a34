"""Figure 3 and the example blocks of this run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.lab.page.prepared import Curve, Files, Prepared
from pipeline.lab.stages.gather import gather
from pipeline.reproduction.tables import EXAMPLES, SWEEP


def prepared(files: Files, params: Mapping[str, Any]) -> Prepared:
    """Tables `sweep`, which is drawn as a curve too, and `examples`."""
    examples = gather(EXAMPLES, files["examples"]).rename(columns={"scheduler": "method"})
    curve = Curve("sweep", (), "iterations", ("violations_per_block", "valid_share", "exact_match"))
    return Prepared({"sweep": gather(SWEEP, files["sweep"]), "examples": examples}, curves=(curve,))
