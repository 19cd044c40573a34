"""Arguments for compiled code, all of one kind: numba compiles a function anew for each mixture of kinds."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any, TypeVar

import numpy as np

_Tuple = TypeVar("_Tuple", bound=tuple[Any, ...])
# A mere 0 or -1 in compiled code is a literal, for which numba compiles what it is passed to once more.
ZERO: int = np.int64(0)  # type: ignore[assignment]
MINUS_ONE: int = np.int64(-1)  # type: ignore[assignment]


def read_only(arrays: _Tuple) -> _Tuple:
    """The same tuple, and the tuples in it, with read-only views of its arrays, in C order; other values stay.

    Tables and shared memory give read-only arrays, columns of a matrix have gaps, and what was just computed has
    neither: without this, the first call with each mixture waits for its own compilation.
    """
    values = [
        _view(value) if isinstance(value, np.ndarray) else read_only(value) if isinstance(value, tuple) else value
        for value in arrays
    ]
    make: Any = getattr(arrays, "_make", tuple)
    same: _Tuple = make(values)
    return same


def _view(array: np.ndarray) -> np.ndarray:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def seal(part: object) -> None:
    """Make an array, or all arrays of a dataclass, a tuple or a list, read-only where they are, cached ones too.

    A method that writes into its problem gets numpy's ValueError, and does not go on with another problem.
    """
    if isinstance(part, np.ndarray):
        part.setflags(write=False)
    elif isinstance(part, tuple | list):
        for each in part:
            seal(each)
    elif is_dataclass(part):
        for each in vars(part).values():
            seal(each)
