"""The corpus in tables: sources, programs, kinds of dependencies, how uniform the input orders are."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from pipeline.analysis.composition import words
from pipeline.blocks.dag.dependencies import Kind
from pipeline.report.corpus import plots
from pipeline.report.evidence import Evidence
from pipeline.report.names import mode
from pipeline.report.numbers import cell, count, number, percent
from pipeline.report.plots import Drawing
from pipeline.report.tables import Column, Line, of, records, table

_LARGEST = 15  # programs shown
_NAMED = 3  # files that were left out
_NUMBERS = ["programs", "blocks", "occurrences", "instructions", "single_order", "inexact_orders", "reduction_edges"]
COUNTED: list[Column] = [
    ("Programs", of("programs", count)),
    ("Blocks found", of("occurrences", count)),
    ("Unique blocks", of("blocks", count)),
    ("Instructions", of("instructions", count)),
    ("Instructions per block", lambda line: number(line["instructions"] / line["blocks"], 1)),
    ("Edges per block", lambda line: number(line["reduction_edges"] / line["blocks"], 2)),
    ("With a single legal order", lambda line: percent(line["single_order"] / line["blocks"])),
    ("Orders counted exactly", lambda line: percent(1 - line["inexact_orders"] / line["blocks"], 2)),
]
SOURCES: list[Column] = [("Source", of("source")), ("Compiler", of("compiler", cell)), *COUNTED]
PROGRAMS: list[Column] = [("Source", of("source", cell)), ("Program", of("program", cell)), *COUNTED[1:]]
MODES: list[Column] = [
    ("Dependencies", of("dependencies", mode)),
    ("Direct conflicts per block", of("direct_conflicts", lambda mean: number(mean, 2))),
    ("Edges per block", of("reduction_edges", lambda mean: number(mean, 2))),
    ("With a single legal order", of("single_order", percent)),
]
KINDS: list[Column] = [
    ("Kind", of("kind")),
    ("In the reduction", of("reduction_edges", count)),
    ("of its edges", of("of_reduction_edges", percent)),
    ("Direct conflicts", of("direct_conflicts", count)),
    ("of all conflicts", of("of_direct_conflicts", percent)),
]
READY: list[Column] = [
    ("Instructions", of("bin")),
    ("Blocks", of("ready_blocks", count)),
    ("Distinct DAGs", of("ready_dags", count)),
    ("Mean", of("ready_mean", number)),
    ("Median", of("ready_median", number)),
    ("Largest", of("ready_largest", number)),
    ("Missing entropy, mean", of("ready_divergence", number)),
]
SPLITS: list[Column] = [
    ("Dependencies", of("dependencies")),
    ("Split", of("split")),
    ("Blocks", of("blocks", count)),
    ("With several legal orders", of("several", percent)),
    ("Legal orders, mean", of("mean", lambda mean: number(mean, 1))),
    ("Random legal order is GCC's", of("chance", percent)),
]
SKIPPED: list[Column] = [
    (name.capitalize(), of(name.lower(), cell)) for name in ("Source", "Reason", "Files", "Which", "Remedy")
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables by name."""
    statistics = evidence.table("corpus")
    chosen = main_mode(statistics)
    own = statistics[statistics["dependencies"] == chosen]
    programs = _totals(own)
    every = programs[_NUMBERS].sum()
    sources = programs.groupby("source", sort=True)[_NUMBERS].sum().reset_index()
    pairs = sorted({(row["source"], row["compiler"]) for row in evidence.table("compilers").to_dict("records")})
    compilers = {source: "; ".join(name for own, name in pairs if own == source) for source, _ in pairs}
    sources = sources.assign(compiler=[compilers.get(name, "") for name in sources["source"]])
    total = Line({"source": "**all**", "compiler": ""} | every.to_dict(), [])
    return {
        "mode": chosen,
        "n_blocks": int(every["blocks"]),
        "n_occurrences": int(every["occurrences"]),
        "sources": table(SOURCES, [*records(sources), *([total] if len(sources) > 1 else [])], right=2),
        "programs": table(PROGRAMS, _programs(programs), right=2),
        "modes": table(MODES, _modes(statistics), right=1),
        "kinds": table(KINDS, _kinds(own), right=1),
        "ready": table(READY, _ready(own), right=1),
        "splits": table(SPLITS, _splits(evidence.table("splits")), right=2),
        "skipped": table(SKIPPED, _skipped(evidence.table("skipped"))),
    }


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """The section's figure."""
    statistics = evidence.table("corpus")
    own = statistics[statistics["dependencies"] == main_mode(statistics)]
    return {"corpus": partial(plots.corpus, own)}


def main_mode(statistics: pd.DataFrame) -> str:
    """`full` where the corpus was described with it, else the first."""
    modes = sorted(set(statistics["dependencies"]))
    return "full" if "full" in modes else modes[0]


def _programs(programs: pd.DataFrame) -> list[Line]:
    """The largest programs, then the others together."""
    ordered = programs.sort_values(["blocks", "source", "program"], ascending=[False, True, True], kind="stable")
    rest = ordered.iloc[_LARGEST:]
    others = {"source": "", "program": f"{len(rest)} more"} | rest[_NUMBERS].sum().to_dict()
    return [*records(ordered.head(_LARGEST)), *([Line(others, [])] if len(rest) else [])]


def _totals(own: pd.DataFrame) -> pd.DataFrame:
    """One row per program: source, program and _NUMBERS."""
    singles = own[(own["bin"] == "") & (own["program"] != "")]
    table = singles.pivot(index=["source", "program"], columns="statistic", values="value")
    return table.assign(programs=1).reindex(columns=_NUMBERS).fillna(0).reset_index()


def _total(own: pd.DataFrame, statistic: str, place: str = "") -> float:
    """A statistic of all sources together; 0 where nothing was counted."""
    found = own[(own["source"] == "") & (own["statistic"] == statistic) & (own["bin"] == place)]["value"]
    return float(found.iloc[0]) if len(found) else 0.0


def _modes(statistics: pd.DataFrame) -> list[Line]:
    """Means over the blocks, for each kind of dependencies; none for a single kind."""
    found = []
    for name, own in statistics.groupby("dependencies", sort=True):
        each = ("direct_conflicts", "reduction_edges", "single_order")
        means = {statistic: _total(own, statistic) / _total(own, "blocks") for statistic in each}
        found.append(Line({"dependencies": name} | means, []))
    return found if len(found) > 1 else []


def _kinds(own: pd.DataFrame) -> list[Line]:
    """Pairs of each kind, and their share of all."""
    found = []
    for kind in Kind:
        numbers: dict[str, Any] = {"kind": words(kind)}
        for statistic in ("reduction_edges", "direct_conflicts"):
            numbers[statistic] = _total(own, statistic, words(kind))
            numbers[f"of_{statistic}"] = numbers[statistic] / max(_total(own, statistic), 1)
        found.append(Line(numbers, []))
    return found


def _ready(own: pd.DataFrame) -> list[Line]:
    """How far ready orders are from uniform, by length."""
    names = [heading for heading in own["statistic"].unique() if str(heading).startswith("ready_")]
    measured = own[own["statistic"].isin(names)].pivot(index="bin", columns="statistic", values="value")
    return records(measured.sort_index(key=lambda lengths: lengths.astype(int)).reset_index())


def _splits(blocks: pd.DataFrame) -> list[Line]:
    """Each split of each kind of dependencies; `chance`: that a uniformly random legal order is GCC's."""
    if blocks.empty:
        return []
    grouped = blocks.groupby(["dependencies", "split"])["n_legal_orders"]
    splits = grouped.agg(
        blocks="size", several=lambda n: (n > 1).mean(), mean="mean", chance=lambda n: (1 / n).mean()
    ).reset_index()
    order = {"training": 0, "development": 1, "test": 2}
    return records(splits.assign(place=splits["split"].map(order)).sort_values(["dependencies", "place"]))


def _skipped(files: pd.DataFrame) -> list[Line]:
    """Files that were left out for one reason together; some of them are named."""
    lines = []
    for (source, reason, remedy), rows in files.groupby(["source", "reason", "remedy"]) if len(files) else []:
        names, more = sorted(rows["program"]), len(rows) - _NAMED
        which = ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        facts = {"source": source, "reason": reason, "files": len(rows), "which": which, "remedy": remedy}
        lines.append(Line(facts, []))
    return lines
