"""One stage for all experiments: blocks of all lengths or of one, with or without a processor; a row for each block."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from learned_schedulers.blocks.models.inputs import Vocabulary
from learned_schedulers.blocks.models.ordering_network import OrderingNetwork
from learned_schedulers.blocks.models.pocsnet import POCSNet
from learned_schedulers.blocks.problems import instructions as descriptions
from pipeline.corpus.tables import ENCODINGS, INSTRUCTIONS
from pipeline.lab import chapters, tables
from pipeline.lab.shared_tables import CONFIDENCE, SCHEDULES
from pipeline.lab.stages import schedule
from pipeline.lab.stored_blocks import load_encodings
from pipeline.reproduction.tables import TOKENS
from tests.blocks.methods.machines import MULTIPLY, table
from tests.blocks.models import imitated, made
from tests.blocks.models.imitated import block_tables

N = 40


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, Path]:
    rng = np.random.default_rng(0)
    chosen = [rng.integers(len(imitated.INSTRUCTIONS), size=5 if number % 2 else 7) for number in range(N)]
    instructions, dags, distinct = block_tables(chosen)
    ids = instructions["block_id"].to_pylist()
    words = [(block, np.repeat(kinds + 2, 2), np.full(len(kinds), 2)) for block, kinds in zip(ids, chosen, strict=True)]
    frames = {
        "instructions": instructions.to_pandas(),
        "dags": dags.to_pandas(),
        "encodings": descriptions.tabulate(distinct),
        "sets": pd.DataFrame({"block_id": ids, "input_order": [np.arange(len(block)) for block in chosen]}),
        "tokens": pd.DataFrame(words, columns=TOKENS.schema.names),
        "vocabulary": pd.DataFrame({"token": [str(k) for k in range(20)], "token_id": range(20), "count": 1}),
        "machine_instructions": table(distinct, unknown=MULTIPLY),
    }
    for name, frame in frames.items():
        tables.write(frame, chapters.tables()[name], tmp_path / f"{name}.parquet")
    return {name: tmp_path / f"{name}.parquet" for name in frames}


def run(inputs: dict[str, Path], settings: str, batch: int = 8192, **more: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    paths = [inputs[name] for name in ("sets", "dags", "instructions", "encodings")]
    folder = inputs["sets"].parent
    outputs = [folder / "schedules.parquet", folder / "confidence.parquet"]
    schedule.main(settings, 1, *paths, *outputs, **{name: [path] for name, path in more.items()}, batch=batch)
    return tables.read(SCHEDULES, outputs[0]), tables.read(CONFIDENCE, outputs[1])


def test_an_unsupported_block_has_a_row_that_says_why_whatever_the_method(inputs: dict[str, Path]) -> None:
    distinct = tables.read(ENCODINGS, inputs["encodings"])["code"]
    number = [code.hex() for code in distinct].index(MULTIPLY)
    blocks = tables.read(INSTRUCTIONS, inputs["instructions"]).set_index("block_id")["encodings"]
    with_it = {block for block, rows in blocks.items() if number in rows}
    for method in ("haifa", "search"):
        rows, _ = run(inputs, f'{{"method": "{method}"}}', machine=inputs["machine_instructions"])
        rows = rows.set_index("block_id")
        assert len(rows) == N
        assert set(rows.index[rows["status"] == "unsupported"]) == with_it and len(with_it) not in (0, N)
        assert (rows["status"] != "unsupported").sum() == (rows["status"] == "ok").sum()
        assert set(rows.loc[list(with_it), "message"]) == {f"small: {MULTIPLY}: not known"}
        assert not rows.loc[list(with_it), "order"].map(len).any()


def test_a_network_for_all_lengths_says_how_certain_it_is(inputs: dict[str, Path], tmp_path: Path) -> None:
    torch.manual_seed(0)
    vocabulary = Vocabulary(load_encodings(inputs["encodings"]).tokens)
    OrderingNetwork(vocabulary, imitated.settings()).save(tmp_path / "weights.safetensors")
    rows, beliefs = run(inputs, '{"method": "ordering"}', weights=tmp_path / "weights.safetensors")
    assert rows.groupby("decoder").size().to_dict() == {"beam": N, "greedy": N, "sample": N}
    assert len(beliefs) == N and beliefs["confidence"].between(0, 1 + 1e-6).all()
    greedy = rows[rows["decoder"] == "greedy"].set_index("block_id")["order"]
    exact = [list(greedy[block]) == sorted(greedy[block]) for block in beliefs["block_id"]]
    assert beliefs["exact_match"].tolist() == exact


def test_pocsnet_takes_blocks_of_its_length(inputs: dict[str, Path], tmp_path: Path) -> None:
    torch.manual_seed(0)
    POCSNet(5, 20, made.SETTINGS).save(tmp_path / "weights.safetensors")
    more = {"tokens": inputs["tokens"], "vocabulary": inputs["vocabulary"], "weights": tmp_path / "weights.safetensors"}
    rows, _ = run(inputs, '{"method": "soft_permutation", "iterations": 3}', 0, **more)
    statuses = rows.drop_duplicates("block_id").set_index("block_id")
    assert (statuses["status"] == "unsupported").sum() == N // 2
    assert "the network takes blocks of 5 instructions, not of 7" in set(statuses["message"])
    solved = rows[rows["status"] != "unsupported"]
    assert set(solved["decoder"]) == {"hungarian", "topological", "expected_slots", "best"}


def test_what_is_missing_is_an_error(inputs: dict[str, Path]) -> None:
    with pytest.raises(ValueError, match=r"'soft_permutation' is not given what it needs: tokens, weights"):
        run(inputs, '{"method": "soft_permutation"}')
