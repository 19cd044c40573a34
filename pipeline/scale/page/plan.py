"""A plan for a billion blocks and a million graphs, from what was measured."""

from __future__ import annotations

from typing import Any

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import mode
from pipeline.lab.page.numbers import count, number
from pipeline.lab.page.tables import Table
from pipeline.scale import plan
from pipeline.scale.plan import CORES, NODES, GraphWork, Work

_TERA, _GIGA = 1e12, 1e9
SCALE, STORED = "whole_graph_scale", "graphs_stored"
ALL = "**all**"


def section(evidence: Evidence) -> dict[str, Any]:
    """The plan's tables and totals; they are empty if the costs were not measured."""
    blocks = plan.of_blocks(evidence.table("scale_rules"), evidence.table("scale_sizes"))
    graphs = plan.of_graphs(evidence.of(SCALE), evidence.of(STORED))
    return {
        "blocks": _blocks(blocks),
        "graphs": _graphs(graphs),
        "n_blocks": count(plan.BLOCKS),
        "n_graphs": count(plan.GRAPHS),
        "cores": CORES,
        "evaluations": count(plan.EVALUATIONS),
        "needs": _needs(blocks) if blocks else {},
    }


def _needs(blocks: list[Work]) -> dict[str, str]:
    """Texts: what is stored and moved, the memory of a node, the pace of the disks."""
    by_rule = {work.rule: work for work in blocks}
    most = NODES[-1]
    moved = sum(work.bytes_read + work.bytes_written for work in blocks)
    took = sum(plan.hours(work, most) for work in blocks)
    return {
        "partitions": count(by_rule["deduplicate"].jobs),
        "shuffled": number(by_rule["ingest"].bytes_written / _TERA, 2),
        "stored": number(sum(work.bytes_written for work in blocks) / _TERA, 2),
        "moved": number(moved / _TERA, 2),
        "gigabytes_per_second": number(moved / _GIGA / (took * 3600), 2),
        "node_gigabytes": count(max(work.gigabytes_of_memory * CORES for work in blocks if work.jobs > 1)),
        "serial": number(sum(work.serial_hours for work in blocks), 1),
        "nodes": str(most),
        "hours": number(took, 1),
        "shared_minutes": number(sum(work.processor_hours for work in blocks) * 60 / (most * CORES), 1),
    }


def _blocks(blocks: list[Work]) -> Table:
    head = ["Rule", "Jobs", "Core hours", "Of them in one thread", "Read, TB", "Written, TB"]
    head += [f"Hours, {nodes} node{'s' * (nodes > 1)}" for nodes in NODES]
    lines = [
        [
            mode(work.rule),
            count(work.jobs),
            *(number(hours, 1) for hours in (work.processor_hours, work.serial_hours)),
            *(number(size / _TERA, 2) for size in (work.bytes_read, work.bytes_written)),
            *(number(plan.hours(work, nodes), 2) for nodes in NODES),
        ]
        for work in blocks
    ]
    if blocks:
        sums = [sum(getattr(work, name) for work in blocks) for name in ("processor_hours", "serial_hours")]
        sizes = [sum(getattr(work, name) for work in blocks) / _TERA for name in ("bytes_read", "bytes_written")]
        of_nodes = [sum(plan.hours(work, nodes) for work in blocks) for nodes in NODES]
        lines.append(
            [
                ALL,
                count(sum(work.jobs for work in blocks)),
                *(number(hours, 1) for hours in sums),
                *(number(size, 2) for size in sizes),
                *(number(hours, 2) for hours in of_nodes),
            ]
        )
    return Table(head, lines, right=1)


def _graphs(graphs: list[GraphWork]) -> Table:
    head = ["Operations of a graph", "Core seconds per graph", "Core hours", "Memory of a node, GB", "Stored, TB"]
    head += [f"Days, {nodes} node{'s' * (nodes > 1)}" for nodes in NODES]
    lines = [
        [
            count(work.operations),
            number(work.core_seconds, 1),
            count(work.core_hours),
            count(work.node_gigabytes),
            number(work.bytes_stored / _TERA, 2),
            *(number(work.core_hours / (nodes * CORES * 24), 1) for nodes in NODES),
        ]
        for work in graphs
    ]
    return Table(head, lines, right=1)
