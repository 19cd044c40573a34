"""The imitator in the package has the lowest development loss, and is small."""

import json
from pathlib import Path

import pandas as pd
import pytest
import torch

from pipeline import places, tables
from pipeline.analysis import rows
from pipeline.blocks.models.inputs import Vocabulary
from pipeline.blocks.models.ordering_network import SHIPPED, OrderingNetwork
from pipeline.command import order as reorder
from pipeline.stages import ship, shipping
from tests.blocks.models import imitated


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """Three trainings, of which the second is the best, with their results."""
    _, encodings, _ = imitated.corpus(4)
    for seed, loss in ((0, 0.5), (1, 0.2), (2, 0.3)):
        place = {"experiment": "imitation", "dependencies": "full", "model": "attention_pointer", "seed": seed}
        folder = (tmp_path / places.path("weights", **place)).parent
        folder.mkdir(parents=True)
        torch.manual_seed(seed)
        OrderingNetwork(Vocabulary(encodings.tokens), imitated.settings()).save(folder / "weights.safetensors")
        row = {"step": 9, "split": "development", "loss": loss, "exact_match": 0.5, "valid_share": 1.0}
        tables.write(pd.DataFrame([row | {"learning_rate": 0.1}]), "history", folder / "history.parquet")
    measured = rows.row({"experiment": "imitation", "method": "attention_pointer"}, "exact_match", 0.5)
    tables.write(rows.results([measured]), "results", tmp_path / "data/experiments/imitation/results.parquet")
    sets = pd.DataFrame({"block_id": [f"{k:032x}" for k in range(7)], "input_order": [[0, 1]] * 7})
    tables.write(sets, "sets", tmp_path / "data/sets/training.parquet")
    return tmp_path / "data"


def shipped(root: Path, out: Path) -> None:
    ship.main(
        weights=sorted(root.glob("experiments/*/models/*/*/*/weights.safetensors")),
        history=sorted(root.glob("experiments/*/models/*/*/*/history.parquet")),
        results=root / "experiments/imitation/results.parquet",
        training=root / "sets/training.parquet",
        sources=json.dumps(["qt56"]),
        out=out,
    )


def test_the_best_training_is_shipped_with_its_card(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ship, "card", described)
    shipped(trained, tmp_path / "package")
    content = (trained / "experiments/imitation/models/full/attention_pointer/1/weights.safetensors").read_bytes()
    assert (tmp_path / "package/imitator.safetensors").read_bytes() == content
    assert (tmp_path / "package/README.md").read_text() == "imitator.safetensors, seeds 1 2 0, 1 row, 7 blocks of qt56"


def described(
    file: str, network: object, n_bytes: int, chosen: dict, results: pd.DataFrame, n_blocks: int, sources: list[str]
) -> str:
    """The arguments of the card as text, in place of `report.model_card.card`."""
    return f"{file}, seeds {' '.join(chosen)}, {len(results)} row, {n_blocks} blocks of {', '.join(sources)}"


def test_weights_of_two_models_are_refused(trained: Path, tmp_path: Path) -> None:
    models = trained / "experiments/imitation/models/full"
    (models / "attention_pointer/2").rename(models / "attention_pointer/3")
    (models / "other").mkdir()
    (models / "attention_pointer/3").rename(models / "other/3")
    with pytest.raises(ValueError, match="several networks"):
        shipped(trained, tmp_path / "package")
    assert not (tmp_path / "package").exists()


def test_large_weights_are_not_shipped(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipping, "LARGEST", 100)
    with pytest.raises(ValueError, match="at most 100 are shipped"):
        shipped(trained, tmp_path / "package")


def test_the_package_schedules_without_training(tmp_path: Path) -> None:
    assert SHIPPED.stat().st_size <= shipping.LARGEST
    assert (SHIPPED.parent / "README.md").exists()
    (tmp_path / "mine.csv").write_text("4883c0014889e5488b0d1000000048ffc1,7\n")
    reorder.main([tmp_path / "mine.csv"], tmp_path / "out.csv", target="atom", by="imitator")
    code, value = (tmp_path / "out.csv").read_text().split(",")
    assert len(code) == 34 and value == "7\n"
