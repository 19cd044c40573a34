"""Entries of `graph_methods` in params.yaml: the settings of graphs/methods/<method>.py, flat.

`{method: annealing, evaluations: 20000}`: all methods share nothing but the key `method`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, SerializeAsAny, TypeAdapter, ValidationError

from learned_schedulers import method_files, outside_methods
from learned_schedulers.section import Section

FOLDER = Path(__file__).parent / "methods"

Sight = Literal["proxy", "target"]  # of a method's own costs: without transfers, or on the judge's target


class GraphMethodSettings(Section):
    """Settings of one method, all with defaults, and the resources that it requests.

    The class `Settings` in a method's file has those of the method; without one, the method has no settings.
    """

    method: str  # the file graphs/methods/<method>.py, or another package's method (outside_methods.py)
    uses: ClassVar[frozenset[str]] = frozenset()  # resources that it receives if they are available

    @property
    def needs(self) -> frozenset[str]:
        """Resources of the method beside its settings: `weights` of its network, `target` if it sees the target."""
        return frozenset() if self.network is None else frozenset({"weights"})

    @property
    def network(self) -> str | None:
        """The trained network that it loads, by its name in `models` of the experiment."""
        return getattr(self, "model", None)

    @property
    def draws(self) -> bool:
        """Whether its schedules differ by seed; a method without random draws has one seed."""
        return True

    def modules(self) -> list[str]:
        """Modules of this repository that are imported by name for this entry."""
        return [] if outside_methods.is_outside(self.method) else [f"learned_schedulers.graphs.methods.{self.method}"]


class SightedSettings(GraphMethodSettings):
    """Settings of a method that can optimise on the target itself, which shows the value of knowing it."""

    sees: Sight = "proxy"

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"target"} if self.sees == "target" else ())


def _of_its_method(keys: Any) -> Any:
    if not isinstance(keys, Mapping):
        return keys
    method = keys.get("method")
    kind = method_files.settings_in(FOLDER, method, GraphMethodSettings)
    try:
        return kind.model_validate(dict(keys))
    except ValidationError as error:
        raise ValueError(f"{method_files.faults(error)}; {method!r} has {sorted(kind.model_fields)}") from error


GraphEntry = Annotated[SerializeAsAny[GraphMethodSettings], BeforeValidator(_of_its_method)]


def graph_entry(method: str, **keys: Any) -> GraphMethodSettings:
    """An entry from its keys. Raises ValueError that names what is wrong."""
    try:
        settings: GraphMethodSettings = TypeAdapter(GraphEntry).validate_python({"method": method, **keys})
    except ValidationError as error:
        raise ValueError(method_files.faults(error)) from error
    return settings
