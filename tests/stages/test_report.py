"""The stage `report` on published numbers alone: claims and pages, and nothing of an earlier run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from pipeline.lab import published, tidy
from pipeline.lab.page.pages import files as page_files
from pipeline.lab.shared_tables import GANTTS
from pipeline.lab.stages import claims, report
from pipeline.lab.wiring import ROOT

pytestmark = pytest.mark.slow


def test_examples_of_several_experiments_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bars = {"rank": 0, "graph": "g", "method": "m", "place": 0, "operation": 0, "kind": "mm", "device": 0}
    for name, end in (("devices", 1.5), ("gflownet", 2.5), ("without", None)):
        folder = tmp_path / name
        folder.mkdir()
        if end is not None:
            frame = pd.DataFrame([bars | {"begin": 0.0, "end": end, "bound": 1.0}])
            (folder / "gantts.csv").write_text(tidy.csv(frame[published.columns(GANTTS)]))
    monkeypatch.setattr(published.Provenance, "read", lambda path: path)
    frames = published.load(tmp_path.iterdir(), told_apart=True).tables["gantts"]
    assert dict(zip(frames["experiment"], frames["end"], strict=True)) == {"devices": 1.5, "gflownet": 2.5}


def test_published_numbers_alone_make_claims_and_pages(tmp_path: Path) -> None:
    folder = ROOT / "reports/published/placement_few"
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures/of_yesterday.png").write_bytes(b"")
    claims.main(tmp_path / "claims.csv", tmp_path / "metrics.json", ROOT / "reports/behaviour.json", folders=[folder])
    report.main(ROOT / "reports/behaviour.json", out=tmp_path, published=[folder], claims=tmp_path / "claims.csv")
    assert set(page_files()) <= {path.name for path in tmp_path.iterdir()}
    assert not (tmp_path / "figures/of_yesterday.png").exists() and list((tmp_path / "figures").glob("*.png"))
    (row,) = pd.read_csv(tmp_path / "claims.csv").query("claim == 'go_gain_over_hdp'").to_dict("records")
    assert f"[saves {100 * row['value']:.0f}%](#go_gain_over_hdp)" in (tmp_path / "placement.md").read_text()
    assert "Not measured yet" in (tmp_path / "policies.md").read_text()
