"""Whole runs are killed: Snakemake makes everything in an empty copy, and SIGKILL comes at a random moment."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil

from benchmarks.faults import verdicts
from benchmarks.faults.verdicts import Verdict
from benchmarks.faults.workplace import SNAKEMAKE, Ended, Process, Workplace, python


class RunFaults:
    """Kills whole runs."""

    def __init__(self, place: Workplace) -> None:
        self._place = place
        self._seconds = place.seconds  # that a run takes
        self._limit = max(600.0, 15 * place.seconds)  # after which a run counts as hung
        self.kinds: dict[str, Callable[[Process], str]] = {
            "stage killed": self._stage_killed,
            "Snakemake killed": self._snakemake_killed,
            "group killed": self._group_killed,
        }

    def inject(self, kind: str, seed: int, number: int) -> tuple[str, str, Verdict]:
        """Run everything and kill: the rule that was hit or `all`, the moment, and how it ended.

        Case `number` of a seed is always the same, up to the speed of the machine. A run that ends before its moment is
        no case: it says how long a run takes now, and the next moment lies before that.
        """
        random = np.random.default_rng([seed, number, 2])
        while True:
            self._place.empty()
            moment, began = float(random.uniform(0.5, self._seconds)), time.monotonic()
            process = self._place.start(SNAKEMAKE)
            try:
                code = process.popen.wait(moment)
            except subprocess.TimeoutExpired:
                break
            assert code == 0, f"a run that nobody killed failed: {process.wait(1).text[-2000:]}"
            self._seconds = time.monotonic() - began
        rule = self.kinds[kind](process)
        return rule, f"after {moment:.1f} s", self._judge(process.wait(self._limit))

    def _stage_killed(self, process: Process) -> str:
        """The first stage that is seen; its rule."""
        while process.popen.poll() is None:
            for stage in self._stages():
                with suppress(psutil.Error):
                    rule = stage.cmdline()[3]
                    stage.kill()
                    return rule
            time.sleep(0.02)
        return "all"

    def _snakemake_killed(self, process: Process) -> str:
        with suppress(ProcessLookupError):
            os.kill(process.popen.pid, signal.SIGKILL)
        return "all"

    def _group_killed(self, process: Process) -> str:
        process.kill_group()
        return "all"

    def _stages(self) -> list[psutil.Process]:
        """The processes of stages that run in the case's folder."""
        stages = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                if process.cmdline()[1:3] == ["-m", "pipeline"] and Path(process.cwd()) == self._place.case:
                    stages.append(process)
        return stages

    def _judge(self, ended: Ended) -> Verdict:
        """Compare the bytes; where the run failed, do what `make reproduce` does: recover, and run again."""
        message = ""
        for commands in range(3):
            if ended.code is None:
                self._recover()
                return Verdict("hang", commands, verdicts.first_error(ended.text))
            if ended.code == 0:
                differing = self._place.differing()
                if differing:
                    return Verdict("silent", commands, f"{', '.join(differing[:3])} differ; {message}")
                return Verdict("same bytes", commands, message)
            message = message or ("killed" if ended.code == -signal.SIGKILL else verdicts.first_error(ended.text))
            self._recover()
            ended = self._place.run(SNAKEMAKE, self._limit)
        self._recover()
        return Verdict("no remedy", 2, message)

    def _recover(self) -> None:
        """Stop what is left of a killed run and clear its lock, as `make reproduce` does first."""
        self._place.run(python("-m", "pipeline.lab.recovery"), limit=60)
