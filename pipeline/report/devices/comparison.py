"""Every method for computation graphs: makespans against list scheduling, bounds, the paper's table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from pipeline.analysis import paper_devices as paper
from pipeline.report.devices import pictures
from pipeline.report.evidence import Evidence
from pipeline.report.names import in_order, label, set_label
from pipeline.report.numbers import Row, count, number, percent, ratio, spread, two
from pipeline.report.plots import drawings
from pipeline.report.tables import Column, Line, Table, columns, lines, metric, of, table, value

EXPERIMENTS = ("devices", "devices_quick")  # the first that was evaluated is shown
LIST, PROXY = "list_scheduling", "proxy"
OF_PAPER = ("proxy", "noisy", "bandwidth", "latency")
REAL, SYNTHETIC = "unseen_real", "unseen_synthetic"
DRAWN = ("gantts", "memory_curves", "kept_points")
_RATIO = {"metric": "makespan", "comparison": "ratio", "judge": "simulator"}
_HEADS = {
    LIST: "Over list scheduling",
    "best": "Over the best known",
    "bound": "Over the bound",
    "optimum": "Over the optimum",
}
SHOWN = {
    **{
        f"devices_gantt_{k}": f"Example {k}, schedules on the proxy; bars are operations, the dashed line is the bound:"
        for k in (1, 2)
    },
    "devices_memory": "Memory over time of the same schedules, weights and results, each line a device:",
    "devices_diversity": "Best speedup on a target against how different the kept schedules are, means over graphs:",
    "devices_proxy": "The kept schedules of one example graph: what the proxy says, and what the target says:",
    "devices_anytime": "The best schedule so far over list scheduling's, on what each method sees:",
}


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables and figures by name; without lines where nothing was evaluated."""
    measured = [name for name in EXPERIMENTS if evidence.measured(name)]
    rows = evidence.of(measured[0]) if measured else evidence.results[:0]
    if rows.empty:
        return {"to_list": {}}
    experiment = measured[0]
    settings, parts = evidence.settings(experiment), evidence.table("parts", experiment)
    sets = in_order(rows["set"], settings.get("sets", ()))
    targets = in_order(rows["target"], settings.get("targets", ()))
    methods = settings.get("methods", ())
    best, spread_out = (rows[rows["decoder"] == rule] for rule in ("best", "spread"))
    of_set = {name: best[best["set"] == name] for name in sets}
    gantts, held, points = (evidence.table(name, experiment) for name in DRAWN)
    examples = {f"devices_gantt_{k}": (pictures.gantt, bars) for k, (_, bars) in enumerate(gantts.groupby("rank"), 1)}
    return {
        "experiment": experiment,
        "machines": _machines(evidence, experiment),
        "strengths": _strengths(parts),
        "counted": {set_label(name): _counted(parts[parts["set"] == name]) for name in sets},
        "to_list": {set_label(name): _to_list(frame, targets, methods) for name, frame in of_set.items()},
        "spread": {
            set_label(name): _to_list(spread_out[spread_out["set"] == name], targets, methods)
            for name in sets
            if len(spread_out[spread_out["set"] == name])
        },
        "gaps": {set_label(name): _gaps(frame, methods) for name, frame in of_set.items()},
        "paper_targets": _paper_targets(best[best["set"] == REAL], methods),
        "paper_diversity": _paper_diversity(best[best["set"] == SYNTHETIC], methods),
        "shown": SHOWN,
        "figures": drawings(
            **examples,
            devices_memory=(pictures.memory, held[held["rank"] == 0] if len(held) else held),
            devices_diversity=(pictures.diversity, _scattered(best, SYNTHETIC, methods)),
            devices_proxy=(
                pictures.proxy_against_target,
                points[points["kept_by"] == "best"] if len(points) else points,
            ),
            devices_anytime=(pictures.anytime, parts[(parts["by"] == "evaluations") & (parts["set"] == sets[0])]),
        ),
    }


def _machines(evidence: Evidence, experiment: str) -> str:
    """The devices of every set, in words."""
    sets = evidence.params.get("graphs", {}).get(experiment, {}).get("graph_sets", {})
    kinds = {f"{chosen.get('devices', 4)} × {chosen['device']}" for chosen in sets.values() if chosen.get("device")}
    return "; ".join(sorted(kinds)) or "run times as drawn"


def _strengths(parts: pd.DataFrame) -> Table:
    """The frozen targets."""
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
    return table(shown, [Line(row, [row]) for row in rows.to_dict("records")])


def _counted(parts: pd.DataFrame) -> Table:
    """How many graphs of each kind were looked at, and count."""
    kinds = parts[parts["by"] == "kind"]
    wide = kinds.pivot_table(index=["rank", "part"], columns="metric", values="value").reset_index()
    shown = columns(str, part="Family, variant, extent")
    shown += columns(count, graphs_looked_at="Looked at", graphs_counted="Count")
    return table(shown, [Line(row) for row in wide.to_dict("records")], right=1)


def _ranked(rows: pd.DataFrame, methods: Sequence[str]) -> list[Line]:
    return lines(rows, ["method"], {"method": methods})


def _to_list(rows: pd.DataFrame, targets: Sequence[str], methods: Sequence[str]) -> Table:
    """Ratios to list scheduling, a column for each target."""
    present = [target for target in targets if target in set(rows["target"])]
    shown: list[Column] = [("Method", of("method", label))]
    shown += [(target, metric(ratio, target=target, baseline=LIST, **_RATIO)) for target in present]
    shown.append(("Graphs", value(count, "makespan", "n", **_without_metric(LIST), target=present[0])))
    return table(shown, _ranked(rows, methods), right=1)


def _without_metric(baseline: str) -> dict[str, str]:
    return {key: text for key, text in _RATIO.items() if key != "metric"} | {"baseline": baseline}


def _gaps(rows: pd.DataFrame, methods: Sequence[str]) -> Table:
    """Ratios to the best known, the bound and the optimum on the proxy, and what was proven."""
    on_proxy = rows[rows["target"] == PROXY]
    bases = [base for base in ("best", "bound", "optimum") if (on_proxy["baseline"] == base).any()]
    shown: list[Column] = [("Method", of("method", label))]
    shown += [(_HEADS[base], metric(ratio, baseline=base, **_RATIO)) for base in bases]
    shown.append(("Proven optimal", metric(_share, "proven_optimal_share", judge="simulator")))
    shown.append(("Graphs with a schedule", metric(_share, "scheduled_share", judge="simulator")))
    return table(shown, _ranked(on_proxy, methods), right=1)


def _share(row: Row | None) -> str:
    return "-" if row is None else percent(row["value"])


def _paper_targets(rows: pd.DataFrame, methods: Sequence[str]) -> Table:
    """Speedups on unseen real graphs beside table 3 of the paper."""
    shown: list[Column] = [("Method", of("method", label))]
    for target in OF_PAPER:
        shown.append((target, metric(_two, "speedup", target=target, judge="simulator")))
        shown.append((f"{target}, paper", lambda line, target=target: _of_paper(line["method"], target)))  # type: ignore[misc]
    missing = [Line({"method": name}) for name in paper.TABLE_3 if name not in set(rows["method"])]
    return table(shown, [*_ranked(rows, methods), *missing], right=1)


def _of_paper(method: str, target: str) -> str:
    return number(paper.TABLE_3.get(method, {}).get(target), 2)


def _two(row: Row | None) -> str:
    return spread(row, two)


def _paper_diversity(rows: pd.DataFrame, methods: Sequence[str]) -> Table:
    """Best and mean speedup on the proxy, and diversity, beside table 2 of the paper."""
    on_proxy = rows[rows["target"] == PROXY]

    def of_paper(place: int, write: Any) -> Any:
        return lambda line: write(paper.TABLE_2[line["method"]][place]) if line["method"] in paper.TABLE_2 else "-"

    judge = {"judge": "simulator"}
    shown: list[Column] = [
        ("Method", of("method", label)),
        ("Best", metric(_two, "speedup", **judge)),
        ("Best, paper", of_paper(0, two)),
        ("Mean of the kept", metric(_two, "kept_speedup", **judge)),
        ("Mean, paper", of_paper(1, two)),
        ("Distance", metric(_share, "diversity", **judge)),
        ("Distance, paper", of_paper(2, percent)),
    ]
    missing = [Line({"method": name}) for name in paper.TABLE_2 if name not in set(on_proxy["method"])]
    return table(shown, [*_ranked(on_proxy, methods), *missing], right=1)


def _scattered(rows: pd.DataFrame, name: str, methods: Sequence[str]) -> pd.DataFrame:
    """method, target, speedup, diversity: of methods that propose several schedules and do not know the target."""
    of_set = rows[rows["set"] == name]
    distances = of_set[(of_set["metric"] == "diversity") & (of_set["value"] > 0)]
    known = dict(zip(distances["method"], distances["value"], strict=True))
    speedups = of_set[(of_set["metric"] == "speedup") & of_set["method"].isin(set(known))]
    speedups = speedups[~speedups["method"].str.endswith("_on_target") & speedups["target"].isin(OF_PAPER)]
    return speedups.assign(diversity=speedups["method"].map(known))
