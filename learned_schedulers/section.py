"""Base of all sections of params.yaml: it refuses unknown or mistyped keys and names their place."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

T = TypeVar("T")
Positive = Annotated[int, Field(gt=0)]
AboveZero = Annotated[float, Field(gt=0)]


class ConfigError(ValueError):
    """params.yaml, or a section of it, is not valid; the message names the key and the remedy."""


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def explain(error: ValidationError, where: str) -> ConfigError:
    lines = [f"{where} is not valid:"]
    for fault in error.errors():
        place = ".".join(str(part) for part in fault["loc"]) or "(whole file)"
        if fault["type"] == "extra_forbidden":
            lines.append(f"  {place}: unknown key; check its spelling and its place, or delete it")
        else:
            lines.append(f"  {place}: {fault['msg']} (found {str(fault['input'])[:80]!r})")
    return ConfigError("\n".join(lines))


def section(kind: type[T], text: str) -> T:
    """One section of the settings, from the JSON that Snakemake passes to a stage.

    `kind` is any type pydantic can validate, such as `Split` or `dict[str, Scheduler]`.
    Raises ConfigError naming every faulty key.
    """
    try:
        return TypeAdapter(kind).validate_json(text)
    except ValidationError as error:
        raise explain(error, "--settings") from error
