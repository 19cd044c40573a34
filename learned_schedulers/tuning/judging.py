"""Versions of functions, judged inside the user's own program: ticks of the clock for each call."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numpy as np

from learned_schedulers.tuning.benchmark import Benchmark, BenchmarkError
from learned_schedulers.tuning.candidates import symbol
from learned_schedulers.tuning.images import Settings, image

FOLDER = "LEARNED_SCHEDULERS_JUDGE"  # variable of the environment: where judge.c finds images and leaves results
SOURCE = Path(__file__).with_name("judge.c")
BURST = np.dtype(
    [
        ("site", "<u2"),
        ("position", "<u2"),
        *((name, "<u4") for name in ("candidate", "calls", "thread")),
        ("ticks", "<u8"),
    ]
)
_RESULTS, _COUNTS = "results", 16  # file; bytes of its head: bursts so far, and how many it can hold
MOST_BURSTS = 1 << 21
_TICKS = 40_000  # of a burst: some ten microseconds
_SECONDS = 15.0  # of one judgement, at most
PATIENCE = 1 / 15  # seconds for each burst required, until FEWEST are enough if the benchmark is over
FEWEST = 5  # rounds by which candidates may be judged
_SWEEPS = 30  # of least squares


class Site(NamedTuple):
    """A function with a dispatcher in the program."""

    name: str  # of its image
    number: int  # in the results
    function: str  # its symbol
    externals: tuple[str, ...]  # of its table, names with @


class _Question(NamedTuple):
    """Versions of a function that a search wants to be judged."""

    image: bytes
    versions: int
    bursts: int
    answer: Future[np.ndarray]


class Judge:
    """The benchmark's program with dispatchers, which runs as often as it takes.

    Searches of several functions, in threads of their own, share its runs: each run waits until all have asked.
    """

    def __init__(self, benchmark: Benchmark, folder: Path, searches: int = 1) -> None:
        """folder: for images and results; searches: that ask beside each other."""
        self._benchmark, self._folder = benchmark, folder
        self._searches, self._lock, self._stopped = searches, Lock(), False
        self._waiting: dict[Site, _Question] = {}
        self.seconds = 0.0  # of the last run
        folder.mkdir(parents=True, exist_ok=True)

    def leave(self) -> None:
        """A search is over: the others do not wait for it."""
        with self._lock:
            self._searches -= 1
            self._answer()

    def stop(self) -> None:
        """End all searches: whatever they ask raises BenchmarkError."""
        self._stopped = True

    def ticks(self, site: Site, objects: Sequence[bytes], bursts: int, seed: int) -> np.ndarray:
        """Ticks a call of each version of the site's function, (k,): NaN for one that was hardly called.

        bursts: of each, at least, if the program calls it as often. Raises NotPlaceable for a version that no image can
        have, and BenchmarkError if the benchmark fails.
        """
        question = _Question(_image(site, objects, seed), len(objects), bursts, Future())
        with self._lock:
            self._waiting[site] = question
            self._answer()
        return question.answer.result()

    def _answer(self) -> None:
        """Answer the questions of all searches by one run, once each has asked."""
        if not self._waiting or len(self._waiting) < self._searches:
            return
        questions, self._waiting = self._waiting, {}
        try:
            images = {site.name: question.image for site, question in questions.items()}
            of_run = self.bursts(
                images, {site.number: (each.versions, each.bursts) for site, each in questions.items()}
            )
            for site, question in questions.items():
                question.answer.set_result(ticks(of_run, site.number, question.versions))
        except BaseException as error:
            for question in questions.values():
                question.answer.set_exception(error)

    def called(self, defaults: Mapping[Site, bytes]) -> set[Site]:
        """The sites that the benchmark calls often enough; defaults: a version of each, which an image can have.

        Raises BenchmarkError if the benchmark fails.
        """
        images = {site.name: _image(site, [content], 0) for site, content in defaults.items()}
        of_run = self.bursts(images, {site.number: (1, FEWEST) for site in defaults})
        return {site for site in defaults if np.isfinite(ticks(of_run, site.number, 1)).all()}

    @staticmethod
    def check(site: Site, content: bytes) -> None:
        """Raises NotPlaceable for a version that no image can have."""
        _image(site, [content], 0)

    def bursts(
        self, images: Mapping[str, bytes], required: Mapping[int, tuple[int, int]], seconds: float = _SECONDS
    ) -> np.ndarray:
        """All bursts of some images, (n,) of BURST.

        required: versions of each site, by its number, and bursts of each; seconds: of the run, at most.
        """
        for stale in self._folder.iterdir():
            stale.unlink()
        for name, content in images.items():
            (self._folder / name).write_bytes(content)
        results = self._folder / _RESULTS
        with results.open("wb") as file:
            file.write(np.array([0, MOST_BURSTS], "<u8").tobytes())
            file.truncate(_COUNTS + MOST_BURSTS * BURST.itemsize)  # what is not written takes no place
        began = time.monotonic()

        def enough(is_over: bool) -> bool:
            of_run = _read(results)
            if self._stopped:
                raise BenchmarkError("the search was ended")
            past = time.monotonic() - began
            if past > seconds or len(of_run) >= MOST_BURSTS or (is_over and not len(of_run)):
                return True
            return all(
                np.bincount(of_run["candidate"][of_run["site"] == site], minlength=versions).min()
                >= (min(bursts, FEWEST) if is_over and past > PATIENCE * bursts else bursts)
                for site, (versions, bursts) in required.items()
            )

        self._benchmark.run_until(enough, {FOLDER: str(self._folder)})
        self.seconds = time.monotonic() - began
        return _read(results)


def _image(site: Site, objects: Sequence[bytes], seed: int) -> bytes:
    externals = [symbol(name) for name in site.externals]
    return image(objects, site.function, externals, Settings(site.number, _TICKS, seed))


def _read(results: Path) -> np.ndarray:
    written = min(int(np.fromfile(results, "<u8", 1)[0]), MOST_BURSTS)
    of_run = np.fromfile(results, BURST, written, offset=_COUNTS)
    return of_run[(of_run["calls"] > 0) & (of_run["ticks"] > 0)]  # the last ones may be half written


def ticks(of_run: np.ndarray, site: int, candidates: int) -> np.ndarray:
    """Ticks a call of each candidate, (candidates,); NaN if there were hardly any rounds.

    A computer is now faster and now slower, for milliseconds or for minutes, and a round is over in less: so each burst
    counts by its ratio to the median of its round, and a candidate by the median of its ratios. Where a burst is one
    long call, or the program ends before its rounds do, the same call of other processes does the same work: then a
    burst counts by what its process and its place among the calls take.
    """
    chosen = of_run[of_run["site"] == site]
    threads = [_rounds(chosen[chosen["thread"] == each], candidates) for each in np.unique(chosen["thread"])]
    rounds = np.concatenate([np.empty((0, candidates)), *threads])
    rounds = rounds[np.isfinite(rounds).all(1)]
    if len(rounds) < FEWEST or (chosen["calls"].max() == 1 and len(threads) >= FEWEST):
        return _by_place(chosen, candidates)
    middle = np.median(rounds, 1)
    return np.exp(np.median(rounds - middle[:, None], 0) + np.median(middle))


def _rounds(of_thread: np.ndarray, candidates: int) -> np.ndarray:
    """Logarithms of ticks a call, (rounds, candidates); NaN where a round has no burst of a candidate."""
    number = np.cumsum(of_thread["position"] == 0)
    rounds = np.full((number.max(initial=0) + 1, candidates), np.nan)
    rounds[number, of_thread["candidate"]] = np.log(of_thread["ticks"] / of_thread["calls"])
    return rounds


def _by_place(bursts: np.ndarray, candidates: int) -> np.ndarray:
    """The same by least squares of a part of each candidate, of each process and of each place among its bursts.

    NaN for a candidate with hardly any.
    """
    processes, process = np.unique(bursts["thread"], return_inverse=True)
    counts = np.bincount(bursts["candidate"], minlength=candidates)
    if len(processes) < FEWEST:
        return np.full(candidates, np.nan)
    place = np.empty(len(bursts), np.int64)
    for number in range(len(processes)):
        place[process == number] = np.arange((process == number).sum())
    logs = np.log(bursts["ticks"] / bursts["calls"])
    groups = [place, process, bursts["candidate"].astype(np.int64)]
    parts = [np.zeros(group.max() + 1) for group in groups]
    for _ in range(_SWEEPS):
        for group, part in zip(groups, parts, strict=True):
            rest = logs - sum(each[of] for of, each in zip(groups, parts, strict=True)) + part[group]
            part[:] = np.bincount(group, rest) / np.maximum(np.bincount(group), 1)
    rest = logs - parts[0][place] - parts[1][process]
    typical = [
        np.median(rest[bursts["candidate"] == candidate]) if counts[candidate] >= FEWEST else np.nan
        for candidate in range(candidates)
    ]
    return np.exp(np.array(typical) + parts[0].mean() + parts[1].mean())
