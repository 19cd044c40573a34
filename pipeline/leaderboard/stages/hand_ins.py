"""Check the results that were handed in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from learned_schedulers.bench.results import HandIn, over_bound, read, standing
from pipeline.lab import tables
from pipeline.lab.stages import options
from pipeline.leaderboard.tables import HAND_INS


def main(
    hand_ins: options.Out,
    handed: Annotated[list[Path] | None, typer.Option(help="Results, as `compare --out` writes them.")] = None,
    frozen: Annotated[list[Path] | None, typer.Option(help="The frozen instances, which the library reads.")] = None,
) -> None:
    """Write a row for each file: the result, or why it is refused. A file that is refused stops no other."""
    tables.write_rows([row_of(path) for path in sorted(handed or [])], HAND_INS, hand_ins)


def row_of(path: Path) -> dict[str, Any]:
    """The row of a file."""
    row: dict[str, Any] = {"file": path.name, "refused": ""}
    empty = {
        field.name: "" if str(field.type) == "string" else 0 if str(field.type) == "int64" else np.nan
        for field in HAND_INS.schema
    }
    try:
        return empty | row | _columns(read(path))
    except ValueError as error:
        reason = " ".join(str(error).replace(f"{path}", path.name).split())
        return empty | row | {"refused": reason}


def _columns(result: HandIn) -> dict[str, Any]:
    stands = standing(result.set, result.target, result.run)
    bound = over_bound(result.set, result.target, result.run)
    made_by = result.provenance
    return {
        **{name: getattr(result, name) for name in ("set", "target", "method", "sees", "budget")},
        **stands.model_dump(),
        "graphs": int((~np.isnan(result.run.array)).any(0).sum()),
        "settings": json.dumps(result.settings, sort_keys=True),
        "over_bound": np.nan if bound is None else bound.value,
        "members": len(result.graph_ids),
        "seeds": len(result.run.seeds),
        "seconds": float(np.mean(result.run.seconds)),
        "processor": made_by.processor,
        "date": result.date.isoformat(),
        "package": made_by.method_package,
        "library": made_by.library,
        "sources": made_by.sources,
    }
