"""Projection onto soft permutations with dependencies: ours and its peers, in one run.

    python benchmarks/operators.py --output operator.csv [--sizes 5,10,20,40,64] [--growth]

Forward and backward of a batch of 256 random DAGs with the edge counts of real blocks, row softmax of
normal logits, two threads. Each case runs in a process of its own, warmed up once, the fastest of
up to 5 repetitions counts, and peak memory is what the process grew by. A peer that would need more
than BUDGET seconds or MEMORY is measured on fewer items, and its time scaled to 256: the column `items`
says how many. The `cyclic loop` is timed for 20 iterations and scaled to `iterations`, which bring its
median residual below 1e-5. Needs, for the peers: pip install qpth cvxpylayers clarabel linsatnet.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from dags import random_dags

BATCH = 256
THREADS = 2
BUDGET = 20.0  # seconds for the repetitions of one case
MEMORY = 4e9  # bytes of dense matrices that a peer may build
SIZES = (5, 10, 20, 40, 64)
GROWTH = (8, 16, 32, 64, 128, 256)
COLUMNS = (
    "peer", "n", "items", "iterations", "seconds_per_batch", "residual_median", "residual_max", "peak_memory_mb"
)  # fmt: skip


def case(name: str, n: int, batch: int) -> dict[str, Any]:
    """One peer at one size, in this process."""
    import numba
    import operator_peers as peers

    from pipeline.operators.orders import partial_orders
    from pipeline.operators.popocs import residual

    torch.set_num_threads(THREADS)
    numba.set_num_threads(min(THREADS, numba.config.NUMBA_NUM_THREADS))
    rng = np.random.default_rng(n)
    orders = partial_orders(random_dags(batch, n, rng))
    proposal = torch.from_numpy(rng.normal(size=(batch, n, n)) * 2).float().softmax(-1)
    cotangent = torch.from_numpy(rng.normal(size=(batch, n, n))).float()
    iterations = 0
    maker: Callable[..., Any]
    if name == "cyclic loop":  # at the residual of the others; its time is linear in the iterations
        iterations = peers.cyclic_iterations(orders, proposal)
        maker = peers.cyclic_loop(20)
    elif name in ("qpth", "cvxpylayers", "LinSATNet"):
        maker = getattr(peers, name.lower())
    else:
        maker = peers.ours(name)
    items = batch
    if name in ("qpth", "cvxpylayers", "LinSATNet"):
        # As many items at once as fit: four times more as long as that stays in the budget.
        most = int(np.clip(MEMORY / (8 * 6 * n**4), 1, batch)) if name == "qpth" else batch
        items = 1
        while items < most:
            seconds, _ = measure(
                maker, orders.take(np.arange(items)), proposal[:items], cotangent[:items], 1, items < 4
            )
            if 4 * seconds > BUDGET / 2:
                break
            items = min(most, 4 * items)
    part = orders.take(np.arange(items))
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, found = measure(maker, part, proposal[:items], cotangent[:items], 5, warm=items == batch or items < 4)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base
    seconds *= batch / items
    if iterations:
        seconds *= iterations / 20
        from pipeline.operators.popocs import popocs

        found = popocs(proposal, orders, method="cyclic", iterations=iterations)
    left = residual(found.double(), part)
    return dict(
        zip(
            COLUMNS,
            (name, n, items, iterations, seconds, float(left.median()), float(left.max()), peak / 1024),
            strict=True,
        )
    )


def measure(
    maker: Callable[..., Any], orders: Any, proposal: torch.Tensor, cotangent: torch.Tensor, repeats: int, warm: bool
) -> tuple[float, torch.Tensor]:
    """Least wall seconds of forward and backward, and the projection."""
    project = maker(orders, proposal)

    def once() -> tuple[float, torch.Tensor]:
        y = proposal.clone().requires_grad_()
        start = time.perf_counter()
        found = project(y)
        found.backward(cotangent.to(found))
        return time.perf_counter() - start, found.detach()

    if warm:
        once()
    times = []
    for _ in range(repeats):
        seconds, found = once()
        times.append(seconds)
        if sum(times) > BUDGET:
            break
    return min(times), found


def apart(name: str, n: int, batch: int) -> dict[str, Any]:
    """`case` in a fresh process; a failure is a row without figures."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        try:
            return pool.apply_async(case, (name, n, batch)).get(timeout=600)
        except Exception as error:  # a peer that fails is a finding, not the end of the benchmark
            print(f"{name}, n = {n}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
            return {"peer": name, "n": n}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", required=True)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--peers", default="cyclic,extrapolated,nearest,cyclic loop,qpth,cvxpylayers,LinSATNet")
    parser.add_argument("--growth", action="store_true", help="ours alone, n up to 256, batch 32, and the exponent")
    options = parser.parse_args()
    rows = []
    with open(options.output, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        names = ("extrapolated", "nearest") if options.growth else options.peers.split(",")
        sizes = GROWTH if options.growth else [int(n) for n in options.sizes.split(",")]
        for n in sizes:
            for name in names:
                rows.append(apart(name, n, 32 if options.growth else BATCH))
                writer.writerow(rows[-1])
                file.flush()
                print(
                    " ".join(f"{value:.3g}" if isinstance(value, float) else str(value) for value in rows[-1].values()),
                    flush=True,
                )
    if options.growth:
        for name in names:
            mine = [row for row in rows if row["peer"] == name and row["n"] >= 32]
            x, y = np.log([row["n"] for row in mine]), np.log([row["seconds_per_batch"] for row in mine])
            print(f"{name}: seconds grow as n^{np.polyfit(x, y, 1)[0]:.2f}")


if __name__ == "__main__":
    main()
