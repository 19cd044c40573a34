"""A child process: run a module of `modules.yaml` by torch, and count the FLOPs of its products independently.

    python -m benchmarks.own_models.module_run NAME

It prints one line of JSON: `runs`, `reason`, and `products`, FLOPs by `torch.utils.flop_counter` while plain kernels
run (no libraries that compute a layer in one call).
"""

from __future__ import annotations

import json
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.own_models.modules import inputs_of, module
from learned_schedulers.graphs.plans.call_log import no_fast_paths


def main(name: str) -> dict[str, object]:
    """Whether torch runs it, and FLOPs of its products."""
    torch.manual_seed(0)
    try:
        network = module(name)
        positional, keywords = inputs_of(name)
        with torch.no_grad():
            network(*positional, **keywords)
    except Exception as error:  # any module may raise anything
        return {"runs": False, "reason": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
    counter = FlopCounterMode(display=False)
    try:
        plain = torch.backends.mkldnn.flags(enabled=False), sdpa_kernel(SDPBackend.MATH), no_fast_paths()
        with torch.no_grad(), plain[0], plain[1], plain[2], counter:
            network(*positional, **keywords)
    except Exception as error:  # the counter cannot follow all modules
        return {"runs": True, "reason": "", "products": 0.0, "uncounted": str(error)[:200]}
    return {"runs": True, "reason": "", "products": float(counter.get_total_flops())}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
