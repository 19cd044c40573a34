"""Exact matches of sets and of their parts, by hand."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from pipeline.imitation.numbers import evaluate
from pipeline.lab.config.intervals import Intervals
from pipeline.lab.evaluation import Evaluation
from pipeline.lab.inputs import Inputs
from tests.analysis import laid

LENGTHS = {"a": 2, "b": 3, "c": 8}
GCC: dict[str, laid.Order] = {block: tuple(range(n)) for block, n in LENGTHS.items()}
LATE: laid.Order = (0, 2, 1)
PLACE = {"experiment": "imitation", "set": "test_4_40", "target": "gcc", "method": "pointer"}
MULTIPLY, ADD = bytes.fromhex("f20f59c8"), bytes.fromhex("4883c201")


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    root = tmp_path_factory.mktemp("imitation")
    code = {"a": ADD * 2, "b": MULTIPLY + ADD * 2, "c": ADD * 8}
    blocks = pd.DataFrame({"block_id": list(code), "masked_code": list(code.values()), "code": list(code.values())})
    words = dict.fromkeys(("source", "program", "compiler", "section"), "")
    numbers = dict.fromkeys(("address", "n_instructions", "occurrences"), 1)
    blocks = blocks.assign(**words, **numbers, relocatable=False)
    beliefs = pd.DataFrame({"block_id": list("abc"), "confidence": [0.5, 0.55, 0.995], "exact_match": [1.0, 0.0, 1.0]})
    inputs = Inputs(
        "imitation",
        Intervals(bootstrap_samples=50, confidence=0.95),
        sets=[laid.a_set(root, "test_4_40", LENGTHS)],
        dags=[laid.graphs(root, LENGTHS, {"a": [(0, 1)]})],
        blocks=[laid.lay(root, "blocks", blocks)],
        schedules=[
            laid.schedules(root, GCC, seed=2, decoder="greedy", **PLACE),
            laid.schedules(root, GCC | {"b": LATE}, seed=1, decoder="greedy", **PLACE),
            laid.schedules(root, GCC, **(PLACE | {"method": "input_order"})),
        ],
        confidence=[
            laid.lay(root, "confidence", beliefs, seed=1, **PLACE),
            laid.lay(root, "confidence", beliefs[:0], seed=0, **(PLACE | {"method": "input_order"})),
        ],
    )
    return evaluate(inputs)


def test_sets(evaluation: Evaluation) -> None:
    whole = evaluation.results
    assert laid.number(whole, method="pointer", metric="exact_match", seed="1") == (pytest.approx(2 / 3), 3)
    assert laid.number(whole, method="pointer", metric="exact_match") == (pytest.approx(5 / 6), 3)
    assert laid.number(whole, method="pointer", metric="exact_match_multi_order", seed="1") == (0.5, 2)
    assert laid.number(whole, method="input_order", metric="exact_match") == (1, 3)
    both = whole[whole["seed"] == "all"].groupby("method")["interval_of"].unique().map(list).to_dict()
    assert both == {"input_order": ["blocks"], "pointer": ["blocks and seeds"]}


def test_parts_are_of_the_first_seed(evaluation: Evaluation) -> None:
    pieces = evaluation.parts[evaluation.parts["method"] == "pointer"]
    assert set(pieces["seed"]) == {"1"} and set(pieces["metric"]) == {"exact_match"}
    rows = pieces.set_index(["by", "part"])[["value", "n", "rank"]].T.to_dict("list")
    assert rows["length", "2-3"] == [0.5, 2, 0] and rows["length", "8-10"] == [1, 1, 3]
    assert rows["legal_orders", "1"] == [1, 1, 0] and rows["legal_orders", "3-4"] == [0.5, 2, 2]
    assert {part: row[0] for (by, part), row in rows.items() if by == "instruction_class"} == {"integer": 1, "SSE": 0}
    assert rows["confidence", "0.50-0.60"] == [0.5, 2, 5] and rows["confidence", "0.99-1.00"] == [1, 1, 11]
    assert pieces.loc[pieces["by"] == "confidence", "confidence"].tolist() == [pytest.approx(0.525), 0.995]
    wide = pieces[(pieces["by"] == "length") & (pieces["rank"] == 0)].iloc[0]
    assert 0 < wide["low"] < 0.5 < wide["high"] < 1  # Wilson's
    assert not (evaluation.parts[evaluation.parts["method"] == "input_order"]["by"] == "confidence").any()


def test_tables_that_are_not_there_are_named(tmp_path: Path) -> None:
    intervals, sets = Intervals(bootstrap_samples=50, confidence=0.95), [laid.a_set(tmp_path, "test_4_40", {"a": 2})]
    with pytest.raises(ValueError, match="no table blocks"):
        evaluate(Inputs("imitation", intervals, sets=sets))
