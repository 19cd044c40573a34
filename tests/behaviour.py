"""The record of what the pipeline does on the tiny corpus, and the kinds of processor that gave it.

`python -m tests.behaviour` makes the tables and writes their digests anew, after an intended change of numbers; the
list of processors begins again then.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from pipeline.lab import behaviour
from pipeline.lab.provenance import machine
from tests.trial.copies import PUBLISHED, ROOT, TIMED, copy_of_repository, run

RECORD = ROOT / behaviour.RECORD


def tables(folder: Path) -> dict[str, str]:
    """Name -> digest of all tables and weights of a run, but for times, and for results that people hand in."""
    others = (*(f"experiments/{name}/" for name in TIMED), "leaderboard#")
    return {name: digest for name, digest in behaviour.digests(folder / "data").items() if not name.startswith(others)}


def write(processors: list[str], tables_now: dict[str, str]) -> None:
    RECORD.write_text(json.dumps({"processors": sorted(processors), "tables": tables_now}, indent=1) + "\n")


def make(folder: Path) -> dict[str, str]:
    """All that the pipeline makes in a copy of the repository, and all that is published in it."""
    run(folder, "snakemake", "-c2")
    computed = [f"data/published/{name}.done" for name in PUBLISHED if name not in TIMED]
    run(folder, "snakemake", "-c2", *computed, "data/graphs/sets/tiny_executed.parquet")  # the last one: of TIMED
    return tables(folder)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        write([machine().kind], make(copy_of_repository(Path(temporary) / "copy")))
