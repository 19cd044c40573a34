"""An imitation's tables become CSV files that the report reads again, with the sizes of its networks."""

from pathlib import Path

import pandas as pd
import pytest

from pipeline import tables
from pipeline.blocks.models.inputs import Vocabulary
from pipeline.blocks.models.ordering_network import OrderingNetwork
from pipeline.stages import gather, publish_imitation
from tests.analysis import imitations
from tests.blocks.models import imitated

KEY = ["split", "scheduler", "decoder", "metric"]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """The folder, and how many parameters the network has."""
    root = tmp_path_factory.mktemp("imitation")
    data, sizes = root / "data/imitations/imitation", 0
    measured = imitations.main_results()
    measured = measured[measured["split"] != "training"]
    tables.write(measured, "results", data / "results.parquet")
    tables.write(imitations.parts(), "parts", data / "parts.parquet")
    for name, n in (("training", 50), ("other", 7)):
        rows = pd.DataFrame({"block_id": [f"{k:032x}" for k in range(n)], "input_order": [[0, 1]] * n})
        tables.write(rows, "sets", root / f"data/sets/{name}.parquet")
    store, encodings, _ = imitated.corpus(4)
    for model, settings in (
        ("attention_pointer", imitated.settings()),
        ("few", imitated.settings("lstm", "pairwise", blocks=20)),
        ("small", imitated.settings(training="other", blocks=20)),
    ):
        for seed in ("0", "1"):
            network = OrderingNetwork(Vocabulary.of(encodings, store.instructions, 1), settings)
            (data / model / seed).mkdir(parents=True)
            network.save(data / model / seed / "weights.safetensors")
            history = imitations.history().query("seed == @seed")[tables.SCHEMAS["history"].names]
            tables.write(history, "history", data / model / seed / "history.parquet")
            if model == "attention_pointer":
                sizes = sum(weight.numel() for weight in network.parameters())
    publish_imitation.main(
        experiment="imitation",
        results=data / "results.parquet",
        parts=data / "parts.parquet",
        histories=sorted(data.glob("*/*/history.parquet")),
        weights=sorted(data.glob("*/*/weights.safetensors")),
        training=sorted((root / "data/sets").glob("*.parquet")),
        out=root / "reports/published",
    )
    return root, sizes


def test_what_is_published_is_what_was_measured(published: tuple[Path, int]) -> None:
    root, _ = published
    files = sorted((root / "reports/published").iterdir())
    assert [path.name for path in files] == ["imitation.csv", "imitation_history.csv", "imitation_parts.csv"]
    found = gather.published(files)
    results = found["results"].set_index([*KEY, "seed"])["value"]
    wanted = imitations.main_results().query("split != 'training'").set_index([*KEY, "seed"])["value"]
    assert len(results) == len(wanted) + 9
    pd.testing.assert_series_equal(results[wanted.index], wanted, rtol=1e-5)
    parts = imitations.parts()
    assert list(found["parts"]["part"]) == list(parts["part"])  # as text: 1, 2, 3-4
    assert (found["parts"]["n_blocks"] == parts["n_blocks"]).all()
    assert found["parts"]["confidence"].isna().sum() == parts["confidence"].isna().sum() > 0
    history = found["history"]
    assert set(history["model"]) == {"attention_pointer", "few", "small"} and set(history["seed"]) == {"0", "1"}
    assert set(history["dependencies"]) == {"full"} and set(history["experiment"]) == {"imitation"}


def test_sizes_of_networks_are_rows_of_the_results(published: tuple[Path, int]) -> None:
    root, parameters = published
    rows = gather.published([root / "reports/published/imitation.csv"])["results"].query("split == 'training'")
    assert set(rows["seed"]) == {"all"} and set(rows["decoder"]) == {"none"}
    value = rows.set_index(["scheduler", "metric"])["value"]
    assert value["attention_pointer", "parameters"] == parameters
    files = [root / f"data/imitations/imitation/few/{seed}/weights.safetensors" for seed in (0, 1)]
    assert value["few", "weights_bytes"] == sum(path.stat().st_size for path in files) / 2
    blocks = {model: value[model, "train_blocks"] for model in ("attention_pointer", "few", "small")}
    assert blocks == {"attention_pointer": 50, "few": 20, "small": 7}


def test_weights_elsewhere_are_named(tmp_path: Path) -> None:
    with pytest.raises(tables.TableError, match=r"imitations/\{experiment\}"):
        gather.place(tmp_path / "weights.safetensors", "imitator_weights")
