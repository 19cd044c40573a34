from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import yaml

from pipeline import tables
from pipeline.stages.tuning import main

ROOT = Path(__file__).parents[2]


def test_a_row_for_each_trial_with_its_end_on_the_development_split(tmp_path: Path) -> None:
    trials = yaml.safe_load((ROOT / "params.test.yaml").read_text())["trials"]
    paths = []
    for number, name in enumerate(trials["models"]):
        rows = [
            {"step": step, "split": split, "loss": 1.0, "exact_match": exact, "valid_share": 0.9, "learning_rate": 0.1}
            for step, split, exact in [(1, "development", 0.1), (2, "development", 0.2 + number), (2, "training", 9.0)]
        ]
        tables.write(pd.DataFrame(rows), "history", tmp_path / f"{name}.parquet")
        paths.append(tmp_path / f"{name}.parquet")
    main(json.dumps(trials), paths, tmp_path / "trials.csv")
    found = pd.read_csv(tmp_path / "trials.csv")
    assert list(found.trial) == list(trials["models"])
    assert list(found.exact_match) == [0.2, 1.2]
    assert list(found.loss) == ["cross_entropy", "fenchel_young"]
