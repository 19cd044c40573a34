"""Entries of `methods` in params.yaml: what all methods have, and the settings of blocks/methods/<method>.py."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import SerializeAsAny, ValidationError, model_serializer, model_validator

from learned_schedulers import method_files, outside_methods
from learned_schedulers.section import Section

FOLDER = Path(__file__).parent / "methods"

# Resources that a method may request beside its settings. Not literals, as some are names of tables (wiring.imports).
RESOURCES: dict[str, str] = dict(
    weights="a trained network or policy, safetensors",
    machine="a processor's model, table machine_instructions",
    encodings="what distinct instructions are, table encodings",
    tokens="the blocks' instructions as token sequences, tables tokens and vocabulary",
    label="GCC's orders of the very blocks that are to be ordered",
)


def asks(names: str) -> frozenset[str]:
    """Names of RESOURCES, separated by spaces. Raises ValueError for any other name."""
    if unknown := set(names.split()) - set(RESOURCES):
        raise ValueError(f"no resources {sorted(unknown)}; there are {sorted(RESOURCES)}")
    return frozenset(names.split())


class MethodSettings(Section):
    """Settings of one method, all with defaults, and the resources that it requests (`asks`).

    The class `Settings` in a method's file has those of the method; without one, the method has no settings.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    uses: ClassVar[frozenset[str]] = frozenset()  # received if available
    shipped: ClassVar[str | None] = None  # weights in the package, as a path from the root of the repository


class Entry(Section):
    """One method of params.yaml, flat: `{method: search, walk: annealing, evaluations: 100}`."""

    method: str  # the file blocks/methods/<method>.py, or another package's method (outside_methods.py)
    model: str | None = None  # the trained network that it loads
    processors: list[str] | None = None  # for which it runs; all by default
    exact: bool = False  # whether its proofs are measured
    settings: SerializeAsAny[MethodSettings] = MethodSettings()  # all other keys

    @model_validator(mode="before")
    @classmethod
    def _settings_are_of_the_method(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        common = {key: value for key, value in data.items() if key in cls.model_fields and key != "settings"}
        kind = settings_of(str(data.get("method", "")))
        specific = {key: value for key, value in data.items() if key not in common}
        if unknown := sorted(set(specific) - set(kind.model_fields)):
            raise ValueError(
                f"{', '.join(unknown)}: no setting of the method {data['method']!r}; it has "
                f"{sorted(kind.model_fields)}, and every method has {sorted(set(cls.model_fields) - {'settings'})}; "
                f"correct it, or delete it"
            )
        try:
            return {**common, "settings": kind.model_validate(specific)}
        except ValidationError as error:
            raise ValueError(method_files.faults(error)) from error

    @model_serializer
    def flat(self) -> dict[str, Any]:
        """All keys with their values, including defaults, in the form of params.yaml."""
        common = {name: getattr(self, name) for name in type(self).model_fields if name != "settings"}
        return {**common, **self.settings.model_dump()}

    def modules(self) -> list[str]:
        """Modules of this repository that are imported by name for this entry: the method, unless it is another's."""
        return [] if outside_methods.is_outside(self.method) else [f"learned_schedulers.blocks.methods.{self.method}"]


def settings_of(method: str) -> type[MethodSettings]:
    """The class of a method's settings. Raises ValueError for an unknown method, with a list of all."""
    return method_files.settings_in(FOLDER, method, MethodSettings)


def entry(method: str, **keys: Any) -> Entry:
    """An entry from its keys. Raises ValueError that names what is wrong."""
    try:
        return Entry.model_validate({"method": method, **keys})
    except ValidationError as error:
        raise ValueError(method_files.faults(error)) from error
