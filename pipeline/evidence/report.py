"""Tables -> figures, Markdown and one self-contained HTML page. Pure: the stage reads and writes."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass

import markdown as markdown_package
import pandas as pd
from matplotlib.figure import Figure

from pipeline.config.params import Params
from pipeline.config.schedulers import Scheduling
from pipeline.evidence import paper
from pipeline.evidence.card import Card
from pipeline.evidence.sections import (
    corpus,
    decoding,
    experiments,
    hardware,
    imitation,
    imitation_ideas,
    imitation_input,
    imitation_limits,
    ingest,
    learning,
    operator,
    scheduling,
    training,
    verification,
)
from pipeline.evidence.templates import template


@dataclass(frozen=True)
class Evidence:
    """Everything the report shows."""

    params: Params
    experiments: experiments.Tables  # fresh and published rows
    parts: pd.DataFrame  # tables `parts` of imitations; may be empty
    trials: pd.DataFrame  # what was tried, with settings and the end on the development split; may be empty
    residuals: pd.DataFrame  # table `residuals`
    statistics: pd.DataFrame  # tables `corpus`, with a column `dependencies`
    card: Card
    # strata, reasons, sensitivity, explanations: of stage `verify`; growth, speed: of benchmarks/ingest.py, operator;
    # ceiling, twins, errors, blocks, audit: of stage `publish_imitation_evidence`
    frozen: dict[str, pd.DataFrame]
    provenance: dict[str, str]


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Every figure of the report by its file name without ending."""
    drawn: dict[str, Figure] = {}
    for part in experiments.parts(evidence.params, evidence.experiments):
        drawn |= experiments.figures(part, evidence.experiments)
    drawn |= operator.figures(evidence.residuals, evidence.frozen["speed"], evidence.params.residuals)
    drawn |= decoding.figures(evidence.experiments.results)
    drawn |= imitation.figures(*_of_imitations(evidence))
    drawn |= imitation_limits.figures(evidence.frozen["errors"], evidence.frozen["audit"])
    drawn |= scheduling.figures(*_of_scheduling(evidence))
    return drawn | corpus.figures(evidence.statistics) | ingest.figures(evidence.frozen["growth"])


def _of_imitations(evidence: Evidence) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, imitation.Settings]:
    measured = evidence.experiments
    return measured.results, evidence.parts, measured.history, evidence.params.imitations


def _of_scheduling(evidence: Evidence) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, Scheduling]:
    frozen = evidence.frozen
    return evidence.experiments.results, frozen["length"], frozen["examples"], evidence.params.scheduling


def markdown(evidence: Evidence) -> str:
    """The report as Markdown; images by relative path, figures/<name>.png."""
    params, results, frozen = evidence.params, evidence.experiments.results, evidence.frozen
    parts = experiments.parts(params, evidence.experiments)
    text = template("report.md.j2").render(
        params=params,
        parts=parts,
        headlines=experiments.headlines(parts),
        missing_latency=[part for part in parts if not part.table_2],
        margin=100 * paper.ON_PAR_SHARE,
        settings=training.settings(params),
        trials=training.trials(evidence.trials),
        knobs=training.KNOBS,
        trained_iterations=training.trained_iterations(params),
        corpus=corpus.section(evidence.statistics, evidence.card),
        verification=verification.section(
            results, *(frozen[name] for name in ("strata", "reasons", "sensitivity", "explanations"))
        ),
        ingest=ingest.section(results, frozen["growth"]),
        learning=learning.section(results, evidence.trials),
        imitation=imitation.section(*_of_imitations(evidence)),
        limits=imitation_limits.section(
            results, *(frozen[name] for name in ("ceiling", "twins", "errors", "blocks", "audit"))
        ),
        ideas=imitation_ideas.section(results, params.imitations),
        input=imitation_input.section(results, params.imitations, params.sets),
        scheduling=scheduling.section(*_of_scheduling(evidence)),
        hardware=hardware.section(results, frozen["outcomes"], params.scheduling),
        timed=params.hardware,
        decoding=decoding.section(results),
        operator=operator.section(evidence.residuals, frozen["speed"], params.residuals),
        provenance=[[what, f"`{value}`"] for what, value in evidence.provenance.items()],
    )
    return re.sub(r"\n{3,}", "\n\n", text)


def html(text: str, images: dict[str, bytes]) -> str:
    """The Markdown `text` as one HTML page that needs no other file.

    `images`: figure name -> PNG bytes, embedded as data URIs. Raises KeyError for one that is missing.
    """
    converter = markdown_package.Markdown(extensions=["tables", "toc", "sane_lists"], extension_configs=_TOC)
    body = converter.convert(text)

    def embed(match: re.Match) -> str:
        return f'src="data:image/png;base64,{base64.b64encode(images[match[1]]).decode()}"'

    body = re.sub(r'src="figures/([^"]+)\.png"', embed, body)
    body = body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
    page = template("page.html.j2")
    return page.render(title=text.splitlines()[0].lstrip("# "), contents=converter.toc, body=body)


_TOC = {"toc": {"toc_depth": "2-2"}}
