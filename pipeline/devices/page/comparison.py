"""Makespans of all methods relative to list scheduling, bounds and optima, and speedups beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from pipeline.lab import paper_devices as paper
from pipeline.lab.page import graph_pictures as pictures
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import LIST, METHOD, OF_PAPER, PROXY, REAL, SYNTHETIC, two_digits
from pipeline.lab.page.names import in_order, set_label
from pipeline.lab.page.numbers import Write, count, number, percent, ratio, two
from pipeline.lab.page.plots import drawings
from pipeline.lab.page.tables import Cell, Column, Line, Table, columns, lines, metric, of, records, table, value

EXPERIMENTS = ("devices", "devices_quick")  # the first that was evaluated is shown
DRAWN = ("gantts", "memory_curves", "kept_points")
_RATIO = {"comparison": "ratio", "judge": "simulator"}
_HEADS = {"best": "Over the best known", "bound": "Over the bound", "optimum": "Over the optimum"}
SHOWN = {
    **{
        f"devices_gantt_{k}": f"Example {k}: schedules on the proxy. Bars are operations; the dashed line is the bound:"
        for k in (1, 2)
    },
    "devices_memory": "Memory of the same schedules over time, for weights and results; each line is a device:",
    "devices_diversity": "Best speedup on a target against the diversity of the kept schedules; means over graphs:",
    "devices_proxy": "The kept schedules of one example graph: speedup on the proxy against speedup on the target:",
    "devices_anytime": "The best schedule so far, relative to list scheduling, on the target that each method sees:",
}


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables and figures by name; tables are empty if nothing was evaluated."""
    measured = [name for name in EXPERIMENTS if evidence.measured(name)]
    rows = evidence.of(measured[0]) if measured else evidence.results[:0]
    if rows.empty:
        return {"to_list": {}}
    experiment = measured[0]
    settings, parts = evidence.settings(experiment), evidence.table("parts", experiment)
    sets = in_order(rows["set"], settings.get("sets", ()))
    targets = in_order(rows["target"], settings.get("targets", ()))
    methods = settings.get("methods", ())
    best = rows[rows["decoder"] == "best"]
    of_set = {name: best[best["set"] == name] for name in sets}
    gantts, curves, points = (evidence.table(name, experiment) for name in DRAWN)
    examples = {f"devices_gantt_{k}": (pictures.gantt, bars) for k, (_, bars) in enumerate(gantts.groupby("rank"), 1)}
    return {
        "experiment": experiment,
        "machines": _machines(evidence, experiment),
        "strengths": _strengths(parts),
        "to_list": {set_label(name): _to_list(frame, targets, methods) for name, frame in of_set.items()},
        "gaps": {set_label(name): _gaps(frame, methods) for name, frame in of_set.items()},
        "paper_targets": _paper_targets(best[best["set"] == REAL], methods),
        "paper_diversity": _paper_diversity(best[best["set"] == SYNTHETIC], methods),
        "shown": SHOWN,
        "figures": drawings(
            **examples,
            devices_memory=(pictures.memory, curves[curves["rank"] == 0] if len(curves) else curves),
            devices_diversity=(pictures.diversity, _scattered(best, SYNTHETIC, methods)),
            devices_proxy=(
                pictures.proxy_against_target,
                points[points["kept_by"] == "best"] if len(points) else points,
            ),
            devices_anytime=(pictures.anytime, parts[(parts["by"] == "evaluations") & (parts["set"] == sets[0])]),
        ),
    }


def _machines(evidence: Evidence, experiment: str) -> str:
    """The devices of all sets, in words."""
    sets = evidence.params.get("graphs", {}).get(experiment, {}).get("graph_sets", {})
    kinds = {f"{chosen.get('devices', 4)} × {chosen['device']}" for chosen in sets.values() if chosen.get("device")}
    return "; ".join(sorted(kinds)) or "run times as drawn"


def _strengths(parts: pd.DataFrame) -> Table:
    """Strengths of the frozen targets."""
    rows = parts[parts["metric"] == "strength"].sort_values("rank")
    units = {
        "noisy": "standard deviation of the logarithm of a run time",
        "bandwidth": "mean run times to move a result of the mean size",
        "latency": "mean run times for each transfer",
    }
    shown: list[Column] = [
        *columns(str, part="Target"),
        ("Strength", of("value", lambda strength: number(strength, 3))),
        ("Unit", of("part", lambda target: units.get(target, "-"))),
    ]
    return table(shown, records(rows))


def _ranked(rows: pd.DataFrame, methods: Sequence[str]) -> list[Line]:
    return lines(rows, ["method"], {"method": methods})


def _to_list(rows: pd.DataFrame, targets: Sequence[str], methods: Sequence[str]) -> Table:
    """Ratios to list scheduling, a column for each target."""
    present = [target for target in targets if target in set(rows["target"])]
    query = _RATIO | {"baseline": LIST}
    shown: list[Column] = [METHOD]
    shown += [(target, metric(ratio, "makespan", target=target, **query)) for target in present]
    shown.append(("Graphs", value(count, "makespan", "n", target=present[0], **query)))
    return table(shown, _ranked(rows, methods), right=1)


def _gaps(rows: pd.DataFrame, methods: Sequence[str]) -> Table:
    """Ratios to the best known, the bound and the optimum on the proxy, and the share of proven optima."""
    on_proxy = rows[rows["target"] == PROXY]
    bases = [base for base in ("best", "bound", "optimum") if (on_proxy["baseline"] == base).any()]
    shown: list[Column] = [METHOD]
    shown += [(_HEADS[base], metric(ratio, "makespan", baseline=base, **_RATIO)) for base in bases]
    shown.append(("Proven optimal", value(percent, "proven_optimal_share", judge="simulator")))
    shown.append(("Graphs with a schedule", value(percent, "scheduled_share", judge="simulator")))
    return table(shown, _ranked(on_proxy, methods), right=1)


def _paper_targets(rows: pd.DataFrame, methods: Sequence[str]) -> Table:
    """Speedups on unseen real graphs beside table 3 of the paper."""
    shown: list[Column] = [METHOD]
    for target in OF_PAPER:
        shown.append((target, metric(two_digits, "speedup", target=target, judge="simulator")))
        shown.append((f"{target}, paper", _paper(target)))
    missing = [Line({"method": name}) for name in paper.TABLE_3 if name not in set(rows["method"])]
    return table(shown, [*_ranked(rows, methods), *missing], right=1)


def _paper(target: str) -> Cell:
    """The paper's speedup on a target; a dash for a method without one."""
    return lambda line: number(paper.TABLE_3.get(line["method"], {}).get(target), 2)


def _paper_diversity(rows: pd.DataFrame, methods: Sequence[str]) -> Table:
    """Best and mean speedup on the proxy, and diversity, beside table 2 of the paper."""
    on_proxy = rows[rows["target"] == PROXY]

    def of_paper(position: int, write: Write) -> Cell:
        return lambda line: write(paper.TABLE_2[line["method"]][position]) if line["method"] in paper.TABLE_2 else "-"

    judge = {"judge": "simulator"}
    shown: list[Column] = [
        METHOD,
        ("Best", metric(two_digits, "speedup", **judge)),
        ("Best, paper", of_paper(0, two)),
        ("Mean of the kept", metric(two_digits, "kept_speedup", **judge)),
        ("Mean, paper", of_paper(1, two)),
        ("Distance", value(percent, "diversity", **judge)),
        ("Distance, paper", of_paper(2, percent)),
    ]
    missing = [Line({"method": name}) for name in paper.TABLE_2 if name not in set(on_proxy["method"])]
    return table(shown, [*_ranked(on_proxy, methods), *missing], right=1)


def _scattered(rows: pd.DataFrame, name: str, methods: Sequence[str]) -> pd.DataFrame:
    """Speedups, with a column `diversity`, of methods that propose several schedules and do not know the target."""
    of_set = rows[rows["set"] == name]
    distances = of_set[(of_set["metric"] == "diversity") & (of_set["value"] > 0)]
    distance_of = dict(zip(distances["method"], distances["value"], strict=True))
    speedups = of_set[(of_set["metric"] == "speedup") & of_set["method"].isin(set(distance_of))]
    speedups = speedups[~speedups["method"].str.endswith("_on_target") & speedups["target"].isin(OF_PAPER)]
    return speedups.assign(diversity=speedups["method"].map(distance_of))
