"""Which functions a benchmark spends its time in, by samples of `perf`, and which are searched beside each other."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

_LINE = re.compile(r"^\s*([\d.]+)%\s+\[\.\]\s+(\S+)", re.MULTILINE)
_RATE = "999"  # samples a second; of a clock, which needs no counter of the processor
_COLD = 0.1  # of the hottest function's share


class NotSampled(ValueError):
    """The benchmark failed, or no sample could be taken; the message says what to do."""


def shares(command: str, work: Path, folder: Path) -> dict[str, float]:
    """Share of the samples in each function, by its symbol, the largest first; of shared libraries, too.

    command: the user's benchmark, for a shell; work: where it is typed; folder: for the samples. Raises NotSampled.
    """
    if shutil.which("perf") is None:
        raise NotSampled("perf is missing: on Debian, apt-get install linux-perf; or name what is hot by --function")
    samples = folder / "samples"
    record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", _RATE, "-o", str(samples), "--", "sh", "-c", command]
    sampled = subprocess.run(
        record, cwd=work, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL
    )
    if sampled.returncode:
        raise NotSampled(
            f"--bench {command!r} ended with exit code {sampled.returncode}: {sampled.stderr[-1000:].strip()}"
        )
    report = ["perf", "report", "-i", str(samples), "--stdio", "--no-children", "--no-demangle", "-g", "none"]
    reported = subprocess.run([*report, "-F", "overhead,sym"], capture_output=True, text=True, errors="replace")
    by_symbol: dict[str, float] = {}
    for percent, symbol in _LINE.findall(reported.stdout):
        by_symbol[symbol] = by_symbol.get(symbol, 0.0) + float(percent) / 100
    if not by_symbol:
        raise NotSampled(f"--bench {command!r} ended before a sample was taken: let it run for some seconds")
    return dict(sorted(by_symbol.items(), key=lambda item: -item[1]))


def groups(share: Mapping[str, float], mentioned: Mapping[str, set[str]]) -> list[list[str]]:
    """Functions that may be searched in the same runs, the hottest group and its hottest function first.

    share, mentioned: the time of functions, and the functions that each of the program mentions, by symbols. Where one
    calls another, however indirectly, the versions of each would be the other's noise; and one of a small share, whose
    calls are seldom, would keep the others waiting.
    """
    below = {symbol: _reached(symbol, mentioned) for symbol in share}
    result: list[list[str]] = []
    for symbol in sorted(share, key=lambda each: -share[each]):
        for group in result:
            calls = any(symbol in below[other] or other in below[symbol] for other in group)
            if not calls and share[symbol] >= _COLD * share[group[0]]:
                group.append(symbol)
                break
        else:
            result.append([symbol])
    return result


def _reached(symbol: str, mentioned: Mapping[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = [symbol]
    while waiting:
        new = mentioned.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return reached
