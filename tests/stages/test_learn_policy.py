from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from learned_schedulers.blocks.methods import policy
from pipeline.lab import chapters, tables
from pipeline.processors.stages import learn_policy
from pipeline.processors.tables import MACHINE_INSTRUCTIONS
from tests.blocks.methods.machines import MULTIPLY, table
from tests.blocks.models.imitated import INSTRUCTIONS, block_tables

pytestmark = pytest.mark.slow

SETTINGS = '{"training": "training", "blocks": 30, "rollouts": 4, "rounds": 2, "randomness": 0.1}'


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


def learn(inputs: dict[str, Path], unknown: str, seed: int, out: Path) -> np.ndarray:
    machine = out.with_suffix(".parquet")
    tables.write(table(unknown=unknown), MACHINE_INSTRUCTIONS, machine)
    learn_policy.main(SETTINGS, seed, machine, inputs["instructions"], inputs["dags"], inputs["sets"], out)
    return policy.load(out)


def test_weights_follow_from_the_seed(inputs: dict[str, Path], tmp_path: Path) -> None:
    first, second, third = (learn(inputs, "", seed, tmp_path / "policy.safetensors") for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, second)
    assert (first != third).any()


def test_blocks_with_an_unknown_instruction_are_left_out_and_counted(
    inputs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    learn(inputs, MULTIPLY, 0, tmp_path / "policy.safetensors")
    messages = capsys.readouterr().err
    used, left_out = (int(part.split()[0]) for part in messages.splitlines()[0].split(";"))
    assert used > 0 and left_out > 0 and used + left_out <= 30
