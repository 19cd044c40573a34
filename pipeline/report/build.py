"""Tables -> figures, and pages as Markdown and self-contained HTML. Pure: the stage reads and writes."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass

import markdown as markdown_package
import pandas as pd
from matplotlib.figure import Figure

from pipeline.analysis.cycles import EXPERIMENT as CYCLES
from pipeline.config.params import Params
from pipeline.config.schedulers import Scheduling
from pipeline.report.corpus import composition as corpus
from pipeline.report.corpus import ingest, verification
from pipeline.report.corpus.card import Card
from pipeline.report.imitation import comparison as imitation
from pipeline.report.imitation import ideas as imitation_ideas
from pipeline.report.imitation import input as imitation_input
from pipeline.report.imitation import limits as imitation_limits
from pipeline.report.imitation import rows as imitation_rows
from pipeline.report.index import experiments, paper_tables, training
from pipeline.report.operator import decoding, learning
from pipeline.report.operator import projection as operator
from pipeline.report.pages import PAGES
from pipeline.report.processors import cycles as scheduling
from pipeline.report.processors import hardware
from pipeline.report.templates import template

# Page -> experiments that it shows and that are run only when asked for: the first page says which were not.
_PUBLISHED = {
    "operator": (learning.EXPERIMENT, decoding.EXPERIMENT),
    "imitation": imitation_rows.EXPERIMENTS,
    "scheduling": (CYCLES,),
    "corpus": (verification.EXPERIMENT, ingest.EXPERIMENT),
}


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


def markdown(evidence: Evidence) -> dict[str, str]:
    """Every page as Markdown by its name; images by relative path, figures/<name>.png, other pages as <name>.md."""
    context = _context(evidence)
    texts = {page.name: template(page.template).render(context, page=page, pages=PAGES) for page in PAGES}
    return {name: re.sub(r"\n{3,}", "\n\n", text).strip() + "\n" for name, text in texts.items()}


def _context(evidence: Evidence) -> dict[str, object]:
    """What the pages' templates show, by the names that they have for it."""
    params, results, frozen = evidence.params, evidence.experiments.results, evidence.frozen
    reproduced, others = paper_tables.sections(params, experiments.parts(params, evidence.experiments))
    return {
        "params": params,
        "reproduced": reproduced,
        "headlines": experiments.headlines(reproduced.parts),
        "others": others,
        "trials": training.trials(evidence.trials),
        "corpus": corpus.section(evidence.statistics, evidence.card),
        "verification": verification.section(
            results, *(frozen[name] for name in ("strata", "reasons", "sensitivity", "explanations"))
        ),
        "ingest": ingest.section(results, frozen["growth"]),
        "learning": learning.section(results, evidence.trials),
        "imitation": imitation.section(*_of_imitations(evidence)),
        "limits": imitation_limits.section(
            results, *(frozen[name] for name in ("ceiling", "twins", "errors", "blocks", "audit"))
        ),
        "ideas": imitation_ideas.section(results, params.imitations),
        "input": imitation_input.section(results, params.imitations, params.sets),
        "scheduling": scheduling.section(*_of_scheduling(evidence)),
        "hardware": hardware.section(results, frozen["outcomes"], params.scheduling),
        "timed": params.hardware,
        "decoding": decoding.section(results),
        "operator": operator.section(evidence.residuals, frozen["speed"], params.residuals),
        "provenance": [[what, f"`{value}`"] for what, value in evidence.provenance.items()],
        "unpublished": _unpublished(results),
    }


def _unpublished(results: pd.DataFrame) -> dict[str, list[str]]:
    """Page -> experiments of _PUBLISHED that there are no results of."""
    found = set(results["experiment"])
    return {page: [name for name in names if name not in found] for page, names in _PUBLISHED.items()}


def html(text: str, images: dict[str, bytes]) -> str:
    """A page's Markdown as HTML that needs no other file; its links to other pages lead to their HTML.

    `images`: figure name -> PNG bytes, embedded as data URIs where the page shows them. Raises KeyError for one that
    is missing.
    """
    depth = "2-2" if text.count("\n## ") > 1 else "2-3"  # contents of a single line would tell nothing
    toc = {"toc": {"toc_depth": depth}}
    converter = markdown_package.Markdown(extensions=["tables", "toc", "sane_lists"], extension_configs=toc)
    body = converter.convert(text)

    def embed(match: re.Match) -> str:
        return f'src="data:image/png;base64,{base64.b64encode(images[match[1]]).decode()}"'

    body = re.sub(r'src="figures/([^"]+)\.png"', embed, body)
    body = re.sub(r'href="(\w+)\.md(#[^"]*)?"', r'href="\1.html\2"', body)
    body = body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
    page = template("page.html.j2")
    return page.render(title=text.splitlines()[0].lstrip("# "), contents=converter.toc, body=body)
