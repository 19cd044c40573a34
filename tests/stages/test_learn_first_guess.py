from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from learned_schedulers.blocks.methods.on_machine import guessing
from learned_schedulers.blocks.processors.settings import Guessing
from pipeline.lab import chapters, tables
from pipeline.processors.stages import learn_first_guess
from pipeline.processors.tables import GUESS_HISTORY, MACHINE_INSTRUCTIONS
from tests.blocks.methods.machines import table
from tests.blocks.models.imitated import INSTRUCTIONS, block_tables

pytestmark = pytest.mark.slow

SETTINGS = Guessing(
    training="training", development="development", machines=["small", "other"], blocks=30, evaluations=20, rounds=2,
    moves=4, randomness=0.1, hidden=(4, 4), steps=5, batch=16, learning_rate=0.01,
).model_dump_json()  # fmt: skip


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, Path]:
    rng = np.random.default_rng(0)
    chosen = [np.sort(rng.integers(len(INSTRUCTIONS), size=size)) for size in rng.integers(6, 12, 40)]
    instructions, dags, distinct = block_tables(chosen)
    assert distinct == sorted(INSTRUCTIONS), "rows of the machine's table are those of `encodings`"
    orders = [np.arange(len(block), dtype=np.int16) for block in chosen]
    files = {
        "instructions": instructions.to_pandas(),
        "dags": dags.to_pandas(),
        "sets": pd.DataFrame({"block_id": instructions["block_id"].to_pylist(), "input_order": orders}),
    }
    for name, frame in files.items():
        tables.write(frame, chapters.tables()[name], tmp_path / f"{name}.parquet")
    return {name: tmp_path / f"{name}.parquet" for name in files}


def learn(inputs: dict[str, Path], seed: int, out: Path) -> guessing.Weights:
    machines = []
    for name, retire_width in (("small", 0), ("other", 2)):
        machines.append(out.with_name(f"{name}.parquet"))
        tables.write(table(retire_width=retire_width), MACHINE_INSTRUCTIONS, machines[-1])
    files = (machines, inputs["instructions"], inputs["dags"], inputs["sets"], inputs["sets"])
    learn_first_guess.main(SETTINGS, seed, *files, out, out.with_suffix(".history.parquet"))
    return guessing.load(out)


def test_weights_and_history_follow_from_the_seed(
    inputs: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first, second, third = (learn(inputs, seed, tmp_path / f"{k}.safetensors") for k, seed in enumerate((0, 0, 1)))
    assert all((part == other).all() for part, other in zip(first, second, strict=True))
    assert any((part != other).any() for part, other in zip(first, third, strict=True))
    history = tables.read(GUESS_HISTORY, tmp_path / "0.history.parquet")
    assert history["round"].tolist() == [0, 0, 1, 1]
    assert np.isfinite(history.loc[history["split"] == "development", "gap"]).all()
    assert "other: best orders are searched" in capsys.readouterr().err
