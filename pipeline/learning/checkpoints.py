"""Checkpoints, from which an interrupted training continues; the hash of all inputs names the file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from pipeline import tables
from pipeline.wiring import ROOT, closure

_FOLDER = Path(".cache/checkpoints")


class Checkpoint:
    """The state of one training; its settings, its input files and the code of its modules identify it."""

    def __init__(self, modules: Sequence[str], settings: str, inputs: list[Path]) -> None:
        digest = hashlib.sha256(settings.encode())
        for path in inputs:
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        for source in closure(*modules):
            digest.update((ROOT / source).read_bytes())
        self._path = _FOLDER / f"{digest.hexdigest()}.pt"

    def load(self) -> dict[str, Any] | None:
        """The last saved state, or None."""
        if not self._path.exists():
            return None
        state: dict[str, Any] = torch.load(self._path, weights_only=True)
        return state

    def save(self, state: dict[str, Any]) -> None:
        with tables.replacing(self._path) as temporary:
            torch.save(state, temporary)

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)
