"""Loads templates, with the filters and functions that they share."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import jinja2

from pipeline.lab.page.names import label
from pipeline.lab.page.numbers import count
from pipeline.lab.page.tables import Table

FOLDER = Path(__file__).resolve().parents[2]  # of the chapters


def template(name: str) -> jinja2.Template:
    """The template of that name; an undefined variable in it is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([FOLDER, FOLDER / "lab/page"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"label": label, "count": count}
    environment.globals |= {"titled": titled, "picture": picture}
    return environment.get_template(name)


def titled(tables: Mapping[str, Table], heading: str = "", capital: bool = False) -> str:
    """Tables below their titles, without empty tables; `heading` precedes each title, such as `### `."""
    end = "" if heading.startswith("#") else ":"
    titles = {title: title[:1].upper() + title[1:] if capital else title for title in tables}
    return "\n\n".join(f"{heading}{titles[title]}{end}\n\n{table}" for title, table in tables.items() if table)


def picture(figures: Collection[str], name: str, alt: str, lead: str = "") -> str:
    """A figure and the sentence that introduces it; empty if the figure is not drawn."""
    return "\n\n".join(filter(None, (lead, f"![{alt}](figures/{name}.png)"))) if name in figures else ""
