"""Numbers of the POCSNet paper (Jain & Amarasinghe, 2019), and of the GFlowNets', for comparison with ours."""

from __future__ import annotations

EXPERIMENT = "paper"  # of params.yaml: with the paper's own settings

# Table 1: five-instruction validation blocks, Hungarian decoding, one run. scheduler -> metric -> value.
_METRICS = ("exact_match", "kendall_tau_distance", "violations_per_block", "valid_share")
_ROWS = {
    "sinkhorn": (0.356, 0.238, 0.200, 0.8414),
    "popocs_20": (0.397, 0.222, 0.099, 0.9108),
    "popocs_40": (0.396, 0.226, 0.081, 0.9241),
    "popocs_60": (0.393, 0.228, 0.077, 0.9295),
    "popocs_150": (0.394, 0.229, 0.070, 0.9352),
}
TABLE_1: dict[str, dict[str, float]] = {name: dict(zip(_METRICS, row, strict=True)) for name, row in _ROWS.items()}

# Table 2: llvm-mca 8.0 on Haswell, 100 iterations, 7,814 blocks whose predicted schedule is valid.
# The random valid order was also the networks' input: our `input_order`.
TABLE_2: dict[str, float] = {"gcc": 2.3396, "popocs_20": 2.3430, "input_order": 2.3464}

# "On par with GCC": fewer extra cycles than a random legal order has in the paper (0.29% of GCC's cycles).
ON_PAR_SHARE: float = TABLE_2["input_order"] / TABLE_2["gcc"] - 1

# Zhang et al. 2023, table 3: speedups on unseen real graphs, by target.
GFLOWNET_TABLE_3: dict[str, dict[str, float]] = {
    "list_scheduling": {"proxy": 2.74, "noisy": 2.51, "bandwidth": 0.89, "latency": 1.43},
    "brkga": {"proxy": 2.59, "noisy": 2.46, "bandwidth": 1.55, "latency": 1.80},
}


def difference(scheduler: str, baseline: str, metric: str) -> float | None:
    """The paper's value of `scheduler` less that of `baseline` in Table 1; None if a value is missing."""
    try:
        return TABLE_1[scheduler][metric] - TABLE_1[baseline][metric]
    except KeyError:
        return None
