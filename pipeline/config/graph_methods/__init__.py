"""Methods that schedule computation graphs, as params.yaml names them: one file of settings each, found by its name.

The settings of graphs/schedulers/<method>.py are here and not there, as in config/methods: params.yaml is checked when
Snakemake reads the Snakefile, which must not load numba and OR-Tools. An entry has the settings alone, `{method:
annealing, evaluations: 20000}`: all methods share nothing but the key `method`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, SerializeAsAny, TypeAdapter, ValidationError

from pipeline.config.section import Section

Sight = Literal["proxy", "target"]  # of a method's own costs: without transfers, or on the judge's target


class GraphMethodSettings(Section):
    """Settings of one method, all with defaults, and the resources that it requests."""

    method: str  # the file graphs/schedulers/<method>.py
    uses: ClassVar[frozenset[str]] = frozenset()  # resources that it receives if they are available

    @property
    def needs(self) -> frozenset[str]:
        """Resources of the method beside its settings; `target` if it sees the target."""
        return frozenset()

    @property
    def network(self) -> str | None:
        """The trained network that it loads, by its name in `models` of the experiment."""
        return None

    @property
    def draws(self) -> bool:
        """Whether its schedules differ by seed; a method without random draws has one seed."""
        return True

    def modules(self) -> list[str]:
        """Modules that are imported by name for this entry: the method and its settings."""
        return [f"pipeline.graphs.schedulers.{self.method}", f"pipeline.config.graph_methods.{self.method}"]


class SightedSettings(GraphMethodSettings):
    """Settings of a method that can optimise on the target itself, which shows the value of knowing it."""

    sees: Sight = "proxy"

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"target"} if self.sees == "target" else ())


def graph_methods() -> list[str]:
    """Names of all methods: the files of this folder."""
    files = (path for folder in __path__ for path in Path(folder).glob("*.py"))
    return sorted(path.stem for path in files if not path.stem.startswith("_"))


def _of_its_method(keys: Any) -> Any:
    if not isinstance(keys, Mapping):
        return keys
    method = keys.get("method")
    if method not in graph_methods():
        raise ValueError(f"no method {method!r}; there are {graph_methods()}")
    kind: type[GraphMethodSettings] = import_module(f"pipeline.config.graph_methods.{method}").Settings
    try:
        return kind.model_validate(dict(keys))
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise ValueError(f"{'; '.join(faults)}; {method!r} has {sorted(kind.model_fields)}") from error


GraphEntry = Annotated[SerializeAsAny[GraphMethodSettings], BeforeValidator(_of_its_method)]


def graph_entry(method: str, **keys: Any) -> GraphMethodSettings:
    """An entry from its keys."""
    settings: GraphMethodSettings = TypeAdapter(GraphEntry).validate_python({"method": method, **keys})
    return settings
