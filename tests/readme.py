"""The README's first screen: `python -m tests.readme` copies it from the front page of the report."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
_MARKED = re.compile(r"(<!-- front: begin.*?-->\n)(.*?)(<!-- front: end -->)", re.DOTALL)


def front(index: str) -> str:
    """What stands above the sections of reports/index.md, with links relative to the README.

    Raises ValueError where there are no cards.
    """
    cards = re.search(r'^# .*?\n(.*?<div class="cards".*?</div>\n</div>)', index, re.DOTALL)
    if cards is None:
        raise ValueError("reports/index.md has no cards: run `snakemake reports/index.html`")
    lines = [line for line in cards[1].splitlines() if not line.startswith(("<div", "</div"))]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return re.sub(r"\]\((?!http)", "](reports/", text)


def marked(readme: str) -> str:
    """What stands between the README's marks. Raises ValueError where they are missing."""
    match = _MARKED.search(readme)
    if match is None:
        raise ValueError("README.md has no marks `<!-- front: begin -->` and `<!-- front: end -->`")
    return match[2].strip()


if __name__ == "__main__":
    cards = front((README.parent / "reports/index.md").read_text())
    README.write_text(_MARKED.sub(lambda match: f"{match[1]}{cards}\n{match[3]}", README.read_text()))
