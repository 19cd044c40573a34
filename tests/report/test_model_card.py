"""A model card says which training was chosen and how good it is."""

import pandas as pd
import torch

from pipeline.blocks.models.inputs import Vocabulary
from pipeline.blocks.models.ordering_network import OrderingNetwork
from pipeline.report import model_card
from tests.blocks.models import imitated
from tests.report import imitations


def history(*losses: float) -> pd.DataFrame:
    rows = [(100 * (k + 1), "development", loss, 0.5 + k / 10, 1.0, 0.1) for k, loss in enumerate(losses)]
    rows.append((100, "training", 0.0, float("nan"), float("nan"), 0.1))
    return pd.DataFrame(rows, columns=["step", "split", "loss", "exact_match", "valid_share", "learning_rate"])


def test_the_lowest_development_loss_comes_first() -> None:
    best = model_card.best({"0": history(0.4, 0.3, 0.5), "1": history(0.2, 0.9), "10": history(0.2), "2": history(1)})
    assert list(best) == ["1", "10", "0", "2"]
    assert best["0"]["step"] == 200


def test_the_card_tells_of_the_shipped_seed_alone() -> None:
    torch.manual_seed(0)
    network = OrderingNetwork(Vocabulary(["mov", "add"]), imitated.settings())
    chosen = model_card.best({"0": history(0.4), "1": history(0.25, 0.2)})
    results = imitations.main_results().query("method == 'attention_pointer'")
    results.loc[(results["seed"] == "0") & (results["metric"] == "exact_match"), "value"] = 0.123
    results.loc[(results["seed"] == "1") & (results["metric"] == "exact_match"), "value"] = 0.456
    text = model_card.card("x.safetensors", network, 1_500_000, chosen, results, 12345, ["a", "b"])
    assert "45.6%" in text and "12.3%" not in text
    assert "| 1 | 200 | 0.2000 | 60.0% | yes |" in text and "| 0 | 100 | 0.4000 | 50.0% |  |" in text
    assert "12,345 distinct blocks of a and b" in text and "1.5 MB" in text
    assert "one sample" not in text and "from 2 trainings" in text
