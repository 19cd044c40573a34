"""`base: name`: an entry of params.yaml names the entry that it is based on, and has only the differences."""

from __future__ import annotations

import copy
from typing import Any

from learned_schedulers.section import ConfigError

BASE, BASES = "base", "bases"


def resolve(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters with every `base` filled in, and without the section `bases`.

    `base: name` is the entry of that name beside this one, or else in the section `bases`. Keys of the entry win;
    mappings are merged key by key. Raises ConfigError naming the key of a base that is missing or forms a circle.
    """
    bases = params.get(BASES) or {}
    return {key: _resolved(value, (key,), params, bases) for key, value in params.items() if key != BASES}


def lookup(params: dict[str, Any], key: str) -> Any:
    """The resolved value of a dotted key, such as `experiments.quick.models.popocs`. Raises ConfigError without one."""
    value: Any = resolve(params)
    for part in _parts(value, key):
        value = value[part]
    return value


def _parts(value: Any, key: str) -> list[str]:
    """The key's parts; a name may contain dots, such as `sinkhorn_lr_0.002`."""
    parts: list[str] = []
    rest = key
    while rest:
        keys = list(value) if isinstance(value, dict) else []
        names = [name for name in keys if rest == name or rest.startswith(f"{name}.")]
        if not names:
            place = ".".join(parts) or "params"
            raise ConfigError(f"{key}: {place} has the keys {sorted(keys)}; name one of them")
        name = max(names, key=len)
        parts.append(name)
        value, rest = value[name], rest[len(name) + 1 :]
    return parts


def _resolved(value: Any, place: tuple[str, ...], siblings: dict[str, Any], bases: dict[str, Any]) -> Any:
    if not isinstance(value, dict):
        return value
    value = _based(value, place, siblings, bases, [])
    return {key: _resolved(part, (*place, str(key)), value, bases) for key, part in value.items()}


def _based(
    value: dict[str, Any], place: tuple[str, ...], siblings: dict[str, Any], bases: dict[str, Any], entries: list[int]
) -> dict[str, Any]:
    if BASE not in value:
        return value
    name, key = value[BASE], ".".join((*place, BASE))
    beside = siblings.get(name) if siblings.get(name) is not value else None
    base, around = (beside, siblings) if isinstance(beside, dict) else (bases.get(name), bases)
    if not isinstance(base, dict):
        raise ConfigError(f"{key} is {name!r}; beside it are {sorted(siblings)}, in {BASES} {sorted(bases)}")
    if id(base) in entries:
        raise ConfigError(f"{key} is {name!r}, which is based on this entry again: break the circle")
    whole = merged(_based(base, (*place, name), around, bases, [*entries, id(value)]), value)
    return {part: whole[part] for part in whole if part != BASE}


def merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A mapping with changes, which win: mappings are merged key by key, a key whose change is null is deleted.

    A mapping with `base: null` is not merged but replaces the other one.
    """
    if BASE in changes and changes[BASE] is None:
        base = {}
    result = copy.deepcopy(base)
    for key, value in changes.items():
        if isinstance(value, dict):
            beside = result.get(key)
            result[key] = merged(beside if isinstance(beside, dict) else {}, value)
        elif value is None:
            result.pop(key, None)
        else:
            result[key] = value
    return result
