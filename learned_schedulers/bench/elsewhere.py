"""Instances as JSON that a program in any language reads, and schedules that such a program computed.

BENCHMARK.md describes both forms. The judge is the same as for methods.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from learned_schedulers.bench.budgets import PROPOSALS
from learned_schedulers.bench.graphs import GraphInstance
from learned_schedulers.bench.kinds import FAILED, REFUSED, Result
from learned_schedulers.bench.running import Source
from learned_schedulers.files import replacing
from learned_schedulers.graphs.methods import Budget, Proposals

NAME, SCHEDULES, ORDER, PLACEMENT = "name", "schedules", "order", "placement"
LARGEST = 200_000_000  # bytes of a file of schedules


def write_instances(instances: Sequence[GraphInstance], target: str, folder: Path) -> None:
    """Write `<hash>.json` for every instance, with the transfers of the target."""
    for instance in instances:
        with replacing(folder / f"{instance.graph_id}.json") as temporary:
            temporary.write_text(json.dumps(_instance(instance, target)) + "\n")


def _instance(instance: GraphInstance, target: str) -> dict[str, Any]:
    judge, problem = instance.target(target).draws[0], instance.problem
    sources = problem.children.sources
    return {
        "graph_id": instance.graph_id,
        "name": instance.graph.name,
        "family": instance.graph.family,
        "target": target,
        "devices": problem.devices,
        "memory": problem.memory if np.isfinite(problem.memory) else None,
        "seconds_per_byte": judge.transfers.slope,
        "seconds_per_transfer": judge.transfers.delay,
        "operations": [
            {"kind": kind, "seconds": seconds, "bytes": size, "weight_bytes": weights}
            for kind, seconds, size, weights in zip(
                instance.graph.kinds,
                problem.seconds.tolist(),
                problem.sizes.tolist(),
                problem.weights.tolist(),
                strict=True,
            )
        ],
        "edges": np.stack([sources, problem.children.targets], 1).tolist(),
    }


def read_schedules(path: Path, instances: Sequence[GraphInstance]) -> tuple[str, dict[str, Proposals]]:
    """The name in a file of schedules, and the schedules of each graph by its hash.

    A graph whose schedules are wrong has proposals that are not supported, with the reason. Raises ValueError that
    names the file and the place for a file of another form or size, and for a hash that the set does not have.
    """
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{path}: {path.stat().st_size} bytes; a file of schedules has at most {LARGEST}")
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: this is no JSON: {error}; write it as BENCHMARK.md describes") from error
    if not isinstance(content, dict) or set(content) != {NAME, SCHEDULES} or not isinstance(content[NAME], str):
        raise ValueError(f"{path}: write an object with the keys {NAME!r}, a text, and {SCHEDULES!r}, nothing else")
    if not isinstance(content[SCHEDULES], dict):
        raise ValueError(f"{path}: {SCHEDULES!r} must be an object: hash of a graph -> list of its schedules")
    sizes = {instance.graph_id: len(instance.problem) for instance in instances}
    if unknown := sorted(set(content[SCHEDULES]) - set(sizes)):
        raise ValueError(
            f"{path}: {len(unknown)} graphs, the first {unknown[0][:80]!r}, are not in this set; compare it with the "
            "set that the schedules were computed for"
        )
    return content[NAME], {graph_id: _proposals(rows, sizes[graph_id]) for graph_id, rows in content[SCHEDULES].items()}


def _proposals(rows: Any, n: int) -> Proposals:
    if not isinstance(rows, list) or not 1 <= len(rows) <= PROPOSALS:
        return Proposals.unsupported(n, f"give a list of 1 to {PROPOSALS} schedules")
    for number, row in enumerate(rows):
        if not isinstance(row, dict) or set(row) != {ORDER, PLACEMENT}:
            return Proposals.unsupported(n, f"schedule {number}: write {ORDER!r} and {PLACEMENT!r}, nothing else")
        for key in (ORDER, PLACEMENT):
            numbers = row[key]
            if not isinstance(numbers, list) or len(numbers) != n or not all(map(_is_number, numbers)):
                return Proposals.unsupported(n, f"schedule {number}: {key!r} must have {n} whole numbers from 0 on")
    orders, placements = (np.array([row[key] for row in rows], np.int32) for key in (ORDER, PLACEMENT))
    return Proposals(orders, placements)


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**31


def of_schedules(schedules: dict[str, Proposals]) -> Source:
    """The schedules of a file as a source for `run`; they are chosen on the target, which their maker may have seen."""

    def result(instance: GraphInstance, target: str, seed: int) -> Result:
        proposals = schedules.get(instance.graph_id)
        if proposals is None:
            return Result(failure=(REFUSED, "the file has no schedule of this graph"))
        if proposals.message:
            return Result(failure=(FAILED, proposals.message))
        return instance.judge(proposals, target, "target", Budget(PROPOSALS))

    return result
