"""Loads templates, with the filters and functions that they share."""

from __future__ import annotations

import html
import re
from functools import cache
from pathlib import Path

import jinja2

from pipeline.lab.page.names import label, set_label
from pipeline.lab.page.numbers import count


@cache
def environment() -> jinja2.Environment:
    """Of templates and of pages' texts; an undefined variable is an error."""
    shared = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    shared.filters |= {"label": label, "set_label": set_label, "count": count, "aside": aside}
    return shared


def template(name: str) -> jinja2.Template:
    """The template of that name."""
    return environment().get_template(name)


def aside(table: object, title: str) -> str:
    """A table of a side case, folded under its title; empty without lines."""
    text = str(table).strip()
    title = html.escape(title[:1].upper() + title[1:], quote=False).replace("*", "")
    title = re.sub(r"`([^`]*)`", r"<code>\1</code>", title)
    rows = text.count("\n") - 1
    return f"<details>\n<summary>{title} ({rows} rows)</summary>\n\n{text}\n\n</details>" if text else ""
