"""What a candidate's process does: compile one model with given levels, compare it with eager, then run it on request.

The process is fresh, so that nothing was compiled in it before; `cache` is a folder that no other candidate uses.
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

from pipeline.graphs.compilers.inductor.levelled_choices import Levels
from pipeline.graphs.compilers.inductor.nodes import compile_with, runner

FLOOR = 1e-4
TOLERANCE = 2e-3  # of the compiled results against eager ones: sums in another sequence


class Compilable(Protocol):
    """What can be compiled: picklable, as it travels to another process."""

    @property
    def training(self) -> bool:
        """A training step: the mean of the squared results, and all gradients."""
        ...

    def build(self) -> tuple[nn.Module, tuple[Tensor, ...]]:
        """The module and its inputs, always the same."""
        ...


def serve(model: Compilable, levels: Levels | None, cache: Path, connection: Connection) -> None:
    """Send how compiling went; then for each number of calls that comes the mean seconds of a call. None ends it.

    Messages of compilers go to `cache`/log.txt. levels: None for Inductor's own choices.
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
    """The largest difference over the largest expected value of its result, NaN where a result is NaN alone.

    A result whose values are less than FLOOR of the largest of all counts as that large: gradients that are nothing but
    rounding (of a bias before a batch normalisation) differ by as much as they are.
    """
    pairs = list(
        zip(*(part if isinstance(part, tuple | list) else (part,) for part in (results, expected)), strict=True)
    )
    largest = [float(wanted.abs().max()) if wanted.dtype.is_floating_point else 1.0 for _, wanted in pairs]
    least = max(max(largest) * FLOOR, 1e-6)
    worst = 0.0
    for (result, wanted), scale in zip(pairs, largest, strict=True):
        if torch.equal(result.isnan(), wanted.isnan()):
            apart = (result.to(torch.float64) - wanted.to(torch.float64)).nan_to_num(0.0, torch.inf).abs().max()
            worst = max(worst, float(apart) / max(scale, least))
        else:
            return math.nan
    return worst
