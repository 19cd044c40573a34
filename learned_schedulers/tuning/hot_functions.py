"""Which functions a benchmark spends its time in, by samples of `perf`, which needs no counter of the processor."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

_LINE = re.compile(r"^\s*([\d.]+)%\s+\[\.\]\s+(\S+)", re.MULTILINE)
_RATE = "999"  # samples a second


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
