"""The corpus in tables: sources, programs, kinds of dependencies, how uniform the input orders are."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from pipeline.analysis.composition import words
from pipeline.blocks.dag.dependencies import Kind
from pipeline.report.corpus import plots as corpus_plots
from pipeline.report.corpus.card import Card
from pipeline.report.numbers import cell, count, number, percent

_LARGEST = 15  # programs shown
_NUMBERS = ["programs", "blocks", "occurrences", "instructions", "single_order", "inexact_orders", "reduction_edges"]


@dataclass(frozen=True)
class Section:
    """Rows of the section's tables, as text."""

    mode: str  # kind of dependencies that the tables are of
    n_blocks: int
    n_occurrences: int
    sources: list[list[str]]
    programs: list[list[str]]
    modes: list[list[str]]
    kinds: list[list[str]]
    ready: list[list[str]]
    splits: list[list[str]]
    skipped: list[list[str]]


def section(statistics: pd.DataFrame, card: Card) -> Section:
    """`statistics`: rows of tables `corpus` with a column `dependencies`."""
    mode = main_mode(statistics)
    own = statistics[statistics["dependencies"] == mode]
    programs = _totals(own)
    sources = programs.groupby("source", sort=True)[_NUMBERS].sum()
    every = programs[_NUMBERS].sum()
    ordered = programs.sort_values(["blocks", "source", "program"], ascending=[False, True, True], kind="stable")
    rows = [[cell(p.source), cell(p.program), *_cells(p)[1:]] for _, p in ordered.head(_LARGEST).iterrows()]
    if len(ordered) > _LARGEST:
        rest = ordered.iloc[_LARGEST:]
        rows.append(["", f"{len(rest)} more", *_cells(rest[_NUMBERS].sum())[1:]])
    listed = [
        [cell(source), cell(card.compilers.get(str(source), "")), *_cells(row)] for source, row in sources.iterrows()
    ]
    return Section(
        mode=mode,
        n_blocks=int(every["blocks"]),
        n_occurrences=int(every["occurrences"]),
        sources=[*listed, ["**all**", "", *_cells(every)]] if len(listed) > 1 else listed,
        programs=rows,
        modes=_modes(statistics),
        kinds=_kinds(own),
        ready=_ready(own),
        splits=[
            [mode, split, count(n), percent(several), number(mean, 1), percent(chance)]
            for mode, split, n, several, mean, chance in card.splits
        ],
        skipped=[list(map(cell, row)) for row in card.skipped],
    )


def figures(statistics: pd.DataFrame) -> dict[str, Figure]:
    """The section's figure."""
    return {"corpus": corpus_plots.corpus(statistics[statistics["dependencies"] == main_mode(statistics)])}


def main_mode(statistics: pd.DataFrame) -> str:
    """`full` where the corpus was described with it, else the first."""
    modes = sorted(set(statistics["dependencies"]))
    return "full" if "full" in modes else modes[0]


def _totals(own: pd.DataFrame) -> pd.DataFrame:
    """One row per program: source, program and _NUMBERS."""
    singles = own[(own["bin"] == "") & (own["program"] != "")]
    table = singles.pivot(index=["source", "program"], columns="statistic", values="value")
    return table.assign(programs=1).reindex(columns=_NUMBERS).fillna(0).reset_index()


def _cells(row: pd.Series) -> list[str]:
    blocks = row["blocks"]
    return [
        count(row["programs"]),
        count(row["occurrences"]),
        count(blocks),
        count(row["instructions"]),
        number(row["instructions"] / blocks, 1),
        number(row["reduction_edges"] / blocks, 2),
        percent(row["single_order"] / blocks),
        percent(1 - row["inexact_orders"] / blocks, 2),
    ]


def _total(own: pd.DataFrame, statistic: str, place: str = "") -> float:
    """A statistic of all sources together; 0 where nothing was counted."""
    found = own[(own["source"] == "") & (own["statistic"] == statistic) & (own["bin"] == place)]["value"]
    return float(found.iloc[0]) if len(found) else 0.0


def _modes(statistics: pd.DataFrame) -> list[list[str]]:
    rows = []
    for mode, own in statistics.groupby("dependencies", sort=True):
        blocks = _total(own, "blocks")
        pairs = (_total(own, statistic) / blocks for statistic in ("direct_conflicts", "reduction_edges"))
        rows.append([f"`{mode}`", *(number(each, 2) for each in pairs), percent(_total(own, "single_order") / blocks)])
    return rows


def _kinds(own: pd.DataFrame) -> list[list[str]]:
    rows = []
    for kind in Kind:
        cells = [words(kind)]
        for statistic in ("reduction_edges", "direct_conflicts"):
            pairs = _total(own, statistic, words(kind))
            cells += [count(pairs), percent(pairs / max(_total(own, statistic), 1))]
        rows.append(cells)
    return rows


def _ready(own: pd.DataFrame) -> list[list[str]]:
    names = ("ready_blocks", "ready_dags", "ready_mean", "ready_median", "ready_largest", "ready_divergence")
    measured = own[own["statistic"].isin(names)].pivot(index="bin", columns="statistic", values="value")
    measured = measured.sort_index(key=lambda lengths: lengths.astype(int))
    return [
        [str(n), *(count(row[name]) for name in names[:2]), *(number(row[name], 3) for name in names[2:])]
        for n, row in measured.iterrows()
    ]
