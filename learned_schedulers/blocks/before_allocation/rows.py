"""Rows of different lengths in two arrays, as kernels read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np


class Rows(NamedTuple):
    """Row i is items[offsets[i] : offsets[i + 1]]."""

    offsets: np.ndarray  # (rows + 1,) int64
    items: np.ndarray  # int64


def rows(lists: Sequence[Iterable[int]]) -> Rows:
    """Rows from lists."""
    each = [list(items) for items in lists]
    offsets = np.zeros(len(each) + 1, np.int64)
    offsets[1:] = np.cumsum([len(items) for items in each])
    return Rows(offsets, np.fromiter(chain.from_iterable(each), np.int64, int(offsets[-1])))


def true_columns(matrix: np.ndarray) -> Rows:
    """Of each row of a bool matrix, the columns that are true, ascending."""
    offsets = np.zeros(len(matrix) + 1, np.int64)
    offsets[1:] = np.cumsum(matrix.sum(1))
    return Rows(offsets, np.nonzero(matrix)[1].astype(np.int64))


def transposed(table: Rows, columns: int) -> Rows:
    """Row c has the numbers of the rows that contain c, ascending; columns: how many rows the result has."""
    offsets = np.zeros(columns + 1, np.int64)
    offsets[1:] = np.cumsum(np.bincount(table.items, minlength=columns))
    of_items = np.repeat(np.arange(len(table.offsets) - 1), np.diff(table.offsets))
    return Rows(offsets, of_items[np.argsort(table.items, kind="stable")])
