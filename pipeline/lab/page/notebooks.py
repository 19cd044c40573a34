"""A notebook of the repository as Markdown: its text, its code and the outputs that are stored with it."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def text_of(page: Path) -> str:
    """The text of a page: Markdown as it is, a notebook (.ipynb) as Markdown."""
    text = page.read_text()
    return text if page.suffix != ".ipynb" else "\n\n".join(map(_cell, json.loads(text)["cells"])) + "\n"


def _cell(cell: dict[str, Any]) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    return "\n\n".join([f"```python\n{source}\n```", *(part for output in cell["outputs"] for part in _shown(output))])


def _shown(output: dict[str, Any]) -> Iterator[str]:
    """What a cell prints, or its value: as a picture, where it has one."""
    data = output.get("data", {})
    if picture := data.get("image/png"):
        words = html.escape("".join(data["text/plain"]))
        yield f'<p><img alt="{words}" src="data:image/png;base64,{"".join(picture).strip()}"></p>'
    else:
        yield f"```\n{''.join(output.get('text') or data['text/plain']).rstrip()}\n```"
