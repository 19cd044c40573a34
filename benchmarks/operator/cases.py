"""One peer at one size, measured in a process of its own."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import resource
import time
import warnings
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.operator import peers
from learned_schedulers.operators.orders import PartialOrders, partial_orders
from learned_schedulers.operators.popocs import popocs, residual

THREADS = 2
SCALE = 2.0  # standard deviation of the logits behind the proposals
BUDGET = 6.0  # seconds of repetitions
REPEATS = 12  # at most
PATIENCE = 130.0  # seconds after which a case is given up
MEMORY = 10 * 2**30  # bytes of data that a case may have


@dataclass(frozen=True)
class Case:
    """A peer and the DAGs of its batch, (batch, n, n) bool; `dags` says where they are from."""

    peer: str
    dags: str
    precedes: np.ndarray

    @property
    def names(self) -> dict[str, Any]:
        batch, n, _ = self.precedes.shape
        return {"peer": self.peer, "dags": self.dags, "n_instructions": n, "batch": batch}


def apart(case: Case, patience: float = PATIENCE) -> dict[str, Any]:
    """A row of operator_results.SPEED, measured in a fresh process; a failure is a row with its reason."""
    context = multiprocessing.get_context("spawn")
    ours, child_end = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(case, child_end))
    process.start()
    child_end.close()
    try:
        answer = ours.recv() if ours.poll(patience) else {"reason": f"not done after {patience:.0f} s"}
    except EOFError:
        process.join()
        answer = {"reason": f"its process ended by signal {-process.exitcode}, most likely for want of memory"}
    process.kill()
    process.join()
    return case.names | {"items": 0, "iterations": 0} | answer


def _answer(case: Case, connection: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    try:
        connection.send(measured(case))
    except Exception as error:  # a peer that fails is a finding, not the end of the benchmark
        connection.send({"reason": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"})


def measured(case: Case) -> dict[str, Any]:
    """Seconds, residuals and memory of a case, in this process.

    As many items at once as stay in the budget, up to the batch: 1, 4, 16 ... The fastest of the
    repetitions counts. A first call, of one item, is not counted: it compiles and imports.
    """
    import numba

    torch.set_num_threads(THREADS)
    numba.set_num_threads(min(THREADS, numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
    batch, n, _ = case.precedes.shape
    rng = np.random.default_rng(n)
    proposal = torch.from_numpy(SCALE * rng.standard_normal((batch, n, n))).float().softmax(-1)
    cotangent = torch.from_numpy(rng.standard_normal((batch, n, n))).float()
    orders = partial_orders(case.precedes)
    needed = timed = 0
    if case.peer == "cyclic_loop":
        needed = peers.cyclic_iterations(orders, proposal)
        timed = peers.cyclic_timed(orders, needed)
        maker = peers.cyclic_loop(timed)
    else:
        maker = peers.MAKERS[case.peer]
    once(maker, orders.take(np.arange(1)), proposal[:1], cotangent[:1])
    items = batch if needed else 1  # the loop's time is hardly one of its items
    while True:
        part = orders.take(np.arange(items))
        seconds, projected = once(maker, part, proposal[:items], cotangent[:items])
        if items == batch or 4 * seconds > BUDGET / 2:
            break
        items = min(batch, 4 * items)
    times = [seconds]
    while len(times) < REPEATS and sum(times) + min(times) < BUDGET:
        times.append(once(maker, part, proposal[:items], cotangent[:items])[0])
    peak = peak_of(maker, part, proposal[:items], cotangent[:items])
    if needed:  # the time of an iteration does not depend on how many there are
        times = [seconds * needed / timed for seconds in times]
        projected = popocs(proposal, part, method="cyclic", iterations=needed)
    residuals = residual(projected, part)
    return {
        "items": items,
        "iterations": needed,
        "seconds_per_batch": min(times) * batch / items,
        "residual_median": float(residuals.median()),
        "residual_max": float(residuals.max()),
        "peak_memory_mb": peak / 2**20,
    }


def once(
    maker: peers.Maker, orders: PartialOrders, proposal: torch.Tensor, cotangent: torch.Tensor
) -> tuple[float, torch.Tensor]:
    """Wall seconds of forward and backward, set up before, and the projection."""
    project = maker(orders)
    y = proposal.clone().requires_grad_()
    start = time.perf_counter()
    result = project(y)
    result.backward(cotangent.to(result.dtype))
    return time.perf_counter() - start, result.detach()


def peak_of(maker: peers.Maker, orders: PartialOrders, proposal: torch.Tensor, cotangent: torch.Tensor) -> int:
    """Bytes that setting up and one call needed at most; apart from the timing, which fresh memory would slow down."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # what earlier calls have freed would hide what this one needs
    base = _reset_peak()
    once(maker, orders, proposal, cotangent)
    return _status("VmHWM") - base


def _reset_peak() -> int:
    """Let Linux count the peak of the resident set anew; the resident set now, bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _status(key: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) * 1024
