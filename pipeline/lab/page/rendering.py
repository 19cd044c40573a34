"""The final pages: Markdown whose long tables are folded, and HTML that needs no further file."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

import markdown as markdown_package

from pipeline.lab.page.templates import aside, template

LONG = 36  # rows; a longer table is folded, unless it answers questions
WIDE = 6  # columns of numbers; a table with more hides its intervals until the reader turns them on
PANELS = 1300  # pixels; a wider figure has a line of its own
_LEAD = 90  # characters; a longer sentence before a table does not become its summary
_VERDICT = re.compile(r"<strong>(yes|no|uncertain)</strong>")
_PARAGRAPH, _IMAGE = r"<p>(?:(?!</p>).)*</p>\n", r"<p><img [^>]*></p>"
_FIGURE = rf"(?:(?={_PARAGRAPH}{_IMAGE})<p>(?:(?!</p>).)*:</p>\n)?{_IMAGE}"  # with the sentence that introduces it
_PART = (  # a heading, its figure, sentences around it and a folded table, and nothing else
    rf"<h3[^\n]*</h3>\n(?:{_PARAGRAPH})?{_IMAGE}(?:\n{_PARAGRAPH.removesuffix(chr(92) + 'n')})?"
    r"(?:\n<details>(?:(?!</details>)[\s\S])*</details>)?(?=\n<h[23]|\s*$)"
)
_EITHER = f"(?:{_FIGURE}|{_PART})"
_FIGURES = re.compile(rf"{_EITHER}(?:\n{_EITHER})+")


def folded(text: str) -> str:
    """The Markdown page with each long table in <details>, whose summary is the short sentence or heading before it."""
    heading, blocks = "", [""]
    for block in re.sub(r"\n{3,}", "\n\n", text).strip().split("\n\n"):
        if block.startswith("#"):
            heading = block.lstrip("# ")
        elif block.startswith("| ") and block.count("\n") - 1 > LONG and not block.startswith("| Question"):
            is_lead = blocks[-1].endswith(":") and len(blocks[-1]) <= _LEAD
            is_aside = blocks[-1].startswith("<details>")
            block = block if is_aside else aside(block, blocks.pop().removesuffix(":") if is_lead else heading)
        blocks.append(block)
    return "\n\n".join(blocks).strip() + "\n"


def html(text: str, images: Mapping[str, bytes]) -> str:
    """A page's Markdown as HTML that needs no further file; links to pages lead to their HTML.

    `images`: figure name -> PNG bytes, which are embedded as data URIs. Raises KeyError if one is missing.
    """
    converter = markdown_package.Markdown(
        extensions=["tables", "toc", "sane_lists", "md_in_html"], extension_configs={"toc": {"toc_depth": "2-3"}}
    )
    body = converter.convert(text.replace("<details>", '<details markdown="1">'))

    body = _FIGURES.sub(_side_by_side, body)

    def embed(match: re.Match) -> str:
        image = images[match[1]]
        width = int.from_bytes(image[16:20], "big")  # in a PNG's header
        kind = ' class="panels"' * (width > PANELS) + f' style="--width:{width}px"'
        return f'src="data:image/png;base64,{base64.b64encode(image).decode()}"{kind}'

    body = re.sub(r'src="figures/([^"]+)\.png"', embed, body)
    body = re.sub(r'href="(\w+)\.md(#[^"]*)?"', r'href="\1.html\2"', body)
    body = _VERDICT.sub(r'<strong class="\1">\1</strong>', body)
    body = re.sub(r"<table>.*?</table>", _boxed, body, flags=re.DOTALL)
    body = body.replace("<h2", f"<nav>{converter.toc}</nav>\n<h2", 1)
    return template("page.html.j2").render(title=text.splitlines()[0].lstrip("# "), body=body)


def _side_by_side(match: re.Match) -> str:
    """Figures that follow each other, each with its sentence; they share a line where the window is wide."""
    return '<div class="figures">' + re.sub(_EITHER, r"<div>\g<0></div>", match[0]) + "</div>"


def _boxed(match: re.Match) -> str:
    """A table in its own box below its controls; if it has many columns of numbers, a switch shows the intervals."""
    table = match[0]
    many = len(re.findall(r'<th style="text-align: right;?"', table)) > WIDE and "<small>" in table
    switch = '<label><input type="checkbox"> intervals</label>' if many else ""
    kind = "table many" if many else "table"
    return f'<div class="{kind}"><div class="controls">{switch}</div><div class="wide">{table}</div></div>'
