"""The numbers of "Robust Scheduling with GFlowNets" (Zhang et al., ICLR 2023) for comparison with ours.

Speedups are seconds of all operations over the makespan, on four devices. Its real graphs are not public, and it does
not print the strengths of its targets: only the order of the methods and the loss of list scheduling are comparable.
"""

from __future__ import annotations

_COLUMNS = ("proxy", "noisy", "bandwidth", "latency")

# Table 1: one real graph of about 78 operations, the best of 100 judged on the target.
TABLE_1: dict[str, dict[str, float]] = {
    "list_scheduling": dict(zip(_COLUMNS, (3.23, 2.75, 1.02, 1.74), strict=True)),
    "brkga": dict(zip(_COLUMNS, (3.22, 2.86, 1.29, 1.80), strict=True)),
    "ppo": dict(zip(_COLUMNS, (3.28, 3.07, 1.38, 1.87), strict=True)),
    "gflownet": dict(zip(_COLUMNS, (3.21, 3.05, 1.78, 2.11), strict=True)),
}
DIVERSITY_1: dict[str, float] = {"list_scheduling": 0.0, "brkga": 0.559, "ppo": 0.851, "gflownet": 0.948}

# Table 2: unseen synthetic graphs of 50 operations: best and mean of the top 100 on the proxy, and their diversity.
TABLE_2: dict[str, tuple[float, float, float]] = {
    "list_scheduling": (3.44, 3.44, 0.0),
    "brkga": (3.46, 3.45, 0.466),
    "ppo": (3.48, 3.46, 0.695),
    "gflownet": (3.46, 3.41, 0.920),
}

# Table 3: unseen real graphs of 12 to 128 operations.
TABLE_3: dict[str, dict[str, float]] = {
    "list_scheduling": dict(zip(_COLUMNS, (2.74, 2.51, 0.89, 1.43), strict=True)),
    "brkga": dict(zip(_COLUMNS, (2.59, 2.46, 1.55, 1.80), strict=True)),
    "ppo": dict(zip(_COLUMNS, (2.41, 2.28, 0.91, 1.43), strict=True)),
    "gflownet": dict(zip(_COLUMNS, (2.71, 2.71, 1.73, 1.95), strict=True)),
}
