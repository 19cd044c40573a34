"""The lines of docs/team.md, and how they are typed in a test."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

from tests.trial.copies import ENVIRONMENT, ROOT


def lines(typed_by: str) -> list[str]:
    """The lines that a test types; its name stands before them in the document."""
    text = (ROOT / "docs/team.md").read_text()
    block = re.search(rf"<!-- typed by {re.escape(typed_by)} -->\n```sh\n(.*?)```", text, re.DOTALL)
    assert block is not None
    assert len(block[1].splitlines()) <= 10
    return block[1].splitlines()


def typed(folder: Path, *commands: str, **variables: str) -> str:
    """What the lines print, typed one after the other in a shell with this environment's commands.

    `make` takes the virtual environment for ready, because this environment is used.
    """
    ready = folder.parent / "environment_is_ready"
    ready.touch()
    os.utime(ready, (time.time() + 1e6,) * 2)
    finished = subprocess.run(
        ["bash", "-e", "-c", "\n".join(commands)],
        cwd=folder,
        env=ENVIRONMENT | {"MAKEFLAGS": "e", "READY": str(ready), "DISPLAY": "", "WAYLAND_DISPLAY": ""} | variables,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert finished.returncode == 0, f"{commands}: exit code {finished.returncode}\n{finished.stdout[-4000:]}"
    return finished.stdout
