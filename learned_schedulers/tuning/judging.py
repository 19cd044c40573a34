"""Candidates of functions, judged inside the user's own program: ticks of the clock for each call."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

FOLDER = "LEARNED_SCHEDULERS_JUDGE"  # variable of the environment: where judge.c finds images and leaves results
SOURCE = Path(__file__).with_name("judge.c")
BURST = np.dtype([("site", "<u4"), ("candidate", "<u4"), ("calls", "<u4"), ("thread", "<u4"), ("ticks", "<u8")])
_RESULTS, _COUNTS = "results", 16  # file; bytes of its head: bursts so far, and how many it can hold
MOST_BURSTS = 1 << 21


def bursts(command: Sequence[str], images: Mapping[str, bytes], folder: Path, work: Path | None = None) -> np.ndarray:
    """All bursts of one run of a program, (n,) of BURST.

    command: the user's, run in the folder `work`; images: by the names of their sites; folder: for images and results.
    Raises CalledProcessError if the program fails.
    """
    for name, content in images.items():
        (folder / name).write_bytes(content)
    results = folder / _RESULTS
    with results.open("wb") as file:
        file.write(np.array([0, MOST_BURSTS], "<u8").tobytes())
        file.truncate(_COUNTS + MOST_BURSTS * BURST.itemsize)  # what is not written takes no place
    subprocess.run(command, cwd=work, env=os.environ | {FOLDER: str(folder)}, check=True, stdout=subprocess.DEVNULL)
    written = min(int(np.fromfile(results, "<u8", 1)[0]), MOST_BURSTS)
    return np.fromfile(results, BURST, written, offset=_COUNTS)


def ticks(of_run: np.ndarray, site: int, candidates: int) -> np.ndarray:
    """The lower quartile of the bursts of each candidate, in ticks a call, (candidates,); NaN for one without bursts.

    Interruptions and the program's other work only make a burst longer.
    """
    chosen = of_run[of_run["site"] == site]
    by_call = chosen["ticks"] / chosen["calls"]
    each = [by_call[chosen["candidate"] == number] for number in range(candidates)]
    return np.array([np.quantile(values, 0.25) if len(values) else np.nan for values in each])
