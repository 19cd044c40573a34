"""Fusion plans against the best default, the best known and the best of all plans; also by graph."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.fusion.page.shared import (
    ACCELERATORS,
    ALONE,
    BEST,
    DEFAULT,
    FUSION,
    JOINT,
    JUDGE,
    OPTIMUM,
    OVER,
    PARTS,
    UNSEEN,
    duration,
    over,
)
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import METHOD, methods, of_set
from pipeline.lab.page.names import METRICS, label, set_label
from pipeline.lab.page.numbers import number, share
from pipeline.lab.page.tables import Column, Table, filled, lines, metric, of, table

_BASELINES = {DEFAULT: "best default", BEST: "best known", OPTIMUM: "best of all plans"}
_LINKS = {"pcie": "PCIe", "nvlink": "NVLink", "all": "both links"}
_PLACES = {ALONE: "one device", "pcie": "four devices, PCIe", "nvlink": "four devices, NVLink"}
_IN_GRAPHS = (
    *("separate", "loop_fusion", "xla_2023", "priority_fusion", "fusion_annealing"),
    *("go_fusion_untaught", "go_fusion", "go_fusion_zero_shot", "go_fusion_fine_tuned"),
    *("go_joint_separate", "go_joint_placement", "go_joint_untaught", "go_joint"),
)


def section(evidence: Evidence) -> dict[str, Any]:
    """Tables by title: all methods on one device and on four, peers, and every graph."""
    order = methods(evidence, FUSION)
    joint = of_set(evidence, JOINT, UNSEEN)
    return {
        "methods": {set_label(name): _methods(of_set(evidence, FUSION, name), order) for name in (UNSEEN, PARTS)},
        "accelerators": _accelerators(evidence),
        "joint": _joint(joint, methods(evidence, JOINT)),
        "peers": _peers(joint, evidence.settings(JOINT).get("peers", ())),
        "graphs": {
            place: shown
            for experiment in (FUSION, JOINT)
            for target, place in _PLACES.items()
            if (shown := by_graph(evidence.table("parts", experiment), target))
        },
    }


def _methods(rows: pd.DataFrame, order: list[str]) -> Table:
    """A line for each method: its run time, and the quantities behind it."""
    query = {**OVER, "target": ALONE}
    shown: list[Column] = [METHOD]
    shown += [
        (f"Against the {text}", metric(over, "run_time", baseline=name, **query)) for name, text in _BASELINES.items()
    ]
    of_value = {"judge": JUDGE, "baseline": DEFAULT, "target": ALONE}
    shown.append(("Share of the head room", metric(share, "share_of_head_room", **of_value)))
    shown += [
        (f"{METRICS[name]}, against the best default", metric(over, name, baseline=DEFAULT, **query))
        for name in ("loop_time", "kernels", "moved_bytes")
    ]
    return filled(table(shown, lines(rows, ["method"], {"method": order}), right=1))


def _accelerators(evidence: Evidence) -> dict[str, Table]:
    """A line for each method, a column for each device: graphs over two rules, parts over the best of all plans."""
    shown: dict[str, Table] = {}
    for title, name, baseline in (
        ("whole graphs, against no fusion", UNSEEN, "separate"),
        ("whole graphs, against priority fusion", UNSEEN, "priority_fusion"),
        ("small parts, against the best of all plans", PARTS, OPTIMUM),
    ):
        rows, columns = of_set(evidence, ACCELERATORS, name), [METHOD]
        for device in evidence.settings(ACCELERATORS).get("targets", ()):
            columns.append((device.upper(), metric(over, "run_time", baseline=baseline, target=device, **OVER)))
        order = {"method": methods(evidence, ACCELERATORS)}
        shown[title] = filled(table(columns, lines(rows, ["method"], order), right=1))
    return shown


def _joint(rows: pd.DataFrame, order: list[str]) -> Table:
    """A line for each method on four devices: run time against the best default on each link, and the best known."""
    shown: list[Column] = [METHOD]
    for target, text in _LINKS.items():
        shown.append(
            (f"Against the best default, {text}", metric(over, "run_time", target=target, baseline=DEFAULT, **OVER))
        )
    shown.append(("Against the best known", metric(over, "run_time", target="all", baseline=BEST, **OVER)))
    return filled(table(shown, lines(rows, ["method"], {"method": order}), right=1))


def _peers(rows: pd.DataFrame, peers: list[str]) -> Table:
    """All three tasks together against each peer, on each link and on both."""
    chosen = rows[(rows["method"] == "go_joint") & rows["baseline"].isin(peers) & (rows["metric"] == "run_time")]
    shown: list[Column] = [("Against", of("baseline", label))]
    shown += [(text, metric(over, "run_time", target=link, **OVER)) for link, text in _LINKS.items()]
    return table(shown, lines(chosen, ["baseline"], {"baseline": peers}), right=1)


def by_graph(parts: pd.DataFrame, target: str) -> Table:
    """A line for each graph: run time of the best default, and ratios of methods to it; means over seeds."""
    if parts.empty:
        return Table()
    rows = parts[(parts["by"] == "graph") & (parts["target"] == target) & (parts["set"] == UNSEEN)]
    timed = rows[(rows["metric"] == "run_time") & (rows["baseline"] == DEFAULT)]
    names = [name for name in _IN_GRAPHS if name in set(timed["method"])]
    every = []
    for _, of_graph in rows.groupby("rank", sort=True):
        seconds = of_graph[(of_graph["metric"] == "seconds") & (of_graph["method"] == DEFAULT)]["value"]
        ratios = timed[timed.index.isin(of_graph.index)].set_index("method")["value"]
        cells = [number(ratios.get(name, float("nan")), 3) for name in names]
        first = of_graph.iloc[0]
        every.append([str(first["part"]), f"{int(first['n']):,}", duration(seconds.iloc[0]), *cells])
    return Table(["Graph", "Operations", "Best default", *map(label, names)], every, right=1)
