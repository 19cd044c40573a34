"""Evidence -> figures, and pages as Markdown and self-contained HTML. Pure: the stage reads and writes."""

from __future__ import annotations

import base64
import re

import markdown as markdown_package

from pipeline.report.corpus import composition, ingest, verification
from pipeline.report.evidence import Evidence
from pipeline.report.imitation import comparison, ideas, input, limits
from pipeline.report.index import front
from pipeline.report.operator import decoding, learning, others, projection
from pipeline.report.pages import PAGES
from pipeline.report.plots import Drawing
from pipeline.report.processors import cycles, hardware
from pipeline.report.provenance import provenance
from pipeline.report.templates import template

# Page -> its sections by the names that its templates have for them. A section is a module: `section(evidence)` gives
# what is shown, `figures(evidence)`, where it has any, what is drawn.
SECTIONS = {
    "index": {"front": front},
    "operator": {"learning": learning, "operator": projection, "decoding": decoding, "others": others},
    "imitation": {"imitation": comparison, "ideas": ideas, "limits": limits, "input": input},
    "processors": {"processors": cycles, "hardware": hardware},
    "corpus": {"corpus": composition, "verification": verification, "ingest": ingest},
}


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """Every figure of the report by its file name without ending, to be drawn when asked for."""
    drawn: dict[str, Drawing] = {}
    for sections in SECTIONS.values():
        for section in sections.values():
            drawn |= section.figures(evidence) if hasattr(section, "figures") else {}
    return drawn


def markdown(evidence: Evidence) -> dict[str, str]:
    """Every page as Markdown by its name; images by relative path, figures/<name>.png, other pages as <name>.md."""
    texts = {}
    for page in PAGES:
        context = {name: section.section(evidence) for name, section in SECTIONS[page.name].items()}
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
