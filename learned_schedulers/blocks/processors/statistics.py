"""llvm-mca's statistics of a processor: which pool and buffer entries instructions occupy, and how many there are.

llvm-mca prints these statistics as text only. It prints none of load and store queues.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from learned_schedulers.blocks.processors.llvm_mca import LlvmMcaError
from learned_schedulers.blocks.processors.settings import Judge

_OPTIONS = [
    *("-mtriple=x86_64-unknown-unknown", "-iterations=1", "-instruction-info=false", "-resource-pressure=false"),
    *("-scheduler-stats", "-register-file-stats", "-retire-stats"),
]
_REGION = re.compile(r"^\[\d+\] Code Region.*$", re.MULTILINE)
_BUFFER = re.compile(r"^(\S+) +\d+ +(\d+) +(\d+) *$", re.MULTILINE)
_REORDER = re.compile(r"^Total ROB Entries: +(\d+)\nMax Used ROB Entries: +(\d+)", re.MULTILINE)
_RETIRED = re.compile(r"^ (\d+), +\d+  \(", re.MULTILINE)
_FILE = re.compile(r"physical registers: +(\d+)\n +Total number of mappings created: +(\d+)")


@dataclass(frozen=True)
class Statistics:
    """Statistics of one region. Pools are the reorder buffer, then the register files."""

    pools: tuple[int, ...]  # sizes; a reorder buffer of 0: the processor issues in order
    # Most entries of each pool that were occupied at once; of register files, entries that were ever occupied.
    pool_entries: tuple[int, ...]
    # Buffers of the schedulers by name: size, and most entries that were occupied at once. llvm-mca may omit some.
    buffers: dict[str, tuple[int, int]]
    retired: int  # most instructions in one cycle


def read(regions: Sequence[Sequence[str]], machine: Judge, binary: str) -> list[Statistics]:
    """Statistics of regions that llvm-mca supports. Raises LlvmMcaError if it fails."""
    lines = [line for region in regions for line in ("# LLVM-MCA-BEGIN", *region, "# LLVM-MCA-END")]
    process = subprocess.run(
        [binary, f"-mcpu={machine.cpu}", *_OPTIONS],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    parts = _REGION.split(process.stdout)[1:]
    if process.returncode != 0 or len(parts) != len(regions):
        raise LlvmMcaError(
            f"{binary} gave statistics of {len(parts)} of {len(regions)} regions: {process.stderr.strip()[-2000:]}"
        )
    return [_parsed(part) for part in parts]


def _parsed(text: str) -> Statistics:
    schedulers, rest = text.split("Retire Control Unit", 1)
    [(reorder, entries)] = _REORDER.findall(rest)
    buffers = _BUFFER.findall(schedulers.split("queue usage:", 1)[1])
    files = _FILE.findall(rest)
    return Statistics(
        pools=(int(reorder), *(int(size) for size, _ in files)),
        pool_entries=(int(entries), *(int(used) for _, used in files)),
        buffers={name: (int(size), int(used)) for name, used, size in buffers},
        retired=max(int(count) for count in _RETIRED.findall(rest)),
    )


def retire_width(machine: Judge, binary: str) -> int:
    """Most instructions that the processor retires in a cycle, measured behind a slow one; 0: it issues in order."""
    [statistics] = read([["sqrtpd (%rsp), %xmm1", *["nop"] * 500]], machine, binary)
    return statistics.retired if statistics.pools[0] else 0
