"""Everything that the report shows; the stage passes it to the pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pandas as pd

from pipeline.lab import chapters, published
from pipeline.lab.page.anchors import claimed

ALL = "all"  # the seed of rows over all seeds


@dataclass(frozen=True)
class Evidence:
    """Fresh and published numbers; a page says which numbers are missing."""

    # The resolved parameters. Pages read corpus.{min,max}_instructions, split.{n_instructions,sampler,sources},
    # tokens.min_count, evaluation.{confidence,bootstrap_samples}, residuals.{scale,tolerance,shown}, hardware,
    # sets.*.input, methods.*.method, methods.milp.nodes, and of experiments task, sets, methods, models, targets and
    # seeds.
    params: Mapping[str, Any]
    results: pd.DataFrame  # table `results`, of all experiments
    tables: Mapping[str, pd.DataFrame]  # further tables by file stem: parts, history, trials ...
    fresh: tuple[str, ...] = ()  # experiments that this run evaluated
    provenance: Mapping[str, Any] = field(default_factory=dict)  # of published experiments
    states: Mapping[str, str] = field(
        default_factory=dict
    )  # current | changed: reason | measured | frozen at a commit: reason
    claims: pd.DataFrame = field(default_factory=pd.DataFrame)  # table `claims`
    fingerprints: Mapping[str, str] = field(default_factory=dict)  # name -> SHA-256
    contents: dict[Any, Any] = field(default_factory=dict, init=False, compare=False, repr=False)  # kept by build.py

    def of(self, *experiments: str) -> pd.DataFrame:
        """Rows of these experiments over all seeds, and those of measurements without seeds."""
        results = self.results
        return results[results["experiment"].isin(experiments) & results["seed"].isin((ALL, "none"))]

    @cached_property
    def with_claims(self) -> Evidence:
        """The same evidence; its results name the claims that they answer, so that cells become their anchors."""
        return replace(self, results=claimed(self.results, self.claims))

    @cached_property
    def measurements(self) -> Mapping[tuple[str, str], list[Mapping[Any, Any]]]:
        """(experiment, metric) -> its rows over all seeds that have a value: for hundreds of look-ups."""
        every: dict[tuple[str, str], list[Mapping[Any, Any]]] = {}
        rows = self.results[(self.results["seed"] == ALL) & self.results["value"].notna()]
        for row in rows.to_dict("records"):
            every.setdefault((row["experiment"], row["metric"]), []).append(row)
        return every

    def table(self, stem: str, experiment: str = "") -> pd.DataFrame:
        """A table by its stem, of one experiment or of all; without rows if it does not exist."""
        every = chapters.tables()
        frame = self.tables.get(stem, pd.DataFrame())
        frame = published.empty(every[stem]) if frame.empty and stem in every else frame
        return frame[frame["experiment"] == experiment] if experiment and len(frame) else frame

    def settings(self, experiment: str) -> Mapping[str, Any]:
        """The experiment's parameters; empty if the parameters do not name it."""
        return self.params.get("experiments", {}).get(experiment, {})

    def measured(self, experiment: str) -> bool:
        """Whether the experiment was evaluated or published."""
        return experiment in self.provenance or bool((self.results["experiment"] == experiment).any())
