"""Measurements of `gains` -> rows: geometric means of cycles over LLVM's default, with intervals over projects."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from benchmarks.before_allocation.shares import SHARES, loads_and_others, shares, slopes
from learned_schedulers.blocks.before_allocation.cost import cost
from learned_schedulers.blocks.before_allocation.counts import Counts
from learned_schedulers.statistics.clusters import ClusterBootstrap
from pipeline.lab.rows import Quantity, Row, part, row

_SAMPLES, _CONFIDENCE = 2000, 0.95
DEFAULT = "llvm default"
SEARCHES = ("random_legal", "randomised_pressure_list", "moves", "evolution", "learned_evolution")
COMPARED = (10, 100, 1000)  # candidates at which the learned search is compared with the same search without learning


class Measured(NamedTuple):
    """A function: what was computed, and ratios to LLVM's default by series and form."""

    name: str
    facts: Mapping[str, Any]
    ratios: Mapping[int, Mapping[str, Sequence[float]]]  # one number for each process

    def log(self, series: int, form: str) -> float:
        """Mean logarithm over the processes; NaN if the form was not measured."""
        values = self.ratios[series].get(form)
        return float(np.log(values).mean()) if values else np.nan

    @property
    def spills(self) -> bool:
        """Whether LLVM's default spills in it."""
        return sum(self.facts["default"][1:]) > 0


def read(work: Path) -> list[Measured]:
    """The functions that were measured in every series of a folder."""
    ratios: dict[str, dict[int, Any]] = defaultdict(dict)
    files = sorted(work.glob("series_*.jsonl"))
    for path in files:
        for line in map(json.loads, path.read_text().splitlines()):
            ratios[line["function"]][int(path.stem.rpartition("_")[2])] = line["ratios"]
    return [
        Measured(name, json.loads((work / f"{name}.json").read_text()), of_series)
        for name, of_series in sorted(ratios.items())
        if len(of_series) == len(files)
    ]


def rows(place: Mapping[str, str], every: Sequence[Measured], table: pd.DataFrame) -> Iterator[Row]:
    """Rows of the functions in which the default spills, and of the others under the set `<set>_fitting`."""
    project = table.set_index("name")["project"]
    for fitting in (False, True):
        members = [each for each in every if each.spills != fitting]
        if not members:
            continue
        of_set = {**place, "seed": "all", "set": place["set"] + "_fitting" * fitting}
        bootstrap = ClusterBootstrap([project[each.name] for each in members], _SAMPLES, _CONFIDENCE)
        logs = _logs(members)
        for form, of_form in logs.items():
            method, candidates = form.rsplit(" ", 1) if form[-1].isdigit() else (form, "1")
            which = {"method": method, "decoder": f"candidates_{candidates}"}
            yield from _ratio(of_set | which, Quantity("cycles", "ratio", DEFAULT), of_form, bootstrap)
        for candidates in COMPARED:
            learned, plain = (logs.get(f"{name} {candidates}") for name in ("learned_evolution", "evolution"))
            if learned is not None and plain is not None:
                which = {"method": "learned_evolution", "decoder": f"candidates_{candidates}"}
                yield from _ratio(of_set | which, Quantity("cycles", "ratio", "evolution"), learned - plain, bootstrap)
        yield row(of_set, "projects", len({project[each.name] for each in members}), n=len(members), method="every")
        chosen = max((form for form in logs if "_or_default " in form), default=None)
        if chosen is not None:
            worst, of_control = (float(np.nanmax(logs[form])) for form in (chosen, "control"))
            yield row(of_set, "slower", np.expm1(worst), n=len(members), method="chosen")
            yield row(of_set, "slower", np.expm1(of_control), n=len(members), method="control")
            beyond = np.expm1(worst) - np.expm1(of_control)
            yield row(of_set, Quantity("slower", "difference", "control"), beyond, n=len(members), method="chosen")
        yield from _judges(of_set, members, bootstrap)
        yield _time(of_set, members)
        if not fitting and (longest := _longest(logs)) is not None:
            yield from _shares(of_set, members, longest, logs[longest].mean(0), bootstrap)


def _logs(members: Sequence[Measured]) -> dict[str, np.ndarray]:
    """Logarithms of ratios by form, (series, functions), NaN where a form is missing."""
    forms = sorted({form for each in members for of in each.ratios.values() for form in of if "sample" not in form})
    series = sorted(members[0].ratios)
    logs = {form: np.array([[each.log(number, form) for each in members] for number in series]) for form in forms}
    if (longest := _longest(forms)) is not None:
        is_better = np.array([each.facts["confirmed"].get(longest, False) for each in members])
        name, _, candidates = longest.partition(" ")
        logs[f"{name}_or_default {candidates}"] = np.where(is_better, logs[longest], logs["control"])
    return logs


def _time(place: Mapping[str, str], members: Sequence[Measured]) -> Row:
    """Of the learned order: the median over functions."""
    times = [1e6 * each.facts["seconds"]["learned 1"] / each.facts["instructions"] for each in members]
    quantity = Quantity("microseconds_per_instruction", unit="microseconds")
    return row(place, quantity, float(np.median(times)), n=len(times), method="learned")


def _longest(forms: Iterable[str]) -> str | None:
    """The learned search of most candidates."""
    searches = (form for form in forms if form.startswith("learned_evolution "))
    return max(searches, key=lambda form: int(form.rpartition(" ")[2]), default=None)


def _shares(
    place: Mapping[str, str], members: Sequence[Measured], form: str, logs: np.ndarray, bootstrap: ClusterBootstrap
) -> Iterator[Row]:
    """Parts of what a form saves, in ratios whose product is its own."""
    samples, of_form, of_default = [], [], []
    for each in members:
        default, counts = each.facts["default"], each.facts["counts"]
        names = [name for name in counts if name.startswith("sample ")]
        cycles = np.array([np.mean([each.log(series, name) for series in each.ratios]) for name in names])
        samples.append((np.array([loads_and_others(counts[name], default) for name in names]), cycles))
        of_form.append(loads_and_others(counts[form], default))
        of_default.append(loads_and_others(default, default))
    slope = slopes(samples)
    method, candidates = form.split(" ")
    for name, parts in zip(SHARES, shares(np.array(of_form), np.array(of_default), logs, slope).T, strict=True):
        _, over_all = bootstrap.estimates(parts[None])
        numbers = np.exp([over_all.value, over_all.low, over_all.high]).tolist()
        which = {**place, "method": method, "decoder": f"candidates_{candidates}"}
        quantity = Quantity("cycles_explained", "ratio", DEFAULT, judge=name)
        yield row(which, quantity, *numbers, n=over_all.n, over="projects")


def _ratio(
    place: Mapping[str, str], quantity: Quantity, logs: np.ndarray, bootstrap: ClusterBootstrap
) -> Iterator[Row]:
    """A row for each series and one over them. logs: (series, functions)."""
    if np.isnan(logs).all():
        return
    each, over_all = bootstrap.estimates(logs)
    for number, estimate in [*((str(k + 1), of_series) for k, of_series in enumerate(each)), ("all", over_all)]:
        numbers = np.exp([estimate.value, estimate.low, estimate.high]).tolist()
        yield row(place, quantity, *numbers, n=estimate.n, over="projects and series", seed=number)


def _judges(place: Mapping[str, str], members: Sequence[Measured], bootstrap: ClusterBootstrap) -> Iterator[Row]:
    """Rank correlations, within functions, of counts with cycles; the ceiling is of one series with the next."""
    first, last = min(members[0].ratios), max(members[0].ratios)
    values: dict[str, list[float]] = defaultdict(list)
    for each in members:
        samples = [form for form in each.ratios[first] if form.startswith("sample ")]
        cycles = np.array([each.log(first, form) for form in samples])
        half = np.array([np.log(each.ratios[last][form][-1]) for form in samples])
        counts = [Counts(*each.facts["counts"][form]) for form in samples]
        judges = {
            "cost": [cost(of) for of in counts],
            "instructions": [of.instructions for of in counts],
            "spills_and_reloads": [of.spills + of.reloads for of in counts],
        } | ({"itself": half} if first != last else {})
        for name, of_judge in judges.items():
            usable = len(samples) > 2 and np.ptp(of_judge) > 0 and np.ptp(cycles) > 0
            values[name].append(float(spearmanr(of_judge, cycles)[0]) if usable else np.nan)
    for name, of_functions in values.items():
        if not np.isnan(of_functions).all():
            _, over_all = bootstrap.estimates(np.array([of_functions]))
            numbers = (over_all.value, over_all.low, over_all.high)
            quantity = Quantity("rank_correlation", judge=name)
            yield row(place, quantity, *numbers, n=over_all.n, over="projects", method="evolution")


def of_parts(place: Mapping[str, str], every: Sequence[Measured], table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """By project and by kind, the geometric mean of each form that the page shows; by function, too."""
    listed = table.set_index("name")
    members = [each for each in every if each.spills]
    if not members:
        return
    logs = {form: of_form.mean(0) for form, of_form in _logs(members).items()}
    for by in ("project", "kind", "function"):
        groups = defaultdict(list)
        for k, each in enumerate(members):
            groups[each.name if by == "function" else str(listed.loc[each.name, by])].append(k)
        for rank, (name, chosen) in enumerate(sorted(groups.items())):
            for form, of_form in logs.items():
                of_set = {**place, "metric": "cycles", "comparison": "ratio", "baseline": DEFAULT, "method": form}
                usable = of_form[chosen][~np.isnan(of_form[chosen])]
                if len(usable):
                    value = float(np.exp(usable.mean()))
                    yield part(of_set, by, name, rank, (value, np.nan, np.nan), len(usable))
