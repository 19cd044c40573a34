"""The documentation as a site: `python -m pipeline.lab.page.site` writes docs/site/index.html, without a network.

It has every page to which links lead from docs/index.md: those of docs/, others of the repository, its notebooks, and
the report as it is committed. The page docs/reference.md is completed by the public names of the library.
"""

from __future__ import annotations

import base64
import html as html_package
import os
import re
from pathlib import Path

from pipeline.lab.page.notebooks import text_of
from pipeline.lab.page.reference import reference
from pipeline.lab.page.rendering import html
from pipeline.lab.wiring import ROOT

SITE = ROOT / "docs/site"
_FENCE = re.compile(r"^( *)```\w*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r'(href|src)="(?!https?:|data:|#|mailto:)([^"#]*)(#[^"]*)?"')
_TOP = [("index", "documentation"), ("design", "design"), ("reference", "reference"), ("glossary", "glossary")]
_TITLE = re.compile(r"^# (.*)$", re.MULTILINE)


def build(site: Path) -> list[Path]:
    """Write the site into a folder, and return its files.

    Raises ValueError, with page and target, for a link that leads nowhere.
    """
    pending, files = [ROOT / "docs/index.md"], dict[Path, Path]()
    while pending:
        page = pending.pop()
        if page not in files:
            files[page] = site / _place(page)
            body, linked = _page(page, site)
            files[page].parent.mkdir(parents=True, exist_ok=True)
            files[page].write_text(body)
            pending += linked
    return sorted(files.values())


def _place(page: Path) -> Path:
    """Where a page of the repository stands in the site: those of docs/ on top, others as they lie."""
    path = page.relative_to(ROOT)
    return (path.relative_to("docs") if path.parts[0] == "docs" else path).with_suffix(".html")


def _page(page: Path, site: Path) -> tuple[str, list[Path]]:
    """A page of the site, and the pages and notebooks to which its links lead."""
    text = text_of(page)
    if page == ROOT / "docs/reference.md":
        text += reference()
    title = _TITLE.search(text)
    if title is None:
        raise ValueError(f"{page.relative_to(ROOT)}: a page begins with its title, `# ...`")
    written, linked = site / _place(page), list[Path]()
    figures = {path.stem: path.read_bytes() for path in (page.parent / "figures").glob("*.png")}

    def led(match: re.Match) -> str:
        kind, target, anchor = match[1], html_package.unescape(match[2]), match[3] or ""
        path = (page.parent / target).resolve()
        if path.suffix == ".html" and path.with_suffix(".md").exists():
            path = path.with_suffix(".md")
        if not path.exists():
            raise ValueError(f"{page.relative_to(ROOT)}: the link to {target} leads nowhere")
        if kind == "src":
            return f'src="data:image/{_kind(path)};base64,{base64.b64encode(path.read_bytes()).decode()}"'
        if path.suffix in (".md", ".ipynb"):
            linked.append(path)
            path = site / _place(path)
        return f'href="{os.path.relpath(path, written.parent)}{anchor}"'

    body = _LINK.sub(led, html(plain(text[title.start() :]), figures))
    body = body.replace("<main>", f"<main>\n{_top(written, site)}", 1)
    return body, linked


def _kind(path: Path) -> str:
    return "svg+xml" if path.suffix == ".svg" else path.suffix[1:]


def _top(written: Path, site: Path) -> str:
    """The line above a page's title: where else to go."""
    places = [(site / f"{name}.html", title) for name, title in _TOP] + [(site / "reports/index.html", "report")]
    links = [f'<a href="{os.path.relpath(path, written.parent)}">{title}</a>' for path, title in places]
    return f'<p style="font-size: .9rem">{" &middot; ".join(links)}</p>'


def plain(text: str) -> str:
    """Markdown as GitHub reads it in the form that the report's converter reads.

    Code between fences becomes `<pre>`, in a list indented text; what belongs to an item of a list has four spaces.
    """
    codes: list[str] = []

    def set_aside(match: re.Match) -> str:
        if match[1]:
            codes.append(re.sub(rf"^{match[1]}", " " * 8, match[2], flags=re.MULTILINE))
        else:
            escaped = html_package.escape(match[2], quote=False)
            codes.append(f'<pre><code style="padding: 0">{escaped}</code></pre>')
        return f"\n\0{len(codes) - 1}\0\n"

    lines = re.sub(r"^ {2,3}(?=\S)", "    ", _FENCE.sub(set_aside, text), flags=re.MULTILINE)
    return re.sub("\0(\\d+)\0", lambda match: codes[int(match[1])], lines)


if __name__ == "__main__":
    pages = build(SITE)
    print(f"{len(pages)} pages: {(SITE / 'index.html').relative_to(ROOT)}")
