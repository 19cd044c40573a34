"""Panels side by side with one legend; every method has a colour and a mark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from learned_schedulers.figures import subplots
from pipeline.lab.page.names import label
from pipeline.lab.page.plots import key, legend

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666", "#222222")  # Okabe & Ito, 2008
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")


def styles(methods: list[str]) -> dict[str, dict[str, Any]]:
    """Colour and mark of every method; each pair is unique."""
    return {
        name: {"color": COLOURS[k % len(COLOURS)], "marker": _MARKS[(k + k // len(COLOURS)) % len(_MARKS)]}
        for k, name in enumerate(methods)
    }


@contextmanager
def panels(
    names: list[str],
    columns: int,
    width: float,
    height: float,
    style: dict[str, dict[str, Any]],
    keys: int,
    write: Callable[[str], str] = label,
    **shown: Any,
) -> Iterator[tuple[Figure, list[Axes]]]:
    """A panel of `width` x `height` inches for each name, `columns` per row, with the methods' legend below.

    keys: methods per row of the legend; write: their names; shown: further style of the marks in the legend.
    """
    columns = min(columns, len(names))
    rows = -(-len(names) // columns)
    with subplots(1 + width * columns, 0.8 + height * rows, rows, columns) as (figure, grid):
        axes = list(grid.flat)
        for ax in axes[len(names) :]:
            figure.delaxes(ax)
        yield figure, axes[: len(names)]
        legend(figure, [key(write(name), **shown, **mark) for name, mark in style.items()], keys)
