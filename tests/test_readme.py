"""The README's table is that of the committed reports/results.csv (a run of one's own may differ)."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[1]
COLUMNS = [("quick", "full"), ("quick", "paper"), ("paper", "paper")]


def test_every_number_is_in_the_results() -> None:
    committed = subprocess.run(
        ["git", "show", "HEAD:reports/results.csv"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    results = pd.read_csv(io.StringIO(committed.stdout), dtype={"seed": str})
    value = results[results.seed == "all"].set_index(["experiment", "dependencies", "scheduler", "decoder", "metric"])
    rows = [
        [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        for line in (ROOT / "README.md").read_text().splitlines()
        if line.startswith("| `") and line.count("%") >= 6
    ]
    assert len(rows) == 7
    for scheduler, decoder, _, *cells in rows:
        for place, found in zip(COLUMNS, cells, strict=True):
            shares = [value.value[*place, scheduler, decoder, m] for m in ("exact_match", "valid_share")]
            assert found == ", ".join(f"{100 * share:.1f}%" for share in shares), (scheduler, decoder, place)
