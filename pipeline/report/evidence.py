"""Everything that the report shows, as the stage hands it to the pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from pipeline.analysis import published
from pipeline.tables import SCHEMAS

ALL = "all"  # of seeds


@dataclass(frozen=True)
class Evidence:
    """Numbers, fresh and published; what is empty is said to be missing on its page."""

    # The resolved parameters. Pages read corpus.{min,max}_instructions, split.{n_instructions,sampler,sources},
    # tokens.min_count, evaluation.{confidence,bootstrap_samples}, residuals.{scale,tolerance,shown}, hardware,
    # sets.*.input, methods.*.method, methods.milp.nodes, and of experiments task, sets, methods, models, targets and
    # seeds.
    params: Mapping[str, Any]
    results: pd.DataFrame  # table `results`, of all experiments
    tables: Mapping[str, pd.DataFrame]  # others by the stem of their files: parts, history, sweep, examples, trials ...
    fresh: tuple[str, ...] = ()  # experiments that were evaluated with this report
    provenance: Mapping[str, Any] = field(default_factory=dict)  # of published experiments
    states: Mapping[str, str] = field(default_factory=dict)  # of these: current | older than its sources: why | unknown
    claims: pd.DataFrame = field(default_factory=pd.DataFrame)  # table `claims`
    fingerprints: Mapping[str, str] = field(default_factory=dict)  # what -> SHA-256

    def of(self, *experiments: str) -> pd.DataFrame:
        """Rows of these experiments over all seeds."""
        results = self.results
        return results[results["experiment"].isin(experiments) & (results["seed"] == ALL)]

    def table(self, stem: str, experiment: str = "") -> pd.DataFrame:
        """A table by its stem, of one experiment or of all; without rows where nobody made it."""
        frame = self.tables.get(stem, pd.DataFrame())
        frame = published.empty(stem) if frame.empty and stem in SCHEMAS else frame
        return frame[frame["experiment"] == experiment] if experiment and len(frame) else frame

    def settings(self, experiment: str) -> Mapping[str, Any]:
        """The experiment's parameters; empty where the parameters do not name it (any more)."""
        return self.params.get("experiments", {}).get(experiment, {})

    def measured(self, experiment: str) -> bool:
        """Whether anything of the experiment was evaluated or published."""
        return experiment in self.provenance or bool((self.results["experiment"] == experiment).any())
