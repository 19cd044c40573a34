"""Faults of single stages: each is one command, with all its inputs there and its outputs missing."""

from __future__ import annotations

import errno
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from zlib import crc32

import numpy as np
import psutil

from benchmarks.faults import verdicts
from benchmarks.faults.control import CHANGE, NEVER, OPEN, WRITE, Control, fails
from benchmarks.faults.verdicts import Verdict
from benchmarks.faults.workplace import Ended, Job, Workplace, stage_command
from pipeline.lab.stages.numba_files import kernels
from pipeline.lab.trial.damage import damaged, flip, unlinked

_LIMIT = 120.0  # seconds after which a stage of at most 20 s counts as hung, on a busy machine
_HOURS = 3600
_COMPILED = (
    "dags",
    "split",
    "sets",
    "schedule",
    "train",
    "sweep",
    "examples",
    "residuals",
    "ingest",
    "schedule_graphs",
)


class StageFaults:
    """Injects faults into the jobs of the undisturbed run."""

    def __init__(self, place: Workplace, library: Path) -> None:
        self._place, self._library = place, library
        self._rng, self._visit = np.random.default_rng(0), 0
        self._calls_of: dict[tuple[str, int], int] = {}  # job and kinds of calls -> how many it makes
        self.kinds: dict[str, Callable[[Job], tuple[str, Verdict]]] = {
            "killed": self._killed,
            "full disk, one write": lambda job: self._failing(job, errno.ENOSPC, WRITE | OPEN, once=True),
            "full disk": lambda job: self._failing(job, errno.ENOSPC, WRITE | OPEN, once=False),
            "read-only folder": lambda job: self._failing(job, errno.EROFS, OPEN | CHANGE, once=False),
            "no access": lambda job: self._failing(job, errno.EACCES, OPEN | CHANGE, once=True),
            "clock jumps": self._clock,
            "damaged input": self._damaged,
            "damaged answers": self._answers_damaged,
            "damaged machine code": self._code_damaged,
            "twice at once": self._twice,
            "damaged checkpoint": self._checkpoint_damaged,
        }

    def inject(self, kind: str, rules: list[str], seed: int, number: int) -> tuple[str, str, Verdict]:
        """Run a job of these rules with a fault of this kind: its rule, the moment, and how it ended.

        Case `number` of a seed is always the same. Cases in succession hit a job's calls in succession.
        """
        self._rng, self._visit = np.random.default_rng([seed, number, 1]), number // len(self.kinds)
        jobs = [job for job in self._place.jobs if not rules or job.rule in rules]
        jobs = [job for job in jobs if _is_fit(kind, job)] or jobs
        names = sorted({job.rule for job in jobs})
        rule = names[int(self._rng.integers(len(names)))]
        jobs = [job for job in jobs if job.rule == rule]
        job = jobs[int(self._rng.integers(len(jobs)))]
        self._prepare(job)
        return rule, *self.kinds[kind](job)

    def _prepare(self, job: Job) -> None:
        folder = self._place.fresh()
        for path in (folder / name for name in job.outputs):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def _run(self, job: Job) -> Ended:
        return self._place.run(stage_command(job.command), _LIMIT)

    def _control(self) -> Control:
        return Control(self._library, self._place.scratch / "control", self._place.case)

    def _killed(self, job: Job) -> tuple[str, Verdict]:
        process = self._place.start(stage_command(job.command))
        moment = float(self._rng.uniform(0, 1.3 * job.seconds + 0.5))
        with suppress(psutil.TimeoutExpired):
            psutil.Process(process.popen.pid).wait(moment)
        process.kill_group()
        return f"after {moment:.2f} s", self._judge(job, process.wait(_LIMIT))

    def _failing(self, job: Job, error: int, kinds: int, once: bool) -> tuple[str, Verdict]:
        """The k-th call fails, or all from the k-th on; k walks over all calls, from a random one on."""
        key = (job.command, kinds)
        if key not in self._calls_of:
            self._calls_of[key] = max(self._calls(job, kinds), 1)
        calls = self._calls_of[key]
        number = (crc32(job.command.encode()) + self._visit) % calls
        with self._control() as control:
            control.set(**fails(error, kinds, number, number if once else NEVER))
            ended = self._place.run(stage_command(job.command), _LIMIT, control.environment)
        moment = f"{errno.errorcode[error]} at call {number + 1} of {calls}" + ("" if once else " and all after it")
        return moment, self._judge(job, ended)

    def _calls(self, job: Job, kinds: int) -> int:
        """How many calls of these kinds the undisturbed job makes."""
        with self._control() as control:
            control.set(kinds=kinds)
            ended = self._place.run(stage_command(job.command), _LIMIT, control.environment)
            assert ended.code == 0, f"with the shim alone, {job.rule} failed: {ended.text[-1000:]}"
            count = control.count
        self._prepare(job)
        return count

    def _clock(self, job: Job) -> tuple[str, Verdict]:
        hours = int(self._rng.integers(1, 49)) * int(self._rng.choice([-1, 1]))
        moment = float(self._rng.uniform(0, job.seconds))
        with self._control() as control:
            process = self._place.start(stage_command(job.command), control.environment)
            time.sleep(moment)
            control.set(seconds=hours * _HOURS)
            ended = process.wait(_LIMIT)
        return f"{hours:+d} hours after {moment:.2f} s", self._judge(job, ended)

    def _damaged(self, job: Job) -> tuple[str, Verdict]:
        """One of the files below data/ that the job reads."""
        name = str(self._rng.choice(_inputs(job)))
        moment = f"{name}: {damaged(self._place.case / name, self._rng)}"
        return moment, self._judge(job, self._run(job))

    def _answers_damaged(self, job: Job) -> tuple[str, Verdict]:
        """llvm-mca's answers that earlier jobs have left in .cache."""
        path = self._place.case / ".cache/llvm_mca.sqlite"
        written = np.flatnonzero(np.frombuffer(path.read_bytes(), np.uint8))  # pages are mostly empty
        bit = 8 * int(self._rng.choice(written)) + int(self._rng.integers(8))
        flip(path, bit)
        return f"{path.name}: bit {bit} flipped", self._judge(job, self._run(job))

    def _code_damaged(self, job: Job) -> tuple[str, Verdict]:
        """All files of Numba's machine code, or all of its indices."""
        suffix = str(self._rng.choice([".nbc", ".nbi"]))
        for path in kernels(self._place.case):
            if path.suffix == suffix:
                damaged(unlinked(path), self._rng)
        return f"all *{suffix}", self._judge(job, self._run(job))

    def _checkpoint_damaged(self, job: Job) -> tuple[str, Verdict]:
        """A training is killed as soon as it has saved its state, which is then damaged."""
        folder = self._place.case / ".cache/checkpoints"
        process = self._place.start(stage_command(job.command))
        while process.popen.poll() is None and not list(folder.glob("*.pt")):
            time.sleep(0.002)
        process.kill_group()
        ended, moment = process.wait(_LIMIT), "no checkpoint was left"
        for path in folder.glob("*.pt"):
            moment = damaged(path, self._rng)
        return moment, self._judge(job, ended)

    def _twice(self, job: Job) -> tuple[str, Verdict]:
        first = self._place.start(stage_command(job.command))
        moment = float(self._rng.uniform(0, job.seconds))
        time.sleep(moment)
        second = self._place.start(stage_command(job.command), name="second")
        ends = [first.wait(_LIMIT), second.wait(_LIMIT)]
        worse = next((end for end in ends if end.code != 0), ends[0])
        return f"the second {moment:.2f} s later", self._judge(job, worse)

    def _judge(self, job: Job, ended: Ended) -> Verdict:
        """Compare the bytes; where the command failed, type it again, after the remedy if the message has one."""
        message, refused = "", False
        for commands in range(3):
            if ended.code is None:
                return Verdict("hang", commands, verdicts.first_error(ended.text))
            differing = self._place.differing()
            if ended.code == 0:
                if differing:
                    return Verdict("silent", commands, f"{', '.join(differing[:3])} differ; {message}")
                return Verdict("refused" if refused else "same bytes", commands, message)
            message = message or self._message(ended)
            half = [name for name in differing if name.startswith(job.outputs) and (self._place.case / name).exists()]
            if half:
                return Verdict("half file", commands, f"{half[0]} was left; {message}")
            if verdicts.helps(ended.text):
                refused |= self._remedy(ended.text)
            elif commands == 1:
                break
            ended = self._run(job)
        return Verdict("no remedy", 2, message)

    def _remedy(self, text: str) -> bool:
        """Delete the files that the message names, and make them anew; whether there was one."""
        producers = {name: job for job in self._place.jobs for name in job.outputs}
        named = verdicts.named_files(text, self._place.case)
        for path in named:
            path.unlink()
        for name in (str(path.relative_to(self._place.case)) for path in named):
            if name in producers and not (self._place.case / name).exists():
                self._place.run(stage_command(producers[name].command), _LIMIT)
        return bool(named)

    @staticmethod
    def _message(ended: Ended) -> str:
        if ended.code in (-signal.SIGKILL, 128 + signal.SIGKILL):
            return "killed"
        return verdicts.first_error(ended.text)


def _inputs(job: Job) -> list[str]:
    return [name for name in job.inputs if name.startswith("data/")]


def _is_fit(kind: str, job: Job) -> bool:
    """Whether a fault of this kind can hit the job."""
    if kind == "damaged checkpoint":
        return job.rule == "train"
    if kind == "damaged answers":
        return job.rule == "judge"
    if kind == "damaged machine code":
        return job.rule in _COMPILED
    return kind != "damaged input" or bool(_inputs(job))
