"""Versions of functions, judged inside the user's own program: ticks of the clock for each call."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from learned_schedulers.tuning.benchmark import Benchmark
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
FEWEST = 5  # rounds by which candidates may be judged


class Site(NamedTuple):
    """A function with a dispatcher in the program."""

    name: str  # of its image
    number: int  # in the results
    function: str  # its symbol
    externals: tuple[str, ...]  # of its table, names with @


class Judge:
    """The benchmark's program with dispatchers, which runs as often as it takes."""

    def __init__(self, benchmark: Benchmark, folder: Path) -> None:
        """folder: for images and results."""
        self._benchmark, self._folder = benchmark, folder
        self.waited = 0.0  # seconds of the last run before the first burst
        folder.mkdir(parents=True, exist_ok=True)

    def ticks(self, site: Site, objects: Sequence[bytes], bursts: int, seed: int, seconds: float) -> np.ndarray:
        """Ticks a call of each version of the site's function, (k,): NaN for one that was hardly called.

        bursts: of each, at least, unless `seconds` are over. Raises NotPlaceable for a version that no image can have,
        and BenchmarkError if the benchmark fails.
        """
        content = _image(site, objects, seed)
        of_run = self.bursts({site.name: content}, {site.number: len(objects)}, bursts, seconds)
        return ticks(of_run, site.number, len(objects))

    @staticmethod
    def check(site: Site, content: bytes) -> None:
        """Raises NotPlaceable for a version that no image can have."""
        _image(site, [content], 0)

    def bursts(
        self, images: Mapping[str, bytes], candidates: Mapping[int, int], bursts: int, seconds: float
    ) -> np.ndarray:
        """All bursts of some images, (n,) of BURST. candidates: how many each site has, by its number."""
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
            if not len(of_run):
                self.waited = time.monotonic() - began
            if time.monotonic() - began > seconds or (is_over and not len(of_run)):
                return True
            counts = (
                np.bincount(of_run["candidate"][of_run["site"] == site], minlength=number).min()
                for site, number in candidates.items()
            )
            return len(of_run) >= MOST_BURSTS or all(count >= bursts for count in counts)

        self._benchmark.run_until(enough, {FOLDER: str(self._folder)})
        return _read(results)


def _image(site: Site, objects: Sequence[bytes], seed: int) -> bytes:
    externals = [symbol(name) for name in site.externals]
    return image(objects, site.function, externals, Settings(site.number, _TICKS, seed))


def _read(results: Path) -> np.ndarray:
    written = min(int(np.fromfile(results, "<u8", 1)[0]), MOST_BURSTS)
    of_run = np.fromfile(results, BURST, written, offset=_COUNTS)
    return of_run[of_run["calls"] > 0]  # the last ones may be half written


def ticks(of_run: np.ndarray, site: int, candidates: int) -> np.ndarray:
    """Ticks a call of each candidate, (candidates,); NaN for all if there were hardly any rounds.

    A computer is now faster and now slower, for milliseconds or for minutes, and a round is over in less: so each burst
    counts by its ratio to the median of its round, and a candidate by the median of its ratios.
    """
    chosen = of_run[of_run["site"] == site]
    rounds = []
    for thread in np.unique(chosen["thread"]):
        of_thread = chosen[chosen["thread"] == thread]
        last = np.flatnonzero(of_thread["position"] == candidates - 1)
        begins = last[last >= candidates - 1] - (candidates - 1)
        begins = begins[of_thread["position"][begins] == 0]  # a child begins within its parent's round
        table = of_thread[begins[:, None] + np.arange(candidates)]
        by_call = table["ticks"] / table["calls"]
        rounds.append(np.take_along_axis(by_call, np.argsort(table["candidate"], axis=1), 1))
    values = np.concatenate([np.empty((0, candidates)), *rounds])
    if len(values) < FEWEST:
        return np.full(candidates, np.nan)
    middle = np.median(values, 1)
    return np.median(values / middle[:, None], 0) * np.median(middle)
