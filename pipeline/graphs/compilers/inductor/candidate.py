"""A process of its own that compiles one model with given levels and then runs it on request.

`python -m pipeline.graphs.compilers.inductor.candidate MODEL LEVELS CACHE`: levels as JSON, null for Inductor's own
choices; CACHE is a folder that no other candidate uses. It answers one line of JSON when the model is compiled, and one
for each line that it reads: a number of calls -> seconds of each, the mean. An empty line ends it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Annotated, Any

import typer

TOLERANCE = 2e-3  # of the compiled results against eager ones: sums in another sequence


def main(
    model: Annotated[str, typer.Argument(help="Name in inductor/models.py.")],
    levels: Annotated[str, typer.Argument(help="JSON: level by scheduler node, or null.")],
    cache: Annotated[str, typer.Argument(help="Folder for compiled code.")],
) -> None:
    """Compile, compare with eager results, then run on request."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache  # before torch reads it
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    import torch
    from torch._inductor import metrics

    from pipeline.graphs.compilers.inductor.models import MODELS
    from pipeline.graphs.compilers.inductor.nodes import compile_with, runner

    torch.set_num_threads(1)
    chosen = MODELS[model]
    module, inputs = chosen.build()
    with torch.set_grad_enabled(chosen.training):
        began = time.perf_counter()
        compiled = compile_with(module, inputs, chosen.training, json.loads(levels))
        assert compiled is not None
        answer: dict[str, Any] = {
            "compile_seconds": time.perf_counter() - began,
            "kernels": metrics.generated_kernel_count,
            "moved_bytes": metrics.num_bytes_accessed,
        }
        answer["difference"] = _difference(compiled(*inputs), runner(module, chosen.training)(*inputs))
        answer["status"] = "ok" if answer["difference"] <= TOLERANCE else "results differ from eager ones"
        print(json.dumps(answer), flush=True)
        for line in sys.stdin:
            if not line.strip():
                break
            calls = int(line)
            began = time.perf_counter()
            for _ in range(calls):
                compiled(*inputs)
            print(json.dumps((time.perf_counter() - began) / calls), flush=True)


def _difference(results: Any, expected: Any) -> float:
    """The largest difference, relative to the largest expected value of each result."""
    import torch

    pairs = zip(*(part if isinstance(part, tuple | list) else (part,) for part in (results, expected)), strict=True)
    worst = 0.0
    for result, wanted in pairs:
        scale = float(wanted.abs().max()) if wanted.dtype.is_floating_point else 1.0
        difference = (result.to(torch.float64) - wanted.to(torch.float64)).abs().max()
        worst = max(worst, float(difference) / max(scale, 1e-6))
    return worst


if __name__ == "__main__":
    typer.run(main)
