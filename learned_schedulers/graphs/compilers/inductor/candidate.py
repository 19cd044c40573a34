"""The process of a candidate: it compiles a model with given levels, compares it with eager, and times it on request.

The process is new, so that it has not compiled anything before; `cache` is a folder that no other candidate uses.
"""

from __future__ import annotations

import math
import os
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch._inductor import metrics

from learned_schedulers.graphs.compilers.inductor.levelled_choices import Levels
from learned_schedulers.graphs.compilers.inductor.nodes import compile_with, runner

FLOOR = 1e-4  # smallest scale of a result, as a share of the largest value of all results
TOLERANCE = 2e-3  # between compiled and eager results, whose sums have different sequences


class Compilable(Protocol):
    """A model that can be compiled; it is picklable, because it is sent to another process."""

    @property
    def training(self) -> bool:
        """Whether a training step is compiled: the mean of the squared results, and all gradients."""
        ...

    def build(self) -> tuple[nn.Module, tuple[Tensor, ...]]:
        """The module and its inputs; every call returns equal ones."""
        ...


def serve(model: Compilable, levels: Levels | None, cache: Path, connection: Connection) -> None:
    """Send the outcome of compiling; then, for each received number of calls, the mean seconds of a call, until None.

    Compilers write their messages to `cache`/log.txt. levels: None for Inductor's own choices.
    """
    with (cache / "log.txt").open("w") as log:
        os.dup2(log.fileno(), sys.stdout.fileno())
        os.dup2(log.fileno(), sys.stderr.fileno())
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(cache)
    torch.set_num_threads(1)
    module, inputs = model.build()
    with torch.set_grad_enabled(model.training):
        began = time.perf_counter()
        compiled = compile_with(module, inputs, model.training, levels)
        assert compiled is not None
        answer: dict[str, Any] = {
            "compile_seconds": time.perf_counter() - began,
            "kernels": metrics.generated_kernel_count,
        }
        answer["difference"] = difference(compiled(*inputs), runner(module, model.training)(*inputs))
        answer["status"] = "ok" if answer["difference"] <= TOLERANCE else "results differ from eager ones"
        connection.send(answer)
        while (calls := connection.recv()) is not None:
            began = time.perf_counter()
            for _ in range(calls):
                compiled(*inputs)
            connection.send((time.perf_counter() - began) / calls)


def difference(results: Any, expected: Any) -> float:
    """The largest difference, each relative to the largest expected value of its result; NaN if only one side is NaN.

    The scale of a result is at least FLOOR times the largest value of all results: gradients that consist of rounding
    errors (of a bias before a batch normalisation) differ by as much as their own size.
    """
    pairs = list(
        zip(*(part if isinstance(part, tuple | list) else (part,) for part in (results, expected)), strict=True)
    )
    largest = [float(eager.abs().max()) if eager.dtype.is_floating_point else 1.0 for _, eager in pairs]
    least = max(max(largest) * FLOOR, 1e-6)
    worst = 0.0
    for (result, eager), scale in zip(pairs, largest, strict=True):
        if torch.equal(result.isnan(), eager.isnan()):
            error = (result.to(torch.float64) - eager.to(torch.float64)).nan_to_num(0.0, torch.inf).abs().max()
            worst = max(worst, float(error) / max(scale, least))
        else:
            return math.nan
    return worst
