"""The process of apart.py: `python -m learned_schedulers.bench NAME SETTINGS SET TARGET BUDGET SEEDS`."""

from __future__ import annotations

import json
import os
import sys

from learned_schedulers.bench.budgets import Limit
from learned_schedulers.bench.graphs import entrant
from learned_schedulers.bench.instances import instances
from learned_schedulers.bench.running import on_stderr
from learned_schedulers.bench.stored import run_of


def main(name: str, settings: str, of_set: str, target: str, budget: str, seeds: str) -> None:
    """Write the run to stdout as JSON; what the method itself prints goes to stderr."""
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    entered = entrant(name, **json.loads(settings))
    progress = on_stderr(name)
    result = run_of(entered, instances(of_set), target, Limit.read(budget), json.loads(seeds), None, progress).run
    answer.write(result.model_dump_json())
    answer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
