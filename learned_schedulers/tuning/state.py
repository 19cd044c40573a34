"""Where tuning keeps what it makes: a folder for each project, in the user's cache."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

_PROJECTS = 8  # whose intermediate code stays
_LARGE = ("code", "objects", "apart", "variants", "judge")


def state_of(work: Path) -> Path:
    """The folder of a project."""
    cache = os.environ.get("LEARNED_SCHEDULERS_CACHE") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    name = hashlib.sha256(str(work.resolve()).encode()).hexdigest()[:16]
    return Path(cache, "learned-schedulers", "tune", name)


def bounded(state: Path) -> None:
    """Make a project's folder, and delete what is large in those of projects that were tuned longest ago."""
    state.mkdir(parents=True, exist_ok=True)
    os.utime(state)
    others = sorted((path for path in state.parent.iterdir() if path != state), key=lambda path: path.stat().st_mtime)
    for path in others[: max(0, len(others) + 1 - _PROJECTS)]:
        for part in _LARGE:
            shutil.rmtree(path / part, ignore_errors=True)
