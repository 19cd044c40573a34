"""Versions of functions, judged inside the user's own program: ticks of the clock for each call."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from learned_schedulers.tuning.benchmark import Benchmark
from learned_schedulers.tuning.candidates import symbol
from learned_schedulers.tuning.images import Settings, image

FOLDER = "LEARNED_SCHEDULERS_JUDGE"  # variable of the environment: where judge.c finds images and leaves results
SOURCE = Path(__file__).with_name("judge.c")
BURST = np.dtype([("site", "<u4"), ("candidate", "<u4"), ("calls", "<u4"), ("thread", "<u4"), ("ticks", "<u8")])
_RESULTS, _COUNTS = "results", 16  # file; bytes of its head: bursts so far, and how many it can hold
MOST_BURSTS = 1 << 21
_TICKS = 40_000  # of a burst: some ten microseconds
_FEWEST = 5  # bursts of a candidate by which it may be judged


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
        folder.mkdir(parents=True, exist_ok=True)

    def ticks(self, site: Site, objects: Sequence[bytes], bursts: int, seed: int, seconds: float) -> np.ndarray:
        """Ticks a call of each version of the site's function, (k,): NaN for one that was hardly called.

        bursts: of each, at least, unless `seconds` are over. Raises NotPlaceable for a version that no image can have,
        and BenchmarkError if the benchmark fails.
        """
        content = _image(site, objects, seed)
        of_run = self.bursts(site.name, content, len(objects), bursts, seconds)
        return ticks(of_run, site.number, len(objects))

    @staticmethod
    def check(site: Site, content: bytes) -> None:
        """Raises NotPlaceable for a version that no image can have."""
        _image(site, [content], 0)

    def bursts(self, name: str, content: bytes, candidates: int, bursts: int, seconds: float) -> np.ndarray:
        """All bursts of an image, (n,) of BURST."""
        for stale in self._folder.iterdir():
            stale.unlink()
        (self._folder / name).write_bytes(content)
        results = self._folder / _RESULTS
        with results.open("wb") as file:
            file.write(np.array([0, MOST_BURSTS], "<u8").tobytes())
            file.truncate(_COUNTS + MOST_BURSTS * BURST.itemsize)  # what is not written takes no place
        ends = time.monotonic() + seconds

        def enough() -> bool:
            if time.monotonic() > ends:
                return True
            counts = np.bincount(_read(results)["candidate"], minlength=candidates)
            return bool(counts.min() >= bursts) or bool(counts.sum() >= MOST_BURSTS)

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
    """The lower quartile of the bursts of each candidate, in ticks a call, (candidates,); NaN for one without bursts.

    Interruptions and the program's other work only make a burst longer.
    """
    chosen = of_run[of_run["site"] == site]
    by_call = chosen["ticks"] / chosen["calls"]
    each = [by_call[chosen["candidate"] == number] for number in range(candidates)]
    return np.array([np.quantile(values, 0.25) if len(values) >= _FEWEST else np.nan for values in each])
