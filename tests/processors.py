"""Digests of the tiny corpus's tables and weights, and the kinds of processor that gave them.

`python -m tests.processors` makes the tables and writes the digests anew, after an intended change of numbers; the list
of processors begins again then.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from pipeline.analysis.provenance import machine
from pipeline.trial.copies import ROOT, copy_of_repository, digests, run

RECORD = ROOT / "tests/tiny/digests.json"


def tables(folder: Path) -> dict[str, str]:
    """File -> SHA-256 of all tables and weights of a run."""
    return {name: digest for name, digest in digests(folder, "data").items() if not name.endswith(".json")}


def write(processors: list[str], tables_now: dict[str, str]) -> None:
    RECORD.write_text(json.dumps({"processors": sorted(processors), "tables": tables_now}, indent=1) + "\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        folder = copy_of_repository(Path(temporary) / "copy")
        run(folder, "snakemake", "-j2")
        write([machine().kind], tables(folder))
