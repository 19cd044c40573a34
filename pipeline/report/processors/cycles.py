"""Every scheduler on processor models: cycles against GCC's, time, what is proven, example blocks side by side."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pipeline.analysis.cycles import CHOSEN, EXPERIMENT
from pipeline.config.schedulers import Scheduling
from pipeline.report import plots
from pipeline.report.imitation.rows import decoder_label, set_label
from pipeline.report.numbers import count, percent, with_interval
from pipeline.report.processors import plots as cycles_plots

_TO_GCC, _TO_BEST, _MEAN = "cycles_ratio_to_gcc_", "cycles_ratio_to_best_", "mean_cycles_ratio_to_gcc_"
_SHARES = tuple(
    f"{name}_share_" for name in ("fewer_cycles_than_gcc", "as_many_cycles_as_gcc", "more_cycles_than_gcc", "gcc_order")
)
_PROVEN = ("proven_optimal_share_up_to_20", "proven_optimal_share")
_TIME = "microseconds_per_block"
_CURVES = 8  # schedulers that a figure by length shows


@dataclass(frozen=True)
class Section:
    """Heads and rows of the section's tables, as text; without rows where nothing was published."""

    machines: list[str] = field(default_factory=list)
    short_of: str = ""  # the set of `short`
    short: list[list[str]] = field(default_factory=list)
    ratios: dict[str, list[list[str]]] = field(default_factory=dict)  # set -> rows
    shares: dict[str, list[list[str]]] = field(default_factory=dict)
    proven: list[list[str]] = field(default_factory=list)
    n_examples: int = 0
    figures: list[str] = field(default_factory=list)


def section(results: pd.DataFrame, lengths: pd.DataFrame, examples: pd.DataFrame, settings: Scheduling) -> Section:
    """`results`: the report's; `lengths`: tables `cycles_by_length`; `examples`: of stage scheduling_examples."""
    rows = _rows(results)
    if rows.empty:
        return Section()
    machines = _machines(rows, settings)
    sets = [name for name in settings.tested if name in set(rows["split"])]
    return Section(
        machines=machines,
        short_of=set_label(sets[-1]),
        short=_short(rows[rows["split"] == sets[-1]], machines, settings),
        ratios={set_label(split): _ratios(rows[rows["split"] == split], machines) for split in sets},
        shares={set_label(split): _shares(rows[rows["split"] == split], machines[0]) for split in sets},
        proven=_proven(rows, sets),
        n_examples=examples["block_id"].nunique() if len(examples) else 0,
        figures=list(figures(results, lengths, examples, settings)),
    )


def figures(
    results: pd.DataFrame, lengths: pd.DataFrame, examples: pd.DataFrame, settings: Scheduling
) -> dict[str, Figure]:
    """The section's figures by name, those whose rows were published."""
    rows, drawn = _rows(results), {}
    if rows.empty:
        return {}
    machines, last = _machines(rows, settings), settings.tested[-1]
    points = _points(rows[rows["split"] == last], machines[0])
    if len(points):
        drawn["scheduling_pareto"] = cycles_plots.pareto(points, list(points["name"]))
    own = lengths[(lengths["split"] == last) & lengths["decoder"].isin(CHOSEN)] if len(lengths) else lengths
    if len(own):
        named = own.assign(name=_names(own), method=[_method(name, settings) for name in own["scheduler"]])
        mean = named[named["machine"] == machines[0]].groupby(["method", "name"])["ratio"].mean().sort_values()
        best = mean.reset_index().drop_duplicates("method")["name"][:_CURVES].tolist()
        drawn["scheduling_length"] = cycles_plots.by_length(named[named["name"].isin(best)], machines, best)
    for place, (_, block) in enumerate(examples.groupby("rank") if len(examples) else []):
        drawn[f"scheduling_block_{place + 1}"] = cycles_plots.timelines(_timelines(block))
    return drawn


def _rows(results: pd.DataFrame) -> pd.DataFrame:
    """Rows of processor models; those of hardware are in a section of their own."""
    rows = results[(results["experiment"] == EXPERIMENT) & (results["seed"] == "all")]
    return rows[rows["decoder"].isin(CHOSEN) & ~rows["metric"].str.contains("hardware")]


def _machines(rows: pd.DataFrame, settings: Scheduling) -> list[str]:
    """Processors as the parameters list them, those of many iterations behind their single pass.

    What was published may name more than the parameters now do: those come last.
    """
    found = [name.removeprefix(_TO_GCC) for name in set(rows["metric"]) if name.startswith(_TO_GCC)]
    place = {name: k for k, name in enumerate(settings.machines)}
    return sorted(found, key=lambda name: (place.get(name.partition("_")[0], len(place)), name))


def _method(scheduler: str, settings: Scheduling) -> str:
    """What the scheduler is a kind of: its method, a network that learned best orders by itself."""
    return settings.schedulers[scheduler].method if scheduler in settings.schedulers else scheduler


def _short(rows: pd.DataFrame, machines: list[str], settings: Scheduling) -> list[list[str]]:
    """Processor, who needs the fewest cycles, ratios: theirs, of networks drawn and greedy, of lists, of imitators."""
    table = []
    for machine in machines:
        own = rows[rows["metric"] == _TO_GCC + machine].sort_values(["value", "scheduler"]).dropna(subset="value")
        methods = own["scheduler"].map(lambda name: _method(name, settings))
        learned = own["scheduler"].isin(list(settings.models))
        chosen = [
            own,
            own[learned & (own["decoder"] == "timed")],
            own[learned & (own["decoder"] == "greedy")],
            own[methods == "list_scheduling"],
            own[methods == "ordering"],
        ]
        cells = [_ratio(found.iloc[0] if len(found) else None) for found in chosen]
        table.append([machine, _names(own[:1])[0] if len(own) else "-", *cells])
    return table


def _names(rows: pd.DataFrame) -> list[str]:
    """Scheduler, with its decoder where there is one."""
    return [
        plots.label(scheduler) + (f", {decoder_label(decoder)}" if decoder != "none" else "")
        for scheduler, decoder in zip(rows["scheduler"], rows["decoder"], strict=True)
    ]


def _by_place(rows: pd.DataFrame) -> dict[tuple[str, str], dict[str, pd.Series]]:
    """(scheduler, decoder) -> metric -> row."""
    found: dict[tuple[str, str], dict[str, pd.Series]] = {}
    for _, row in rows.iterrows():
        found.setdefault((row["scheduler"], row["decoder"]), {})[row["metric"]] = row
    return found


def _ranked(rows: pd.DataFrame, machine: str) -> list[tuple[tuple[str, str], dict[str, pd.Series]]]:
    """The fewest cycles first."""
    places = [(place, own) for place, own in _by_place(rows).items() if any(m.startswith(_TO_GCC) for m in own)]

    def key(pair: tuple[tuple[str, str], dict[str, pd.Series]]) -> tuple[float, tuple[str, str]]:
        row = pair[1].get(_TO_GCC + machine)
        return (np.inf if row is None else float(row["value"]), pair[0])

    return sorted(places, key=key)


def _ratio(row: pd.Series | None) -> str:
    if row is None or np.isnan(row["value"]):
        return "-"
    return f"{row['value']:.4f}<br><small>{row['ci_low']:.4f} to {row['ci_high']:.4f}</small>"


def _ratios(rows: pd.DataFrame, machines: list[str]) -> list[list[str]]:
    """Scheduler, decoder, microseconds per block, ratio to GCC's cycles on each machine."""
    table = []
    for (scheduler, decoder), own in _ranked(rows, machines[0]):
        cells = [_ratio(own.get(_TO_GCC + machine)) for machine in machines]
        time = own.get(_TIME)
        table.append(
            [
                plots.label(scheduler),
                decoder_label(decoder),
                "-" if time is None else f"{time['value']:,.0f}",
                *cells,
            ]
        )
    return table


def _shares(rows: pd.DataFrame, machine: str) -> list[list[str]]:
    """Scheduler, decoder, ratio to the best, mean ratio to GCC, shares: fewer, as many, more, GCC's own; blocks."""
    table = []
    for (scheduler, decoder), own in _ranked(rows, machine):
        best = own.get(_TO_BEST + machine)
        if best is None:
            continue
        shares = [percent(own[metric + machine]["value"]) for metric in _SHARES]
        cells = [_ratio(best), _ratio(own[_MEAN + machine]), *shares, count(best["n_blocks"])]
        table.append([plots.label(scheduler), decoder_label(decoder), *cells])
    return table


def _proven(rows: pd.DataFrame, sets: list[str]) -> list[list[str]]:
    """Set, scheduler, shares proven up to 20 instructions and of all, blocks."""
    table = []
    for split in sets:
        for (scheduler, _), own in sorted(_by_place(rows[rows["split"] == split]).items()):
            cells = [own.get(metric) for metric in _PROVEN]
            if cells[1] is not None:
                shares = [with_interval(_PROVEN[1], cell) for cell in cells]
                table.append([set_label(split), plots.label(scheduler), *shares, count(cells[1]["n_blocks"])])
    return table


def _points(rows: pd.DataFrame, machine: str) -> pd.DataFrame:
    """Columns of `cycles_plots.pareto`: schedulers whose time was measured on the processor's model."""
    found = []
    for (scheduler, decoder), own in _ranked(rows, machine):
        row, time = own.get(_TO_GCC + machine), own.get(_TIME)
        if row is not None and time is not None:
            name = plots.label(scheduler) + (f", {decoder_label(decoder)}" if decoder != "none" else "")
            found.append((name, time["value"], row["value"], row["ci_low"], row["ci_high"]))
    return pd.DataFrame(found, columns=["name", "microseconds", "ratio", "ci_low", "ci_high"])


def _timelines(block: pd.DataFrame) -> list[cycles_plots.Timeline]:
    """Of one block of the table of examples: a row for each order and slot."""
    return [
        cycles_plots.Timeline(
            str(title),
            own["instruction"].tolist(),
            own["issue"].to_numpy(int),
            own["latency"].to_numpy(int),
            int(own["cycles"].iloc[0]),
        )
        for title, own in block.sort_values(["place", "slot"]).groupby("title", sort=False)
    ]
