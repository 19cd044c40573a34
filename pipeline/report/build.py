"""Evidence -> figures, and pages as Markdown and self-contained HTML. Pure: the stage reads and writes."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any

import markdown as markdown_package

from pipeline.report.corpus import composition, ingest, verification
from pipeline.report.devices import comparison as methods_on_devices
from pipeline.report.devices import machine, simulator, speed, trials
from pipeline.report.evidence import Evidence
from pipeline.report.fusion import agreement as agreement_of_fusions
from pipeline.report.fusion import answers as answers_of_fusion
from pipeline.report.fusion import collection, compiler, plans
from pipeline.report.fusion import costs as costs_of_fusion
from pipeline.report.fusion import learning as learning_of_fusion
from pipeline.report.fusion import pictures as pictures_of_fusion
from pipeline.report.imitation import comparison, ideas, input, limits
from pipeline.report.index import front, paper_tables
from pipeline.report.operator import decoding, learning, price, projection
from pipeline.report.pages import PAGES
from pipeline.report.placement import answers as answers_of_placement
from pipeline.report.placement import costs, executed, scale, splits
from pipeline.report.placement import gains as gains_of_placement
from pipeline.report.placement import learning as learning_of_placement
from pipeline.report.placement import pictures as pictures_of_placement
from pipeline.report.plots import Drawing
from pipeline.report.policies import answers, exactness, gains, generalisation, temperature, training
from pipeline.report.policies import paper_tables as tables_of_policies
from pipeline.report.policies import speed as speed_of_policies
from pipeline.report.policies import trials as trials_of_policies
from pipeline.report.policies.shared import together
from pipeline.report.processors import agreement, cycles, fresh, hardware
from pipeline.report.provenance import provenance
from pipeline.report.templates import template

Section = Callable[[Evidence], Mapping[str, Any]]
# Page -> its sections by the names that its templates have for them: what is shown, by name; `figures`: what is drawn.
SECTIONS: dict[str, dict[str, Section]] = {
    "index": {"front": front.section},
    "operator": {
        "learning": learning.section,
        "operator": projection.section,
        "decoding": decoding.section,
        "price": price.section,
        "others": paper_tables.others,
    },
    "imitation": {
        "imitation": comparison.section,
        "ideas": ideas.section,
        "limits": limits.section,
        "input": input.section,
    },
    "processors": {
        "processors": cycles.section,
        "fresh": fresh.section,
        "agreement": agreement.section,
        "hardware": hardware.section,
    },
    "devices": {
        "devices": methods_on_devices.section,
        "machine": machine.section,
        "speed": speed.section,
        "simulator": simulator.section,
        "trials": trials.section,
    },
    "policies": {
        "answers": together(answers.section),
        "tables": together(tables_of_policies.section),
        "gains": together(gains.section),
        "temperature": together(temperature.section),
        "generalisation": together(generalisation.section),
        "training": together(training.section),
        "exactness": exactness.section,
        "speed": speed_of_policies.section,
        "trials": trials_of_policies.section,
    },
    "placement": {
        "answers": answers_of_placement.section,
        "gains": gains_of_placement.section,
        "pictures": pictures_of_placement.section,
        "learning": learning_of_placement.section,
        "scale": scale.section,
        "executed": executed.section,
        "splits": splits.section,
        "costs": costs.section,
    },
    "fusion": {
        "pictures": pictures_of_fusion.section,
        "answers": answers_of_fusion.section,
        "plans": plans.section,
        "learning": learning_of_fusion.section,
        "compiler": compiler.section,
        "agreement": agreement_of_fusions.section,
        "collection": collection.section,
        "costs": costs_of_fusion.section,
    },
    "corpus": {"corpus": composition.section, "verification": verification.section, "ingest": ingest.section},
}


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """Every figure of the report by its file name without ending, to be drawn when asked for."""
    shown = [section(evidence) for sections in SECTIONS.values() for section in sections.values()]
    return {name: drawing for section in shown for name, drawing in section.get("figures", {}).items()}


def markdown(evidence: Evidence) -> dict[str, str]:
    """Every page as Markdown by its name; images by relative path, figures/<name>.png, other pages as <name>.md."""
    texts = {}
    for page in PAGES:
        context: dict[str, Any] = {name: section(evidence) for name, section in SECTIONS[page.name].items()}
        context |= {"page": page, "pages": PAGES, "params": evidence.params, "provenance": provenance(page, evidence)}
        text = template(f"{page.name}/page.md.j2").render(context)
        texts[page.name] = re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"
    return texts


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
