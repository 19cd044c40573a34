import pandas as pd
import pytest

from pipeline.evidence.card import card
from tests.evidence import synthetic


def test_counts_add_up() -> None:
    blocks, dags, splits = synthetic.corpus(100)
    legal = splits.merge(dags, on="block_id").assign(dependencies="full")
    skipped = pd.DataFrame(
        [["qt56", f"lib{i}.so", "no .eh_frame", "none"] for i in range(5)],
        columns=["source", "program", "reason", "remedy"],
    )
    found = card(blocks, skipped, legal, n_programs=4, n_names=2)
    assert found.n_blocks == 100
    assert found.n_occurrences == blocks["occurrences"].sum()
    assert sum(row[2] for row in found.by_program) == 100
    assert [row[1] for row in found.splits] == ["training", "development", "test"]
    assert found.skipped == [["qt56", "no .eh_frame", 5, "lib0.so, lib1.so and 3 more", "none"]]
    training = legal[legal["split"] == "training"]["n_legal_orders"]
    assert found.splits[0][5] == pytest.approx((1 / training).mean())
