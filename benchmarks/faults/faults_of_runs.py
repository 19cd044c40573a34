"""Faults of whole runs: Snakemake makes everything in an empty copy, and the fault comes at a random moment."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil

from benchmarks.faults import verdicts
from benchmarks.faults.control import CHANGE, OPEN, WRITE, Control
from benchmarks.faults.damage import damaged
from benchmarks.faults.verdicts import Verdict
from benchmarks.faults.workplace import SNAKEMAKE, Ended, Process, Workplace, python

_HOURS = 3600
_DAMAGED = ("data", "data", ".cache")  # folders whose files are damaged, as often


class RunFaults:
    """Injects faults into whole runs."""

    def __init__(self, place: Workplace, library: Path) -> None:
        self._place, self._library = place, library
        self._limit = max(600.0, 15 * place.seconds)  # after which a run counts as hung
        self.kinds: dict[str, Callable[[np.random.Generator], tuple[str, str, Verdict]]] = {
            "stage killed": self._stage_killed,
            "Snakemake killed": self._snakemake_killed,
            "group killed": self._group_killed,
            "full disk": lambda rng: self._failing(rng, errno.ENOSPC, WRITE | OPEN),
            "read-only folder": lambda rng: self._failing(rng, errno.EROFS, OPEN | CHANGE),
            "damaged file": self._damaged,
            "damaged download": self._download_damaged,
            "damaged checkpoint": self._checkpoint_damaged,
            "second run": self._second,
            "clock jumps": self._clock,
        }

    def inject(self, kind: str, rules: list[str], seed: int, number: int) -> tuple[str, str, Verdict]:
        """Run everything with a fault of this kind: the rule that it hit or `all`, the moment, and how it ended.

        Case `number` of a seed is always the same, up to the speed of the machine. `rules` chooses single stages.
        """
        self._place.fresh(self._place.clean)
        return self.kinds[kind](np.random.default_rng([seed, number, 2]))

    def _moment(self, rng: np.random.Generator) -> float:
        return float(rng.uniform(0.5, self._place.seconds))

    def _stages(self) -> list[psutil.Process]:
        """The processes of stages that run in the case's folder."""
        stages = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                words = process.cmdline()
                if Path(process.cwd()) == self._place.case and words[1:3] == ["-m", "pipeline.stages"]:
                    stages.append(process)
        return stages

    def _stage_killed(self, rng: np.random.Generator) -> tuple[str, str, Verdict]:
        process, moment = self._place.start(SNAKEMAKE), self._moment(rng)
        time.sleep(moment)
        rule = "all"
        while process.popen.poll() is None and rule == "all":
            for stage in self._stages():
                with suppress(psutil.Error):
                    rule = stage.cmdline()[3]
                    stage.kill()
                    break
            time.sleep(0.02)
        return rule, f"after {moment:.1f} s", self._judge(process.wait(self._limit))

    def _snakemake_killed(self, rng: np.random.Generator) -> tuple[str, str, Verdict]:
        process, moment = self._place.start(SNAKEMAKE), self._moment(rng)
        time.sleep(moment)
        with suppress(ProcessLookupError):
            os.kill(process.popen.pid, signal.SIGKILL)
        return "all", f"after {moment:.1f} s", self._judge(process.wait(self._limit))

    def _group_killed(self, rng: np.random.Generator) -> tuple[str, str, Verdict]:
        process, moment = self._place.start(SNAKEMAKE), self._moment(rng)
        time.sleep(moment)
        process.kill_group()
        return "all", f"after {moment:.1f} s", self._judge(process.wait(self._limit))

    def _failing(self, rng: np.random.Generator, error: int, kinds: int) -> tuple[str, str, Verdict]:
        moment = self._moment(rng)
        with Control(self._library, self._place.scratch / "control", self._place.case) as control:
            process = self._place.start(SNAKEMAKE, control.environment)
            time.sleep(moment)
            control.set(error=error, kinds=kinds, first=0)
            ended = process.wait(self._limit)
        return "all", f"{errno.errorcode[error]} from {moment:.1f} s on", self._judge(ended)

    def _clock(self, rng: np.random.Generator) -> tuple[str, str, Verdict]:
        moment, hours = self._moment(rng), int(rng.integers(1, 49)) * int(rng.choice([-1, 1]))
        with Control(self._library, self._place.scratch / "control", self._place.case) as control:
            process = self._place.start(SNAKEMAKE, control.environment)
            time.sleep(moment)
            control.set(seconds=hours * _HOURS)
            ended = process.wait(self._limit)
        return "all", f"{hours:+d} hours after {moment:.1f} s", self._judge(ended)

    def _second(self, rng: np.random.Generator) -> tuple[str, str, Verdict]:
        """A second run beside the first: Snakemake's lock refuses it, and the first one ends well."""
        first, moment = self._place.start(SNAKEMAKE), self._moment(rng)
        time.sleep(moment)
        second = self._place.start(SNAKEMAKE, name="second").wait(self._limit)
        ended = first.wait(self._limit)
        verdict = self._judge(ended)
        if second.code not in (0, None) and verdict.outcome == "same bytes":
            message = verdicts.first_error(second.text)
            verdict = Verdict("refused" if verdicts.helps(second.text) else "no remedy", verdict.commands, message)
        return "all", f"after {moment:.1f} s", verdict

    def _damaged(self, rng: np.random.Generator) -> tuple[str, str, Verdict]:
        """Between two commands: the first makes everything up to one job, the second the rest."""
        job = self._place.jobs[int(rng.integers(len(self._place.jobs)))]
        ended = self._place.run([*SNAKEMAKE, job.outputs[0]], self._limit)
        if ended.code != 0:
            return job.rule, "before any fault", self._judge(ended)
        return job.rule, self._damage(rng, _DAMAGED), self._judge(self._place.run(SNAKEMAKE, self._limit))

    def _download_damaged(self, rng: np.random.Generator) -> tuple[str, str, Verdict]:
        """The cached download or its copy, before what reads it has run."""
        ended = self._place.run([*SNAKEMAKE, *self._raw()], self._limit)
        if ended.code != 0:
            return "fetch", "before any fault", self._judge(ended)
        moment = self._damage(rng, (".cache/artifacts", "data/raw"))
        return "fetch", moment, self._judge(self._place.run(SNAKEMAKE, self._limit))

    def _raw(self) -> list[str]:
        return sorted(name for job in self._place.jobs if job.rule == "fetch" for name in job.outputs)

    def _checkpoint_damaged(self, rng: np.random.Generator) -> tuple[str, str, Verdict]:
        """All is killed as soon as a training has saved its state, which is then damaged."""
        process = self._place.start(SNAKEMAKE)
        folder = self._place.case / ".cache/checkpoints"
        while process.popen.poll() is None and not list(folder.glob("*.pt")):
            time.sleep(0.005)
        process.kill_group()
        ended = process.wait(self._limit)
        if not list(folder.glob("*.pt")):
            return "train", "no checkpoint was left", self._judge(ended)
        moment = self._damage(rng, (".cache/checkpoints",))
        return "train", moment, self._judge(ended)

    def _damage(self, rng: np.random.Generator, folders: tuple[str, ...]) -> str:
        """Damage a file, that is not empty, in one of these folders; says which and how."""
        room = self._place.case / folders[int(rng.integers(len(folders)))]
        paths = sorted(
            path
            for path in room.rglob("*")
            if path.is_file() and path.stat().st_size and not path.name.endswith(".part")
        )
        path = paths[int(rng.integers(len(paths)))]
        return f"{path.relative_to(self._place.case)}: {damaged(path, rng)}"

    def _judge(self, ended: Ended) -> Verdict:
        """Compare the bytes; where the run failed, do what `make reproduce` does: recover, and run again.

        If the message names files to delete, they are deleted before; those that are not needed are then asked for.
        """
        message = ""
        deleted: list[str] = []
        for commands in range(3):
            if ended.code is None:
                self._stop()
                return Verdict("hang", commands, verdicts.first_error(ended.text))
            if ended.code == 0:
                if absent := [name for name in deleted if not (self._place.case / name).exists()]:
                    self._place.run([*SNAKEMAKE, *absent], self._limit)  # nothing needed them
                if differing := self._place.differing():
                    return Verdict("silent", commands, f"{', '.join(differing[:3])} differ; {message}")
                return Verdict("refused" if deleted else "same bytes", commands, message)
            message = message or ("killed" if ended.code == -signal.SIGKILL else verdicts.first_error(ended.text))
            if verdicts.helps(ended.text):
                for path in verdicts.named_files(ended.text, self._place.case):
                    path.unlink()
                    deleted.append(str(path.relative_to(self._place.case)))
            self._stop()
            ended = self._place.run(SNAKEMAKE, self._limit)
        self._stop()
        return Verdict("no remedy", 2, message)

    def _stop(self) -> None:
        """Stop what is left of a killed run and clear its lock, as `make reproduce` does first."""
        recovery: Process = self._place.start(python("-m", "pipeline.recovery"), name="recovery")
        recovery.wait(60)
