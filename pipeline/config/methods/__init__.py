"""Entries of `methods` in params.yaml, and one file of settings for each method: <method>.py, found by name.

The settings of blocks/schedulers/<method>.py stand here and not there: params.yaml is checked when the Snakefile is
read, which must not load numba, torch and OR-Tools. Adding a method or a setting touches no other file.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, SerializeAsAny, ValidationError, model_serializer, model_validator

from pipeline.config.section import Section

# What a method may ask for, beside its settings. No literals: some are names of tables (wiring.imports).
RESOURCES: dict[str, str] = dict(
    weights="a trained network or policy, safetensors",
    machine="a processor's model, table machine_instructions",
    encodings="what distinct instructions are, table encodings",
    tokens="the blocks' instructions as token sequences, tables tokens and vocabulary",
    label="GCC's orders of the very blocks that are to be ordered",
)


def asks(names: str) -> frozenset[str]:
    """Names of RESOURCES, separated by spaces. Raises ValueError for another."""
    if unknown := set(names.split()) - set(RESOURCES):
        raise ValueError(f"no resources {sorted(unknown)}; there are {sorted(RESOURCES)}")
    return frozenset(names.split())


class MethodSettings(Section):
    """Settings of one method, all with defaults, and what it asks for (`asks`)."""

    needs: ClassVar[frozenset[str]] = frozenset()
    uses: ClassVar[frozenset[str]] = frozenset()  # where there is one
    shipped: ClassVar[str | None] = None  # weights that are in the package, seen from the repository's root

    def modules(self, model: BaseModel | None) -> list[str]:
        """Modules that the method imports by name for a network of these settings, beside its own."""
        return []


class Entry(Section):
    """One method of params.yaml, flat: `{method: search, walk: annealing, evaluations: 100}`."""

    method: str  # the file blocks/schedulers/<method>.py
    model: str | None = None  # the trained network that it loads
    processors: list[str] | None = None  # that it is run for; all by default
    exact: bool = False  # whether what it proves is measured
    settings: SerializeAsAny[MethodSettings] = MethodSettings()  # all other keys

    @model_validator(mode="before")
    @classmethod
    def _settings_are_of_the_method(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        common = {key: value for key, value in data.items() if key in cls.model_fields and key != "settings"}
        kind = settings_of(str(data.get("method", "")))
        others = {key: value for key, value in data.items() if key not in common}
        if unknown := sorted(set(others) - set(kind.model_fields)):
            raise ValueError(
                f"{', '.join(unknown)}: no setting of the method {data['method']!r}; it has "
                f"{sorted(kind.model_fields)}, and every method has {sorted(set(cls.model_fields) - {'settings'})}; "
                f"correct it, or delete it"
            )
        try:
            return {**common, "settings": kind.model_validate(others)}
        except ValidationError as error:
            faults = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
            raise ValueError("; ".join(faults)) from error

    @model_serializer
    def flat(self) -> dict[str, Any]:
        """All keys with their values, defaults included, as they stand in params.yaml."""
        common = {name: getattr(self, name) for name in type(self).model_fields if name != "settings"}
        return {**common, **self.settings.model_dump()}

    def modules(self, model: BaseModel | None = None) -> list[str]:
        """Modules that are imported by name for this entry: the method, its settings, what its network is made of.

        model: settings of the network behind it, where it has one.
        """
        own = [f"pipeline.blocks.schedulers.{self.method}", f"pipeline.config.methods.{self.method}"]
        return [*own, *self.settings.modules(model)]


def methods() -> list[str]:
    """Names of all methods: the files of this folder."""
    files = (path for folder in __path__ for path in Path(folder).glob("*.py"))
    return sorted(path.stem for path in files if not path.stem.startswith("_"))


def settings_of(method: str) -> type[MethodSettings]:
    """The class of a method's settings. Raises ValueError for an unknown method, listing the known."""
    if method not in methods():
        raise ValueError(f"no method {method!r}; there are {methods()}")
    kind: type[MethodSettings] = import_module(f"pipeline.config.methods.{method}").Settings
    return kind


def entry(method: str, **keys: Any) -> Entry:
    """An entry from its keys."""
    return Entry.model_validate({"method": method, **keys})
