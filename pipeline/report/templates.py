"""The templates beside the code, with the filters that they share."""

from __future__ import annotations

from pathlib import Path

import jinja2

from pipeline.report.names import label
from pipeline.report.numbers import count

_FOLDER = Path(__file__).parent


def template(name: str) -> jinja2.Template:
    """The template of that name; what it is not given is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"label": label, "count": count}
    return environment.get_template(name)
