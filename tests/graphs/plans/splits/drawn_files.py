"""Small random workloads in which every rule matters."""

from __future__ import annotations

import numpy as np


def drawn(seed: int, training: bool = False, n: int = 6) -> dict:
    """n nodes; some share a colour, one may only run on CPUs, memory binds. training: each has a backward node."""
    rng = np.random.default_rng(seed)
    forward = [
        {
            "id": 10 + i,
            "supportedOnFpga": int(rng.random() < 0.9),
            "cpuLatency": float(rng.integers(2, 9)),
            "fpgaLatency": float(rng.integers(0, 4)),
            "isBackwardNode": 0,
            "size": float(rng.integers(1, 5)),
        }
        for i in range(n)
    ]
    edges = [(10 + i, 10 + j) for i in range(n) for j in range(i + 1, n) if rng.random() < 0.4]
    nodes = list(forward)
    if training:
        for i, node in enumerate(forward):
            node["colorClass"] = i
            nodes.append({**node, "id": 50 + i, "isBackwardNode": 1})
        edges += [(40 + j, 40 + i) for i, j in edges] + [(10 + n - 1, 50 + n - 1)]
    elif rng.random() < 0.6:
        for i in rng.choice(n, 2, replace=False).tolist():
            forward[i]["colorClass"] = 3
    cost = {node["id"]: float(rng.integers(0, 5)) / 4 for node in nodes}
    return {
        "maxSizePerFPGA": sum(node["size"] for node in nodes) * (0.7 if training else 0.5),
        "maxFPGAs": 2,
        "maxCPUs": 1 if training else int(rng.integers(0, 3)),
        "nodes": nodes,
        "edges": [{"sourceId": i, "destId": j, "cost": cost[i]} for i, j in edges],
    }
