"""Loads templates, with the filters and functions that they share."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import jinja2

from learned_schedulers.command import explanation
from pipeline.lab.page.names import label, set_label
from pipeline.lab.page.numbers import count
from pipeline.lab.page.tables import Table

_STYLE = Path(explanation.__file__).parent  # the console command has pages in the same style


@cache
def environment() -> jinja2.Environment:
    """Of templates and of pages' texts; an undefined variable is an error."""
    shared = jinja2.Environment(
        loader=jinja2.FileSystemLoader([Path(__file__).parent, _STYLE]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    shared.filters |= {"label": label, "set_label": set_label, "count": count}
    shared.globals |= {"titled": titled}
    return shared


def template(name: str) -> jinja2.Template:
    """The template of that name."""
    return environment().get_template(name)


def titled(tables: Mapping[str, Table], heading: str = "", capital: bool = False) -> str:
    """Tables below their titles, without empty tables; `heading` precedes each title, such as `### `."""
    end = "" if heading.startswith("#") else ":"
    titles = {title: title[:1].upper() + title[1:] if capital else title for title in tables}
    return "\n\n".join(f"{heading}{titles[title]}{end}\n\n{table}" for title, table in tables.items() if table)
