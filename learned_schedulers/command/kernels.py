"""A word to the user while numba compiles the kernels, which it does once for an installation and a kind of model."""

from __future__ import annotations

import sys
from functools import cache

from numba.core import event

MESSAGE = "compiling the kernels for this computer, once for each kind of model: half a minute to two"


class _Listener(event.Listener):
    """Says it at the first compilation. What numba has in its cache is not compiled, and causes no event."""

    is_announced = False

    def on_start(self, event: event.Event) -> None:
        """numba begins to compile a function."""
        if not self.is_announced:
            self.is_announced = True
            print(MESSAGE, file=sys.stderr, flush=True)

    def on_end(self, event: event.Event) -> None:
        """Nothing is said of the end."""


@cache
def announce() -> None:
    """Say on stderr that kernels are compiled, as soon as the first one is, once for a process.

    Each verb calls it after its imports, of which numba is one, so that a start with compiled kernels takes no longer.
    """
    event.register("numba:compile", _Listener())
