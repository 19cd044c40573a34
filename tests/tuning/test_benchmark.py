"""What counts in the words of benchmarks, and intervals of ratios."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from learned_schedulers.tuning.benchmark import rates, ratio

NETTLE = """benchmark call overhead: 0.001580 us

         Algorithm         mode Mbyte/s
          sha3_256       update  345.70
          sha3_512       update   99.10
"""
BENCH_SLOPE = """Hash:
                |  nanosecs/byte   mebibytes/sec   cycles/byte
 SHA512         |      1.72 ns/B     554.9 MiB/s         - c/B
"""


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (NETTLE, [345.7, 99.1]),
        (BENCH_SLOPE, [554.9]),
        (" 5#text : 9980204 -> 2875023 (x3.471),   84.1 MB/s,  768.6 MB/s", [84.1, 768.6]),
        ("1-XXH64 : 102400 ->   101108 it/s ( 9873.8 MB/s)", [9873.8]),
        ("  SHA-256                  :     284946 KiB/s,          0 cycles/byte", [284946]),
        ("Problem: 1024, setup: 20.88 ms, time: 3.85 us, ``mflops'': 13297.3", [13297.3]),
        ("read 1200MB/s", [1200]),
        ("ops per second: 17", [17]),
        ("ecdsa_verify: min 27.1us / avg 27.4us / max 28.0us", []),
        ("3 tests in 2 s, 5 bytes", []),
        ("10.5 MB/s\r11 MB/s \r\n20 MB/s\r\n", [11, 20]),
        ("|-text : 99 -> 32 (x3.0), 110.1 MB/s\r--text : 99 -> 32 (x3.0), 110.1 MB/s, 96.3 MB/s\r5#\n", [110.1, 96.3]),
    ],
)
def test_rates_have_units(text: str, numbers: list[float]) -> None:
    assert rates(text) == numbers


def test_ratios_are_those_of_student() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.uniform(1, 2, (2, 12))
    logs = np.log(second / first)
    low, high = stats.t.interval(0.95, 11, logs.mean(), stats.sem(logs))
    np.testing.assert_allclose(ratio(first.tolist(), second.tolist()), np.exp([logs.mean(), low, high]), rtol=2e-3)
