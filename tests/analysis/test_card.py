import pandas as pd
import pytest

from pipeline.report.corpus.card import card
from tests.analysis import synthetic


def test_what_is_on_the_card() -> None:
    blocks, dags, splits = synthetic.corpus(100)
    legal = splits.merge(dags, on="block_id").assign(dependencies="full")
    skipped = pd.DataFrame(
        [["qt56", f"lib{i}.so", "no .eh_frame", "none"] for i in range(5)],
        columns=["source", "program", "reason", "remedy"],
    )
    found = card(blocks[["source", "compiler"]].astype("category"), skipped, legal, n_names=2)
    assert found.compilers == dict.fromkeys(["ffprobe", "qt56"], "GCC: (GNU) 4.9.1 20140922 (Red Hat 4.9.1-10)")
    assert [row[1] for row in found.splits] == ["training", "development", "test"]
    assert found.skipped == [["qt56", "no .eh_frame", 5, "lib0.so, lib1.so and 3 more", "none"]]
    training = legal[legal["split"] == "training"]["n_legal_orders"]
    assert found.splits[0][5] == pytest.approx((1 / training).mean())
