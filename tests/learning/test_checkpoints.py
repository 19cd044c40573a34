"""A checkpoint is loaded whole or not at all."""

from pathlib import Path

import pytest
import torch

from learned_schedulers.learning.checkpoints import Checkpoint
from tests.trial.damage import flip

STATE = {"step": 3, "model": {"weight": torch.arange(4.0)}}


@pytest.fixture
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkpoint:
    monkeypatch.chdir(tmp_path)
    return Checkpoint("settings", [])


def file() -> Path:
    (path,) = Path(".cache/checkpoints").glob("*.pt")
    return path


def test_a_state_comes_back(checkpoint: Checkpoint) -> None:
    assert checkpoint.load() is None
    checkpoint.save(STATE)
    state = checkpoint.load()
    assert state is not None and state["step"] == 3
    torch.testing.assert_close(state["model"]["weight"], STATE["model"]["weight"])
    checkpoint.remove()
    assert checkpoint.load() is None


def test_no_flipped_bit_and_no_truncation_is_loaded(checkpoint: Checkpoint, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint.save(STATE)
    path = file()
    whole = path.read_bytes()
    for bit in range(0, 8 * len(whole), 7):
        flip(path, bit)
        assert checkpoint.load() is None, bit
        path.write_bytes(whole)
    for size in range(0, len(whole), 5):
        path.write_bytes(whole[:size])
        assert checkpoint.load() is None, size
    assert "training starts from the beginning" in capsys.readouterr().err
    assert not path.exists() and path.with_suffix(".damaged").exists()
    path.write_bytes(whole)
    assert checkpoint.load() is not None


def test_a_checkpoint_without_digest_is_not_loaded(checkpoint: Checkpoint) -> None:
    checkpoint.save(STATE)
    path = file()
    torch.save(STATE, path)
    assert checkpoint.load() is None
