"""The report of a build as one page of HTML that needs no script and no network."""

from __future__ import annotations

import os

import jinja2

from learned_schedulers.wrapper.report import Report
from learned_schedulers.wrapper.settings import PACKAGE

_FOLDERS = (os.path.join(PACKAGE, "wrapper"), os.path.join(PACKAGE, "command", "explanation"))  # it has page.css


def html(shown: Report) -> str:
    """The page."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDERS),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html.j2").render(shown._asdict())
