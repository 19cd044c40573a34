"""An independent implementation of the published rules in plain Python, and the best split by enumeration."""

from __future__ import annotations

from itertools import product

import networkx as nx


def judged(file: dict, split: dict, objective: str) -> tuple[float, bool]:
    """Milliseconds, and whether the split respects all rules."""
    where = {i: ("fpga", k) for k, part in enumerate(split["fpgas"]) for i in part["nodes"]}
    where |= {
        i: ("cpu", k if objective == "load" else 0) for k, part in enumerate(split["cpus"]) for i in part["nodes"]
    }
    nodes = {node["id"]: node for node in file["nodes"]}
    cost = {edge["sourceId"]: edge["cost"] for edge in file["edges"]}
    edges = [(edge["sourceId"], edge["destId"]) for edge in file["edges"]]
    valid = set(where) == set(nodes)
    colors: dict[int, set] = {}
    for i, node in nodes.items():
        if node.get("colorClass") is not None:
            colors.setdefault(node["colorClass"], set()).add(where[i])
    valid &= all(len(devices_of_color) == 1 for devices_of_color in colors.values())
    valid &= all(where[i][0] == "cpu" or node["supportedOnFpga"] for i, node in nodes.items())
    parts = {part: [i for i in nodes if where[i] == part] for part in set(where.values())}
    fpgas = [part for part in parts if part[0] == "fpga"]
    valid &= all(sum(nodes[i]["size"] for i in parts[part]) <= file["maxSizePerFPGA"] for part in fpgas)
    load = {
        part: sum(nodes[i]["cpuLatency" if part[0] == "cpu" else "fpgaLatency"] for i in parts[part]) for part in parts
    }
    for part in fpgas:
        shared = {i for i, j in edges if (where[i] == part) != (where[j] == part)}
        load[part] += sum(cost[i] for i in shared)
    name = {i: i if objective == "latency" and where[i][0] == "cpu" else where[i] for i in nodes}
    quotient = nx.DiGraph()
    quotient.add_nodes_from(name.values())
    backward = {i for i, node in nodes.items() if node.get("isBackwardNode")}
    quotient.add_edges_from((name[i], name[j]) for i, j in edges if name[i] != name[j] and not {i, j} & backward)
    if not nx.is_directed_acyclic_graph(quotient):
        return float("inf"), False
    if objective == "load":
        return max(load.values(), default=0.0), valid
    ends: dict[object, float] = {}
    for unit in nx.topological_sort(quotient):
        took = load[unit] if isinstance(unit, tuple) else nodes[unit]["cpuLatency"]
        ends[unit] = took + max((ends[before] for before in quotient.predecessors(unit)), default=0.0)
    return max(ends.values(), default=0.0), valid


def shortest(file: dict, objective: str) -> float:
    """Milliseconds of the best valid split; infinite without one."""
    ids, best = [node["id"] for node in file["nodes"]], float("inf")
    fpgas, cpus = file["maxFPGAs"], file["maxCPUs"]
    for devices in product(range(fpgas + cpus), repeat=len(ids)):
        parts = [{"nodes": [i for i, d in zip(ids, devices, strict=True) if d == k]} for k in range(fpgas + cpus)]
        took, valid = judged(file, {"fpgas": parts[:fpgas], "cpus": parts[fpgas:]}, objective)
        best = min(best, took) if valid else best
    return best
