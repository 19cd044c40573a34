"""llvm-mca 19: how many cycles a processor model takes for a sequence of instructions.

One process simulates many sequences ("regions"), because its start takes longer than the simulation of one sequence. It
reads GAS syntax. We request only its summary: one core then simulates 2,400 five-instruction blocks a second at 100
iterations (JSON output: 2,250; all views: 2,100; one process per block: 80).
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from bisect import bisect_right
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate

from tqdm import tqdm

from learned_schedulers.blocks.processors.settings import Judge

VERSION = "19"
INSTALL = f"apt-get install llvm-{VERSION}"
_SHOWN_CYCLES = 200  # of a timeline
BATCH = 500  # regions per process; more are no faster, fewer are slower because of start-up (200: -10%, 10: -75%)

_OPTIONS = ["-mtriple=x86_64-unknown-unknown", "-instruction-info=false", "-resource-pressure=false"]
_SUMMARY = re.compile(r"^Instructions: +(\d+)\nTotal Cycles: +(\d+)$", re.MULTILINE)
_REJECTED_LINE = re.compile(r"^<stdin>:(\d+):\d+: error: (.*)\n(.*)$", re.MULTILINE)
_REJECTED_REGION = re.compile(r"^error: (.*?)(?:, use .*)?\nnote: instruction: *(.*)$", re.MULTILINE)
_CRASHES = {signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV}


class LlvmMcaError(ValueError):
    """llvm-mca could not be used at all; the message has its output and the remedy."""


@dataclass(frozen=True)
class Simulation:
    """llvm-mca's answer for one region."""

    cycles: float  # total cycles / iterations; NaN unless status is ok
    status: str  # ok | unsupported
    message: str = ""


def _unsupported(message: str) -> Simulation:
    return Simulation(float("nan"), "unsupported", message)


def find() -> str | None:
    """Path of llvm-mca 19, or None: `llvm-mca-19`, else an `llvm-mca` whose version is 19.

    Other versions are refused: 14 silently drops lines that it cannot parse.
    """
    for name in (f"llvm-mca-{VERSION}", "llvm-mca"):
        path = shutil.which(name)
        if path is not None:
            output = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
            if re.search(rf"LLVM version {VERSION}\.", output):
                return path
    return None


def simulate(
    regions: Sequence[Sequence[str]],
    machine: Judge,
    binary: str,
    threads: int = 1,
    batch: int = BATCH,
    quiet: bool = False,
) -> list[Simulation]:
    """Cycles per iteration of every region (its instructions in GAS syntax) on the processor model `machine`.

    With `machine.iterations` 100 this is the paper's figure (POCSNet, Table 2). With 1 it is the length of a single
    pass, including the time to fill and drain the pipeline. An instruction that the assembler or the model does not
    know makes its region `unsupported`, with llvm-mca's message and NaN cycles. It does not change the results of other
    regions. The result does not depend on `threads` (processes at once) and `batch`.
    quiet: without a progress bar.
    Raises LlvmMcaError if llvm-mca fails for another reason, such as an unknown processor model.
    """
    batches = [regions[start : start + batch] for start in range(0, len(regions), batch)]
    results: list[Simulation] = []
    with (
        ThreadPoolExecutor(threads) as pool,
        tqdm(total=len(regions), unit="block", desc=machine.cpu, disable=quiet) as bar,
    ):
        for part in pool.map(lambda part: _simulate_batch(part, machine, binary), batches):
            results += part
            bar.update(len(part))
    return results


def _simulate_batch(regions: Sequence[Sequence[str]], machine: Judge, binary: str) -> list[Simulation]:
    results: dict[int, Simulation] = {}
    pending = list(range(len(regions)))
    while pending:
        parts = [regions[i] for i in pending]
        simulations = _run(parts, machine, binary)
        if not simulations:  # it crashed at an unknown region: halve the batch until that region is alone
            if len(parts) == 1:
                simulations = {0: _unsupported("llvm-mca crashed")}
            else:
                half = len(parts) // 2
                halves = [_simulate_batch(part, machine, binary) for part in (parts[:half], parts[half:])]
                simulations = dict(enumerate(halves[0] + halves[1]))
        results |= {pending[i]: simulation for i, simulation in simulations.items()}
        pending = [i for i in pending if i not in results]
    return [results[i] for i in range(len(regions))]


def _run(regions: Sequence[Sequence[str]], machine: Judge, binary: str) -> dict[int, Simulation]:
    """Simulations by one process: of all regions, or up to the first that it refuses, or only those it cannot parse."""
    lines = [["# LLVM-MCA-BEGIN", *region, "# LLVM-MCA-END"] for region in regions]
    process = subprocess.run(
        [binary, f"-mcpu={machine.cpu}", f"-iterations={machine.iterations}", *_OPTIONS],
        input="\n".join(line for part in lines for line in part) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode < 0 and -process.returncode in _CRASHES:
        return {}
    if "is not a recognized processor" in process.stderr:
        raise LlvmMcaError(
            f"llvm-mca does not know the processor {machine.cpu!r}; correct judges.*.cpu or processors.*.cpu of "
            f"params.yaml (`{binary} -mtriple=x86_64 -mcpu=help` lists them)"
        )
    unparsed = _REJECTED_LINE.findall(process.stderr)
    if unparsed:  # llvm-mca simulated none of the regions
        ends = list(accumulate(map(len, lines)))
        return {
            bisect_right(ends, int(number) - 1): _unsupported(f"{message}: {line.strip()}")
            for number, message, line in reversed(unparsed)  # so that a region's first error overwrites its later ones
        }
    simulations = {
        i: _checked(int(executed), int(cycles), len(regions[i]), machine.iterations)
        for i, (executed, cycles) in enumerate(_SUMMARY.findall(process.stdout))
    }
    refused = _REJECTED_REGION.search(process.stderr)
    if refused and len(simulations) < len(regions):
        simulations[len(simulations)] = _unsupported(f"{refused[1]}: {' '.join(refused[2].split())}")
    elif process.returncode != 0 or len(simulations) != len(regions):
        raise LlvmMcaError(
            f"{binary} ended with code {process.returncode} after {len(simulations)} of {len(regions)} regions; "
            f"run the stage again, or read its output: {process.stderr.strip()[-2000:]}"
        )
    return simulations


def timeline(region: Sequence[str], cpu: str, binary: str) -> str:
    """llvm-mca's picture of a single pass: when each instruction is dispatched, executed and retired.

    Empty if it does not know an instruction.
    """
    options = ["-iterations=1", "-timeline", f"-timeline-max-cycles={_SHOWN_CYCLES}", "-summary-view=false"]
    process = subprocess.run(
        [binary, f"-mcpu={cpu}", *_OPTIONS, *options],
        input="\n".join(region) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    _, heading, picture = process.stdout.partition("Timeline view:\n")
    return picture.partition("\n\n\n")[0].rstrip() if heading and process.returncode == 0 else ""


def _checked(executed: int, cycles: int, n_instructions: int, iterations: int) -> Simulation:
    if executed != n_instructions * iterations:
        # Directives such as .byte pass the parser and simulate as nothing.
        return _unsupported(f"simulated {executed / iterations:g} of {n_instructions} instructions")
    return Simulation(cycles / iterations, "ok")
