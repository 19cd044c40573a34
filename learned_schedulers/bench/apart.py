"""The run of another package's method in a process of its own: one that crashes, or ends the process, is reported."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from pydantic import ValidationError

from learned_schedulers.bench.budgets import Limit
from learned_schedulers.bench.kinds import Entrant
from learned_schedulers.bench.running import Run

MODULE = "learned_schedulers.bench"


def run_apart(entrant: Entrant, of_set: str, target: str, limit: Limit, seeds: list[int]) -> Run:
    """The run of a method on a set. Raises ValueError if its process ends before the result."""
    command = [sys.executable, "-m", MODULE, entrant.name, json.dumps(entrant.keys), of_set, target, str(limit)]
    folders = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": folders}
    child = subprocess.run([*command, json.dumps(seeds)], stdout=subprocess.PIPE, env=environment, check=False)
    try:
        return Run.model_validate_json(child.stdout)
    except ValidationError as error:
        status = child.returncode
        ending = f"crashed with signal {-status}" if status < 0 else f"ended with exit code {status}"
        raise ValueError(
            f"{entrant.name}: its process {ending} at the instance that stands above; a method returns, or raises"
        ) from error
