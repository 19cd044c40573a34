"""The paper's tables and figures for the experiments of one page: the reproduction, or all others."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.analysis import paper
from pipeline.config.params import Params
from pipeline.report.index import training
from pipeline.report.index.experiments import Part


@dataclass(frozen=True)
class Section:
    """Some experiments side by side; empty where none of them was run or published."""

    parts: list[Part]
    missing_latency: list[Part]
    settings: list[list[str]]  # experiment, model, `knobs` of every training
    knobs: list[str]
    trained_iterations: list[int]
    margin: float  # of "on par", in per cent


def sections(params: Params, parts: list[Part]) -> tuple[Section, Section]:
    """The reproduction of the paper, by the report's first experiment and by that with its settings; and all others."""
    own = {params.report.experiments[0], paper.EXPERIMENT}
    return _section(params, parts, own), _section(params, parts, {part.experiment for part in parts} - own)


def _section(params: Params, parts: list[Part], names: set[str]) -> Section:
    """The experiments of these names; their trainings as far as the parameters still have them."""
    own = [part for part in parts if part.experiment in names]
    return Section(
        parts=own,
        missing_latency=[part for part in own if not part.table_2],
        settings=training.settings(params, names),
        knobs=training.KNOBS,
        trained_iterations=training.trained_iterations(params, names),
        margin=100 * paper.ON_PAR_SHARE,
    )
