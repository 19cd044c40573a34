"""Fetch one source: a pinned package, checked against its sha256, or a listing of your own ELF files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from learned_schedulers.blocks.read.source_settings import Source
from learned_schedulers.section import section
from pipeline.corpus.fetch import fetch
from pipeline.lab.stages import options


def main(
    source: options.Name,
    settings: options.Settings,
    out: Annotated[Path, typer.Option(help="Place of the artifact.")],
) -> None:
    """Put a source's artifact in its place.

    The package managers download kinds `wheel` and `npm` once, into .cache/artifacts under their sha256; a package
    counts only if its size and sha256 are those of params.yaml. Kind `files` becomes a JSON listing of the ELF files
    that match `include`.
    """
    try:
        fetch(section(Source, settings), out)  # type: ignore[arg-type]  # a union is a type to pydantic
    except ValueError as error:
        raise ValueError(f"source {source}: {error}") from error
