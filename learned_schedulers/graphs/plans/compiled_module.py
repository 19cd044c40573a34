"""A module fused by TorchInductor's default and by proposals of GO's search: compiled, compared, and timed in turns.

Every candidate is compiled in a separate process with a separate folder for compiled code, and its results are compared
with eager ones. The control is the default in a second process: a smaller difference from the default than the
control's counts as no difference.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten

import numpy as np
import torch
from torch._inductor.cpu_vec_isa import valid_vec_isa_list
from torch._inductor.utils import fresh_cache

from learned_schedulers.graphs.compilers.inductor.candidate import Compilable
from learned_schedulers.graphs.compilers.inductor.levelled_choices import Levels
from learned_schedulers.graphs.compilers.inductor.nodes import Node, grouped
from learned_schedulers.graphs.compilers.inductor.processes import Candidate, timed_in_turns
from learned_schedulers.graphs.models.fusing.inductor import Compiler, learned_from_nothing
from learned_schedulers.graphs.plans.median_interval import median_interval

DEFAULT, CONTROL = "default", "control"
DIFFERENT = "results differ from eager ones"
FASTER, SLOWER, SAME = "faster", "slower", "no difference beyond the control's"
PROPOSALS = 3
ROUNDS = 25
_FAILED = "failed: "
_LONGEST_REASON = 300  # characters


class Failed(RuntimeError):
    """A module cannot be compiled or compared; the message says why."""


@dataclass(frozen=True)
class Compiled:
    """A candidate. Its times count only if its status is ok."""

    name: str
    status: str  # ok, DIFFERENT, or the reason why it was not compiled
    kernels: int | None = None  # kernels that Inductor generated, without library calls; None: it was not compiled
    difference: float = np.nan  # largest difference from eager results, relative to the largest of these
    expected: float = 1.0  # predicted time over the default's predicted time
    seconds: float = np.nan  # median time of a call over the rounds
    ratios: np.ndarray | None = None  # (rounds,) time over the default's time in the same round

    @property
    def ratio(self) -> float:
        """Median of the ratios over the rounds; NaN if it is not timed."""
        return np.nan if self.ratios is None else float(np.median(self.ratios))

    @property
    def interval(self) -> tuple[float, float]:
        """95% interval of the median ratio, by order statistics; (0, inf) if it is not timed."""
        if self.ratios is None:
            return 0.0, np.inf
        return median_interval(self.ratios)


@dataclass(frozen=True)
class Comparison:
    """The default, then the control, then the proposals; no candidates if Inductor may fuse nothing."""

    nodes: int  # number of Inductor's scheduler nodes before fusion
    candidates: tuple[Compiled, ...]

    @property
    def spread(self) -> tuple[float, float]:
        """The control's interval, extended to be symmetric around 1: which of two equals is slower is chance."""
        low, high = self.candidates[1].interval
        most = max(high, 1 / low) if low > 0 else np.inf
        return 1 / most, most

    def verdict_of(self, candidate: Compiled) -> str:
        """FASTER or SLOWER if the whole interval is beyond the control's spread, otherwise SAME."""
        (low, high), (least, most) = candidate.interval, self.spread
        if high < least:
            return FASTER
        return SLOWER if low > most else SAME


def compared(
    model: Compilable, folder: Path, seed: int, rounds: int = ROUNDS, tell: Callable[[str], None] = lambda _: None
) -> Comparison:
    """Propose, compile and time candidates. folder: for compiled code; tell: called with the current activity.

    Raises Failed if Inductor cannot compile the module, or if its default already differs from eager torch.
    """
    tell("asking Inductor for its nodes before fusion")
    nodes = nodes_of(model, folder)
    if not any(node.fusable for node in nodes):
        return Comparison(len(nodes), ())
    compiler = Compiler([nodes])
    problem = compiler.problems[0]
    proposals = learned_from_nothing(compiler, problem, PROPOSALS, seed)
    by_name = {f"proposal_{number}": proposal for number, proposal in enumerate(proposals, 1)}
    levels: dict[str, Levels | None] = {DEFAULT: None, CONTROL: None}
    levels |= {name: proposal.by_name(nodes) for name, proposal in by_name.items()}
    candidates = _candidates(model, folder, levels, rounds, tell)
    default = candidates[DEFAULT]
    if default.status == DIFFERENT:
        raise Failed(
            f"TorchInductor's own results differ from those of eager torch (relative difference "
            f"{default.difference:.0e}), so nothing is timed: dropout, for example, draws different random numbers"
        )
    if default.status != "ok":
        raise Failed(f"TorchInductor cannot compile the module: {default.status.removeprefix(_FAILED)}")
    expected = compiler.all_alike(problem).seconds
    for name, proposal in by_name.items():
        candidates[name] = replace(candidates[name], expected=proposal.seconds / expected if expected else 1.0)
    return Comparison(len(nodes), tuple(candidates.values()))


def nodes_of(model: Compilable, folder: Path) -> list[Node]:
    """Scheduler nodes before fusion. Raises Failed if the module cannot be compiled."""
    failure: Exception | None = None
    valid_vec_isa_list()  # torch probes the processor with g++ for seconds, and keeps the answers in its own folder
    with fresh_cache(dir=str(folder)), torch.random.fork_rng(devices=[]), torch.set_grad_enabled(model.training):
        try:
            module, inputs = model.build()
            nodes = grouped(module, inputs, model.training, None).nodes
        except Exception as error:  # the user's code, or torch because of it, may raise anything
            failure = error
    if failure is not None:
        reason = shorten(f"{type(failure).__name__}: {failure}", _LONGEST_REASON)
        raise Failed(f"TorchInductor cannot compile the module: {reason}") from failure
    return nodes


def _candidates(
    model: Compilable, folder: Path, levels: Mapping[str, Levels | None], rounds: int, tell: Callable[[str], None]
) -> dict[str, Compiled]:
    """Candidates by name, compiled and timed in turns; only the default if its status is not ok."""
    core = max(os.sched_getaffinity(0))
    with ExitStack() as stack:
        tell("compiling the default")
        processes = {DEFAULT: stack.enter_context(Candidate(model, levels[DEFAULT], folder / DEFAULT, core))}
        candidates = {DEFAULT: _answered(DEFAULT, processes[DEFAULT], folder)}
        if candidates[DEFAULT].status != "ok":
            return candidates
        tell("compiling the control and the proposals")
        further_names = [name for name in levels if name != DEFAULT]
        for name in further_names:
            # Kernels are cached by their source text, and most are equal to the default's.
            shutil.copytree(folder / DEFAULT, folder / name, copy_function=os.link)
            (folder / name / "log.txt").unlink()
            processes[name] = stack.enter_context(Candidate(model, levels[name], folder / name, core))
        candidates |= {name: _answered(name, processes[name], folder) for name in further_names}
        right = [name for name, candidate in candidates.items() if candidate.status == "ok"]
        tell("timing them in turns")
        try:
            times = timed_in_turns([processes[name] for name in right], rounds)
        except RuntimeError as error:
            raise Failed("the module was compiled, but a process that ran it ended during the timing") from error
    for name, seconds in zip(right, times, strict=True):
        candidates[name] = replace(candidates[name], seconds=float(np.median(seconds)), ratios=seconds / times[0])
    return candidates


def _answered(name: str, process: Candidate, folder: Path) -> Compiled:
    """A compiled candidate that is not timed yet."""
    try:
        answer = process.answer
    except RuntimeError:
        return Compiled(name, f"{_FAILED}{reason_in(folder / name / 'log.txt')}")
    status = "ok" if answer["status"] == "ok" else DIFFERENT
    return Compiled(name, status, int(answer["kernels"]), float(answer["difference"]))


def reason_in(log: Path) -> str:
    """The last exception in a process's messages, or their last line."""
    lines = [line.rstrip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    exceptions = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Unsupported|Failed\w*)\b.*: ", line)]
    return shorten((exceptions or lines or ["it ended without a message"])[-1], _LONGEST_REASON)
