"""What a user asks of tuning, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from learned_schedulers.tuning.benchmark import Benchmark
from learned_schedulers.tuning.hot_file import Choice
from learned_schedulers.tuning.search import Found
from learned_schedulers.tuning.tuned_orders import Tuned

# By the outputs of files and by symbols, how a function is compiled and its time in the program over that of LLVM's
# default. An empty symbol is the rest of the file, by a compiler; without it, that is LLVM's.
Chosen = dict[Path, dict[str, tuple[Choice, float]]]


class Settings(NamedTuple):
    """What the user asks for."""

    build: str
    bench: Benchmark
    test: str | None
    minutes: float  # of all, about
    pairs: int  # of runs, which confirm the result
    cores: int  # that compile
    seed: int
    functions: tuple[str, ...] = ()  # that are tuned; empty: those that perf finds


class Hot(NamedTuple):
    """A function in which the benchmark spends its time."""

    symbol: str
    share: float
    file: str  # relative to the project; empty if its source is not known
    reason: str  # why it is left alone; empty if it is searched


@dataclass
class Outcome:
    """What has come of a project's tuning."""

    hot: list[Hot] = field(default_factory=list)
    searches: dict[tuple[str, str], Found] = field(default_factory=dict)  # by file and symbol
    tuned: list[Tuned] = field(default_factory=list)
    ratio: tuple[float, float, float] = (1.0, 1.0, 1.0)  # of the final program's time to the default's, with interval
    ways: dict[str, tuple[float, float, float]] = field(default_factory=dict)  # the same of all that was compared
    measure: str = ""  # what of the benchmark was taken
    tests: str = ""  # how they ended
    reasons: list[str] = field(default_factory=list)
