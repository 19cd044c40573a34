"""Methods against one device, the experts, the best known and HDP, and GO against its peers; also by graph."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import METHOD, methods, of_set, over
from pipeline.lab.page.names import label, set_label
from pipeline.lab.page.numbers import number, percent, share
from pipeline.lab.page.tables import Column, Table, lines, metric, of, table
from pipeline.placement.numbers import EVERY
from pipeline.placement.page.shared import DEVICES, FEW, FOUR, SHARE, sets

_OVER = {"judge": "simulator", "comparison": "ratio", "target": "all"}
_BASELINES = {"default": "one device", "expert": "best expert", "best": "best known", "hdp": "HDP"}
_LINKS = {"pcie": "PCIe", "nvlink": "NVLink", "all": "both"}
_IN_GRAPHS = (
    *("expert_layers", "placed_heft", "placed_metis", "placed_annealing", "placed_brkga", "decision_annealing"),
    *("hdp", "go_untaught", "go"),
)


def section(evidence: Evidence) -> dict[str, Any]:
    """Tables by title: of all methods, of every graph, and of GO against its peers."""
    return {
        "every": _methods(of_set(evidence, FEW, "all"), methods(evidence, FEW), EVERY),
        "methods": {
            f"{devices}, {set_label(name)}": _methods(of_set(evidence, experiment, name), methods(evidence, experiment))
            for experiment, devices in DEVICES.items()
            for name in sets(evidence, experiment)
        },
        "graphs": {
            f"{devices}, {link}": table_of_link
            for experiment, devices in DEVICES.items()
            for link in evidence.settings(experiment).get("targets", ())
            if (table_of_link := by_graph(evidence, experiment, link))
        },
        "peers": _peers(of_set(evidence, FOUR, "all"), evidence.settings(FOUR).get("peers", ())),
    }


def _methods(rows: pd.DataFrame, order: list[str], lengths: str = "all") -> Table:
    """A line for each method; `lengths`: of the pairs that it places, or of every pair."""
    query = _OVER | {"lengths": lengths}
    shown: list[Column] = [METHOD]
    shown += [
        (f"Against {text}", metric(over, "makespan", baseline=name, **query)) for name, text in _BASELINES.items()
    ]
    shown.append(("Share of the head room", metric(share, "share_of_head_room", **SHARE)))
    placed = {"judge": "simulator", "target": "all"}
    shown.append(("Placed", metric(share, "placed_share", **placed)))
    both_links = rows[rows["target"] == "all"]
    return table(shown, lines(both_links, ["method"], {"method": order}), right=1)


def _peers(rows: pd.DataFrame, peers: list[str]) -> Table:
    """GO against each peer: on each link, and on both."""
    of_go = rows[(rows["method"] == "go") & rows["baseline"].isin(peers) & (rows["metric"] == "makespan")]
    query = {"comparison": "ratio", "judge": "simulator"}
    shown: list[Column] = [("Against", of("baseline", label))]
    shown += [(text, metric(over, "makespan", target=link, **query)) for link, text in _LINKS.items()]
    return table(shown, lines(of_go, ["baseline"], {"baseline": peers}), right=1)


def by_graph(evidence: Evidence, experiment: str, link: str) -> Table:
    """A line for each graph, as in the paper's table: the time of methods over the best expert's."""
    parts = evidence.table("parts", experiment)
    if parts.empty:
        return Table()
    parts = parts[(parts["by"] == "graph") & (parts["target"] == link)]
    names = [name for name in _IN_GRAPHS if name in set(parts["method"])]
    head = ["Graph", "Operations", "One device, ms", "Best expert, ms", "Head room", *map(label, names)]
    every = []
    for _, of_graph in parts.groupby(["set", "rank"], sort=True):
        seconds = of_graph[of_graph["metric"] == "seconds"].set_index("method")["value"]
        of_expert = (of_graph["metric"] == "makespan") & (of_graph["baseline"] == "expert")
        ratios = of_graph[of_expert].set_index("method")["value"]
        first = of_graph.iloc[0]
        alone, expert, best = (seconds.get(name, float("nan")) for name in ("default", "expert", "best"))
        every.append(
            [
                str(first["part"]),
                f"{int(first['n']):,}",
                *(number(1e3 * seconds, 1) for seconds in (alone, expert)),
                percent(1 - best / expert),
                *(number(ratios.get(name, float("nan")), 3) for name in names),
            ]
        )
    return Table(head, every, right=1)
