"""Style of all figures, and their bytes: equal figures give equal PNGs."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from PIL import Image

_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "figure.dpi": 120,
    "savefig.dpi": 120,
}


def render(figure: Figure) -> bytes:
    """The figure as a PNG of 256 colours (a third of the bytes), without date or program version."""
    drawn, small = io.BytesIO(), io.BytesIO()
    with rc_context(_STYLE):
        figure.savefig(drawn, format="png", metadata={"Software": None})
    Image.open(drawn).convert("RGB").quantize(dither=Image.Dither.NONE).save(small, "png", optimize=True)
    return small.getvalue()


def content(figure: Figure, suffix: str) -> bytes:
    """The figure in the form of a file's ending. Raises ValueError for another one than .png, .svg and .pdf."""
    if (form := suffix.lower()) == ".png":
        return render(figure)
    if form in (".svg", ".pdf"):
        return vectors(figure, "svg" if form == ".svg" else "pdf")
    raise ValueError(f"a chart is no {suffix or 'file without an ending'}; end its name in .png, .svg or .pdf")


def vectors(figure: Figure, form: Literal["svg", "pdf"]) -> bytes:
    """The figure without date or program version, as vectors."""
    drawn = io.BytesIO()
    undated = {"Date": None} if form == "svg" else {"CreationDate": None}
    with rc_context(_STYLE | {"svg.hashsalt": "learned-schedulers"}):
        figure.savefig(drawn, format=form, metadata=undated)
    return drawn.getvalue()


@contextmanager
def subplots(width: float, height: float, rows: int = 1, columns: int = 1) -> Iterator[tuple[Figure, np.ndarray]]:
    """A figure of `width` x `height` inches and its axes, an array (rows, columns)."""
    with rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots(rows, columns, squeeze=False)
