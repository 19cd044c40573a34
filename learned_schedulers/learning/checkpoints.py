"""Checkpoints, from which an interrupted training continues; the hash of all inputs names the file.

The first line of a file is the sha256 of the rest, which torch wrote.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import torch

from learned_schedulers.files import replacing

_FOLDER = Path(".cache/checkpoints")


class Checkpoint:
    """The state of one training; its settings and its input files, those of its code among them, identify it."""

    def __init__(self, settings: str, inputs: Sequence[Path]) -> None:
        digest = hashlib.sha256(settings.encode())
        for path in inputs:
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        self._path = _FOLDER / f"{digest.hexdigest()}.pt"

    def load(self) -> dict[str, Any] | None:
        """The last saved state, or None. A damaged file is set aside, with a message on stderr, and never loaded."""
        if not self._path.exists():
            return None
        digest, _, content = self._path.read_bytes().partition(b"\n")
        if digest != _digest(content):
            aside = self._path.with_suffix(".damaged")
            os.replace(self._path, aside)
            print(
                f"{self._path} is damaged: it is now {aside.name}; training starts from the beginning", file=sys.stderr
            )
            return None
        state: dict[str, Any] = torch.load(BytesIO(content), weights_only=True)
        return state

    def save(self, state: dict[str, Any]) -> None:
        content = BytesIO()
        torch.save(state, content)
        with replacing(self._path) as temporary:
            temporary.write_bytes(_digest(content.getvalue()) + b"\n" + content.getvalue())

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
