"""Settings of methods of all kinds, and their entries in the parameters: `{method: annealing, evaluations: 20000}`.

A method with settings of its own has a class in the module of its kind (`_CLASSES`), which imports nothing heavy:
Snakemake and the console command check settings before they load a method. The settings of another package's method are
those of its class, which is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import ValidationError, model_validator

from learned_schedulers import outside_methods
from learned_schedulers.outside_methods import Kind
from learned_schedulers.section import AboveZero, Section

PACKAGES: dict[Kind, str] = {
    "block": "learned_schedulers.blocks.methods",
    "graph": "learned_schedulers.graphs.methods",
    "fusion": "learned_schedulers.graphs.methods.fusing",
    "project": "learned_schedulers.projects.methods",
}
# In each module: CLASSES, the class of each method's settings, and BASE, that of methods without settings of their own.
_CLASSES: dict[Kind, str] = {
    "block": "learned_schedulers.blocks.method_settings",
    "graph": "learned_schedulers.graphs.method_settings",
    "fusion": "learned_schedulers.graphs.models.fusing.settings",
    "project": "learned_schedulers.projects.method_settings",
}


class MethodSettings(Section):
    """Settings of one method, all with defaults, and the resources that it requests."""

    method: str  # one of ours, or another package's (outside_methods.py)
    file: ClassVar[str] = ""  # of its kind's package; empty: the one of the method's name
    title: ClassVar[str] = ""  # the method's name for people; empty: its name, spelt
    uses: ClassVar[frozenset[str]] = frozenset()  # resources that it receives if they are available

    @property
    def needs(self) -> frozenset[str]:
        """Resources without which it cannot work: `weights` of its network."""
        return frozenset() if self.network is None else frozenset({"weights"})

    @property
    def network(self) -> str | None:
        """The trained network that it loads, by its name in `models` of the experiment."""
        return getattr(self, "model", None)

    @property
    def draws(self) -> bool:
        """Whether its answers differ by seed; a method without random draws has one seed."""
        return True


class NoisySettings(MethodSettings):
    """Settings of a method that multiplies priorities by random factors, of many strengths."""

    # Standard deviations of a factor's logarithm: each schedule's is drawn log-uniform between these two.
    least_noise: AboveZero = 0.01
    most_noise: AboveZero = 1.0

    @model_validator(mode="after")
    def _levels_are_a_range(self) -> Self:
        if self.least_noise > self.most_noise:
            raise ValueError(f"least_noise {self.least_noise} is more than most_noise {self.most_noise}")
        return self


def names(kind: Kind) -> list[str]:
    """Names of all files of methods of a kind."""
    folder = Path(__file__).parent.joinpath(*PACKAGES[kind].split(".")[1:])
    return sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))


def modules(kind: Kind, settings: MethodSettings) -> list[str]:
    """Modules of this repository that are imported by name for these settings: the method, unless it is another's."""
    return (
        [] if outside_methods.is_outside(settings.method) else [f"{PACKAGES[kind]}.{settings.file or settings.method}"]
    )


def class_of(kind: Kind, method: object) -> type[MethodSettings]:
    """The class of a method's settings. Raises ValueError for an unknown method, with a list of all."""
    module = import_module(_CLASSES[kind])
    classes: dict[str, type[MethodSettings]] = module.CLASSES
    plain = set(names(kind)) - {each.file for each in classes.values()}
    if isinstance(method, str) and method in {*classes, *plain}:
        return classes.get(method, module.BASE)
    if outside_methods.is_outside(method):
        return outside_methods.settings_class(outside_methods.load(str(method)), module.BASE)
    others = "".join(f", {name!r} of {reference}" for name, reference in outside_methods.offered().items())
    raise ValueError(
        f"no method {method!r}; there are {sorted({*classes, *plain})}{others}; name that of another package by "
        "package:Class"
    )


def entry(kind: Kind, method: str, **keys: Any) -> MethodSettings:
    """The settings of a method from its keys. Raises ValueError that names an unknown method or key, on one line."""
    return _parsed(kind, {"method": method, **keys})


def parser(kind: Kind) -> Callable[[Any], Any]:
    """A validator that makes the settings of a method of a kind from the keys of an entry."""
    return lambda keys: _parsed(kind, keys) if isinstance(keys, Mapping) else keys


def _parsed(kind: Kind, keys: Mapping[str, Any]) -> MethodSettings:
    chosen = class_of(kind, keys.get("method"))
    try:
        return chosen.model_validate(dict(keys))
    except ValidationError as error:
        has = f"{keys['method']!r} has {sorted(chosen.model_fields)}"
        raise ValueError(f"{_faults(error)}; {has}") from error


def _faults(error: ValidationError) -> str:
    """What is wrong with an entry, on one line."""
    faults = [
        (".".join(map(str, fault["loc"])), fault["msg"].removeprefix("Value error, ")) for fault in error.errors()
    ]
    return "; ".join(f"{place}: {text}" if place else text for place, text in faults)
