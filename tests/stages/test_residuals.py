"""Violations by number of iterations, on a synthetic table of DAGs."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from learned_schedulers.section import ConfigError, section
from pipeline.corpus.tables import DAGS
from pipeline.lab import tables
from pipeline.operator.residuals import measure
from pipeline.operator.settings import Residuals
from pipeline.operator.stages import residuals
from pipeline.operator.tables import RESIDUALS
from tests.analysis import synthetic

pytestmark = pytest.mark.slow

SETTINGS = {
    "seed": 3,
    "lengths": [5, 7],
    "blocks": 40,
    "scale": 2.0,
    "iterations": [1, 20, 60],
    "shown": [20],
    "tolerance": 1e-5,
}


@pytest.fixture
def dags(tmp_path: Path) -> Path:
    """50 chains and 50 blocks without dependencies, of 5 instructions; none of 7."""
    _, frame = synthetic.corpus(100)
    chain = np.arange(100) % 2 == 0
    frame["before"] = [[0, 1, 2, 3] if c else [] for c in chain]
    frame["after"] = [[1, 2, 3, 4] if c else [] for c in chain]
    frame["kinds"] = [[1] * 4 if c else [] for c in chain]
    tables.write(frame, DAGS, tmp_path / "dags.parquet")
    return tmp_path / "dags.parquet"


def test_the_stage_copes_with_lengths_that_have_no_blocks(
    dags: Path, tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    out = tmp_path / "residuals.parquet"
    residuals.main(json.dumps(SETTINGS), dags, out)
    first = out.read_bytes()
    table = tables.read(RESIDUALS, out)
    assert set(table["n_instructions"]) == {5} and (table["n_blocks"] == 40).all() and (table["edges_mean"] == 4).all()
    assert len(table) == 2 * (3 * 3 + 1)
    assert "0 blocks of 7 instructions have a dependency" in capfd.readouterr().err
    residuals.main(json.dumps(SETTINGS), dags, out)
    assert out.read_bytes() == first
    residuals.main(json.dumps(SETTINGS | {"lengths": [7]}), dags, out)
    assert tables.read(RESIDUALS, out).empty


def test_blocks_are_drawn_by_seed_and_have_dependencies(dags: Path) -> None:
    assert residuals.drawn(dags, 5, 1000, 0).shape == (50, 5, 5)
    assert (residuals.drawn(dags, 5, 30, 0).sum((1, 2)) == 4).all()


def rows(settings: Residuals, n: int = 8) -> tuple[np.ndarray, pd.DataFrame]:
    rng = np.random.default_rng(0)
    precedes = np.triu(rng.random((60, n, n)) < 0.3, 1)
    return precedes, measure(precedes, settings).set_index(["proposal", "method", "iterations"])


def test_stragglers_show_before_nearest_finishes_them_and_not_after() -> None:
    _, table = rows(Residuals.model_validate(SETTINGS))
    alone, whole = table.loc[("logits", "extrapolated_alone", 1)], table.loc[("logits", "extrapolated", 1)]
    assert 0 < alone["straggler_share"] == whole["straggler_share"]
    assert alone["residual_max"] > 0.1 and whole["residual_max"] < 1.2e-5
    assert 1 - alone["within_share"] == pytest.approx(alone["straggler_share"])
    enough = table.loc[("logits", "extrapolated_alone", 60)]
    assert enough["straggler_share"] == 0 and enough["residual_max"] < 1.2e-5


def test_what_is_shown_must_be_measured() -> None:
    with pytest.raises(ConfigError, match=r"shown names \[30\]"):
        section(Residuals, json.dumps(SETTINGS | {"shown": [30]}))
