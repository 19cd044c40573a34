"""The methods that a stranger's method is compared with, with the settings that the laboratory chose for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from learned_schedulers import methods, outside_methods
from learned_schedulers.bench import blocks, fusion, graphs
from learned_schedulers.bench.instances import SETS
from learned_schedulers.bench.kinds import Entrant
from learned_schedulers.outside_methods import Kind

_ENTRANTS: dict[Kind, Callable[[str, dict[str, Any]], Entrant]] = {
    "graph": graphs.entrant,
    "block": blocks.entrant,
    "fusion": fusion.entrant,
}
_ENTRIES: dict[Kind, dict[str, dict[str, Any]]] = {
    "graph": graphs.ENTRIES,
    "block": blocks.ENTRIES,
    "fusion": fusion.ENTRIES,
}


def entrant(name: str, of_set: str, /, **keys: Any) -> Entrant:
    """A peer of a set by its name, or any other method of its kind, `package:Class`, with these settings.

    Raises ValueError for an unknown name or setting, for a method of another kind than the set, and for one that needs
    more than `compare` has.
    """
    kind = SETS[of_set].kind
    if (kinds := _kinds_of(name)) and kind not in kinds:
        fitting = [each for each, frozen in SETS.items() if frozen.kind in kinds]
        remedy = f"its sets are {', '.join(fitting)}" if fitting else "there is no set for it"
        raise ValueError(f"{name} is a method of kind {kinds[0]}, and {of_set} has {SETS[of_set].contents}; {remedy}")
    return _ENTRANTS[kind](name, keys)


def _kinds_of(name: str) -> list[Kind]:
    """The kinds that have a method or a peer of this name; none for an unknown name."""
    if outside_methods.is_outside(name):
        return [outside_methods.kind_of(outside_methods.load(name))]
    return [kind for kind, entries in _ENTRIES.items() if name in entries or name in methods.names(kind)]


def peers(text: str, of_set: str) -> list[Entrant]:
    """`default`, `all`, or names with commas between them; the set's baseline is always the first."""
    usual = SETS[of_set].peers
    names = usual.get(text, tuple(name.strip() for name in text.split(",") if name.strip()))
    try:
        return [entrant(name, of_set) for name in dict.fromkeys((baseline(of_set), *names))]
    except ValueError as error:
        raise ValueError(
            f"--peers {text}: {error}; the usual peers of {of_set} are {', '.join(usual['all'])}"
        ) from error


def baseline(of_set: str) -> str:
    """The name of the method over whose costs all costs of the set are told."""
    return SETS[of_set].peers["default"][0]
