"""The first guess: its cycles over the best known, on processors that it has not seen, against time and dear calls."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import in_order, label, set_label
from pipeline.lab.page.numbers import Row, count, percent, spread
from pipeline.lab.page.panels import panels, styles
from pipeline.lab.page.plots import curve, drawings, logarithmic
from pipeline.lab.page.tables import SCHEDULER, Column, Table, columns, lines, metric, ranked, table, value

EXPERIMENT, TIMES, CALLS, ABLATION = "first_guess", "time_against_quality", "equal_calls", "guess_ablation"
_READS = {  # methods of ABLATION -> what their network does not read
    "guess_all": "nothing",
    "guess_no_state": "the state of the processor: when each could start and end, free units, room",
    "guess_no_bounds": "bounds on what lies behind: the longest chain of results, dispatch of the followers",
    "guess_no_units": "units: who needs the same ones, how much work waits for them",
    "guess_no_retirement": "retirement in order, and when the last instruction ends",
    "guess_no_description": "widths, and whether it issues in order",
    "list_scheduling": "- (list scheduling)",
}
_BEST = {"metric": "cycles", "comparison": "ratio", "baseline": "best"}
_TRAINED = {"metric": "cycles", "comparison": "ratio", "baseline": "first_guess"}
_UNSEEN = "unseen_"  # names of methods that have not seen some processors: unseen_atom_haswell
_EVALUATIONS, _OF_CALLS = "evaluations_", "calls_"  # names of decoders
_CALLS_SHOWN = ("1", "3", "10", "30", "100")
_hundredths = partial(percent, digits=2)


def _excess(row: Row | None) -> str:
    """Cycles over the baseline's, with the interval."""
    less = None if row is None else {**row, **{name: row[name] - 1 for name in ("value", "low", "high")}}
    return spread(less, _hundredths, lambda end: _hundredths(end).rstrip("%"))


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables and figures by name; they are empty if nothing was published."""
    rows, times, calls = (evidence.of(name) for name in (EXPERIMENT, TIMES, CALLS))
    if rows.empty:
        return {"gaps": {}}
    settings = evidence.settings(EXPERIMENT)
    targets = in_order(rows["target"], settings.get("targets", ()))
    sets = in_order(rows["set"], settings.get("sets", ()))
    judged = rows[(rows["judge"] == rows["target"]) & (rows["seed"] == "all")]
    return {
        "gaps": {set_label(name): _gaps(judged[judged["set"] == name], targets) for name in sets},
        "unseen": _unseen(judged[judged["set"] == sets[0]], targets),
        "ablation": _ablation(ablated, targets) if len(ablated := evidence.of(ABLATION)) else None,
        "calls": _calls(calls, [*targets, "all"]),
        "figures": drawings(
            guess_time=(against_time, _curves(times, _EVALUATIONS), targets),
            guess_calls=(against_calls, _curves(calls, _OF_CALLS), targets),
        ),
    }


def _gaps(rows: pd.DataFrame, targets: list[str]) -> Table:
    """Every method's cycles over the best known on each processor; the nearest on the first processor come first."""
    shown: list[Column] = [*SCHEDULER, *((name, metric(_excess, target=name, judge=name, **_BEST)) for name in targets)]
    shown.append(("Blocks", value(count, column="n", judge=targets[0], **_BEST)))
    trained = rows[~rows["method"].str.startswith(_UNSEEN)]
    return table(shown, ranked(lines(trained, ["method", "decoder"]), judge=targets[0], **_BEST), right=2)


def _unseen(rows: pd.DataFrame, targets: list[str]) -> Table:
    """Networks on the processors that they have not seen, against the network that has, and against the best known."""
    picked = rows[
        [
            name.startswith(_UNSEEN) and target in name.split("_")
            for name, target in zip(rows["method"], rows["target"], strict=True)
        ]
    ]
    shown: list[Column] = [
        *columns(target="Processor"),
        *columns(_processors, method="Not seen"),
        ("Over the network that has seen it", lambda line: _excess(line.find(judge=line["target"], **_TRAINED))),
        ("Over the best known", lambda line: _excess(line.find(judge=line["target"], **_BEST))),
    ]
    return table(shown, lines(picked, ["target", "method"], {"target": targets}), right=2)


def _ablation(rows: pd.DataFrame, targets: list[str]) -> Table:
    """What each group of features is worth on each processor, development blocks."""
    shown: list[Column] = [
        ("Not read", lambda line: _READS[line["method"]]),
        *((name, metric(_excess, target=name, judge=name, **_BEST)) for name in targets),
    ]
    chosen = rows[rows["method"].isin(_READS)]
    return table(shown, lines(chosen, ["method"], {"method": _READS}), right=1)


def _processors(method: str) -> str:
    return method.removeprefix(_UNSEEN).replace("_", ", ")


def _calls(rows: pd.DataFrame, targets: list[str]) -> Table:
    """Cycles by the first guess over those by search after as many calls."""
    of = {"metric": "cycles", "comparison": "ratio", "baseline": "search", "judge": "llvm_mca"}
    learned = rows[(rows["method"] == "learned") & (rows["seed"] == "all")] if len(rows) else rows
    shown: list[Column] = [
        ("Processor", lambda line: "all six" if line["target"] == "all" else line["target"]),
        *(
            (
                f"{calls} call" if calls == "1" else f"{calls} calls",
                metric(_excess, decoder=f"{_OF_CALLS}{calls}", **of),
            )
            for calls in _CALLS_SHOWN
        ),
    ]
    return table(shown, lines(learned, ["target"], {"target": targets}), right=1)


def _curves(rows: pd.DataFrame, prefix: str) -> pd.DataFrame:
    """Rows of seed `all` with the number in the decoder's name as `budget`, and the time, where there is one."""
    if rows.empty:
        return rows
    chosen = rows[(rows["seed"] == "all") & (rows["target"] != "slowest") & (rows["baseline"].isin(("best", "search")))]
    of_time = rows[rows["metric"] == "microseconds_per_block"].set_index(["target", "method", "decoder"])["value"]
    keys = pd.MultiIndex.from_frame(chosen[["target", "method", "decoder"]])
    budgets = chosen["decoder"].str.removeprefix(prefix).astype(int)
    return chosen.assign(budget=budgets, microseconds=of_time.reindex(keys).to_numpy())


def against_time(points: pd.DataFrame, targets: list[str]) -> Figure:
    """Cycles over the best known against microseconds per block, a panel for each processor."""
    return _drawn(points, targets, "microseconds", "microseconds per block, one core", "cycles over the best known")


def against_calls(points: pd.DataFrame, targets: list[str]) -> Figure:
    """Cycles over those of search after as many calls of llvm-mca, a panel for each processor."""
    return _drawn(points[points["method"] != "random"], targets, "budget", "calls of llvm-mca", "cycles over search's")


def _drawn(points: pd.DataFrame, targets: list[str], x: str, of_x: str, of_y: str) -> Figure:
    style = styles([label(name) for name in points["method"].unique()])
    with panels(targets, 3, 3.7, 2.9, style, 3, str) as (figure, axes):
        for ax, target in zip(axes, targets, strict=True):
            for name, of_method in points[points["target"] == target].groupby("method", sort=False):
                in_sequence = of_method.sort_values("budget")
                curve(
                    ax,
                    in_sequence[x].to_numpy(float),
                    in_sequence,
                    1.2,
                    linewidth=1.3,
                    markersize=4,
                    **style[label(str(name))],
                )
            ax.axhline(1, color="#222222", linewidth=0.8)
            logarithmic(ax.xaxis, 9)
            ax.set(xlabel=of_x, title=target)
        for ax in axes[::3]:
            ax.set_ylabel(of_y)
    return figure
