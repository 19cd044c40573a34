"""Machine code that a disk has damaged is not run; what Numba has replaced is."""

import os
from pathlib import Path

import pytest

from pipeline.lab.stages import numba_files
from tests.trial.damage import flip


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(numba_files, "ROOT", tmp_path)
    path = Path("learned_schedulers/operators/__pycache__/kernels.sum-1.py311.1.nbc")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"machine code")
    numba_files.record()
    return path


def test_damaged_code_is_deleted(compiled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert numba_files.remove_damaged() == []
    flip(compiled, 13)
    assert numba_files.remove_damaged() == [compiled] and not compiled.exists()
    assert f"{compiled} was damaged" in capsys.readouterr().err
    assert numba_files.remove_damaged() == []


def test_replaced_code_is_recorded_anew(compiled: Path) -> None:
    compiled.write_bytes(b"other machine code")
    os.utime(compiled, ns=(1, 1))
    assert numba_files.remove_damaged() == []
    numba_files.record()
    flip(compiled, 2)
    assert numba_files.remove_damaged() == [compiled]


def test_in_another_folder_nothing_is_looked_at(
    compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flip(compiled, 2)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert numba_files.remove_damaged() == []
