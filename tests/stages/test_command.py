"""List options as shells write them, and errors as one message."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import pytest
import typer

from pipeline.lab import chapters
from pipeline.lab.stage_command import repeated, run


def test_lists_are_repeated_options() -> None:
    assert repeated(["--x", "a", "b", "--y", "1", "--z"]) == ["--x", "a", "--x", "b", "--y", "1", "--z"]


def command(monkeypatch: pytest.MonkeyPatch, error: Exception | None) -> list[Path]:
    arguments: list[Path] = []

    def main(paths: Annotated[list[Path], typer.Option()]) -> None:
        arguments.extend(paths)
        if error is not None:
            raise error

    monkeypatch.setattr(sys, "argv", ["stage", "--paths", "a", "b"])
    with pytest.raises(SystemExit) as stopped:
        run(main)
    assert (stopped.value.code or 0) == (0 if error is None else 1)
    return arguments


def test_arguments_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    assert command(monkeypatch, None) == [Path("a"), Path("b")]


def test_an_expected_error_is_one_message(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    command(monkeypatch, ValueError("blocks.parquet: no block; name more files"))
    assert capsys.readouterr().err == "error: blocks.parquet: no block; name more files\n"


def test_a_full_disk_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    command(monkeypatch, OSError(errno.ENOSPC, "No space left on device"))
    assert "the disk is full: free some space" in capsys.readouterr().err


def test_help_lists_every_stage_with_what_it_does() -> None:
    command = [sys.executable, "-m", "pipeline", "--help"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(chapters.stages()) and all(
        len(line.split()) > 3 for line in lines
    )
