"""The network for whole graphs in the package: the best training, its card, and refused trainings."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest
import torch

from pipeline import places, tables
from pipeline.analysis.rows import Quantity, results, row
from pipeline.config.whole_graph import WholeGraph as Settings
from pipeline.graphs.models.whole_graph.network import SHIPPED, WholeGraph, load, save
from pipeline.stages import ship_whole_graph, shipping

SETTINGS = json.dumps({"training": ["some_graphs"], "development": "d", "links": ["pcie"], "updates": 7})
SMALL = Settings(width=8, graph_layers=1, attention_layers=1, heads=2, segment=4)
PLACE = {"experiment": "e", "model": "generalised"}


def place(folder: Path, kind: str, **of: object) -> Path:
    return folder / places.path(kind, **of)


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """Three trainings; the second is the best at its end, but the first was better before."""
    for seed, before, after in ((0, 0.5, 0.9), (1, 1.0, 0.7), (2, 0.8, 0.8)):
        torch.manual_seed(seed)
        save(WholeGraph(SMALL), place(tmp_path, "network_weights", **PLACE, seed=seed))
        rows = [(1, "development", before), (2, "training", 0.01), (2, "development", after)]
        history = pd.DataFrame(rows, columns=["update", "split", "value"])[::-1]
        tables.write(history, "whole_graph_history", place(tmp_path, "whole_graph_history", **PLACE, seed=seed))
    ratio = Quantity("makespan", "ratio", "go", "simulator")
    of = {"experiment": "e", "set": "s", "decoder": "none"}
    values = [("go_zero_shot", "all", 1.042), ("go_zero_shot", "pcie", 1.5), ("other", "all", 1.6)]
    rows_of = [row(of | {"method": name, "target": link}, ratio, value, seed="all") for name, link, value in values]
    tables.write(results(rows_of), "results", place(tmp_path, "results", experiment="e"))
    return tmp_path


def ship(folder: Path, out: Path) -> None:
    networks = folder / "data/experiments/e/networks"
    weights, history = (
        sorted(networks.glob(f"*/*/{name}")) for name in ("weights.safetensors", "whole_graph_history.parquet")
    )
    measured = place(folder, "results", experiment="e")
    ship_whole_graph.main(SETTINGS, weights, history, measured, ["go_zero_shot"], out)


def test_the_best_training_is_shipped_with_its_card(trained: Path, tmp_path: Path) -> None:
    ship(trained, tmp_path / "package")
    content = place(trained, "network_weights", **PLACE, seed=1).read_bytes()
    assert (tmp_path / "package" / SHIPPED.name).read_bytes() == content
    card = (tmp_path / "package/README.md").read_text()
    lines = [re.sub(r"\s+", " ", line) for line in card.splitlines() if "yes" in line]
    assert lines == ["| 1 | 0.700 | yes |"]
    assert "some_graphs" in card and "from 3 trainings" in card and "+4.2%" in card
    assert "50.0%" not in card and "60.0%" not in card


def test_what_cannot_be_shipped_leaves_nothing(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = place(trained, "network_weights", **PLACE, seed=1).stat().st_size
    with monkeypatch.context() as patch:
        patch.setattr(shipping, "LARGEST", size - 1)
        with pytest.raises(ValueError, match=f"{size} bytes of weights, at most {size - 1} are shipped"):
            ship(trained, tmp_path / "package")
    history = place(trained, "whole_graph_history", **PLACE, seed=2)
    rows = tables.read("whole_graph_history", history)
    tables.write(rows[rows["split"] == "training"], "whole_graph_history", history)
    with pytest.raises(ValueError, match="seeds 2 were not measured on development graphs"):
        ship(trained, tmp_path / "package")
    history.unlink()
    with pytest.raises(ValueError, match="seeds 2 have weights or a history alone"):
        ship(trained, tmp_path / "package")
    assert not (tmp_path / "package").exists()


def test_a_file_of_weights_is_read_back(trained: Path) -> None:
    path = place(trained, "network_weights", **PLACE, seed=0)
    assert load(path).settings == SMALL
