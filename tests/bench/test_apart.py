"""A method runs in a process of its own with its settings; one that crashes or ends the process is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from learned_schedulers.bench.budgets import Limit
from learned_schedulers.bench.graphs import entrant
from learned_schedulers.bench.results import of_entrant

pytestmark = pytest.mark.slow

SET = "adversarial_small"
SOURCE = """
import os, sys
import numpy as np
from learned_schedulers.graphs.methods import Proposals
from learned_schedulers.method_settings import MethodSettings

class OnOne:
    class Settings(MethodSettings):
        ending: str = "none"

    def __init__(self, settings):
        self._ending = settings.ending

    def propose(self, problem, rng, budget):
        match self._ending:
            case "exit":
                os._exit(0)
            case "abort":
                os.abort()
            case "prints":
                print('{"seeds": []}', flush=True)
        n = len(problem)
        return Proposals(np.arange(n, dtype=np.int32)[None], np.zeros((1, n), np.int32))
"""


@pytest.mark.parametrize(
    ("ending", "message"), [("exit", "ended with exit code 0"), ("abort", "crashed with signal 6"), ("prints", None)]
)
def test_what_ends_the_process_is_told(
    ending: str, message: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ending_methods.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    entered = entrant("ending_methods:OnOne", ending=ending)
    contestant = of_entrant(entered, SET, "pcie", Limit("evaluations", 10), [0, 1], None)
    if message is not None:
        with pytest.raises(ValueError, match=f"ending_methods:OnOne: its process {message} at the instance"):
            contestant.run()
        return
    result = contestant.run()
    assert result.seeds == [0, 1] and not result.failures and len(result.costs[0]) == 20
