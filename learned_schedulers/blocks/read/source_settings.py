"""Sources of blocks."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from learned_schedulers.section import Positive, Section

Hex256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Source(Section):
    include: list[str]
    text_share: Annotated[float, Field(gt=0, le=1)] = 1.0


class WheelSource(_Source):
    kind: Literal["wheel"]
    package: str
    version: str
    platform: str
    python_version: str
    abi: str
    bytes: Positive
    sha256: Hex256


class NpmSource(_Source):
    kind: Literal["npm"]
    package: str
    version: str
    bytes: Positive
    sha256: Hex256


class FilesSource(_Source):
    kind: Literal["files"]


class BhiveSource(Section):
    kind: Literal["bhive"]
    include: list[str]


Source = Annotated[WheelSource | NpmSource | FilesSource | BhiveSource, Field(discriminator="kind")]


def _regular_expression(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return value


class Corpus(Section):
    sources: Annotated[dict[str, Source], Field(min_length=1)]
    compiler: Annotated[str, AfterValidator(_regular_expression)]
    start_up_compiler: Annotated[str, AfterValidator(_regular_expression)]
    shards: Positive
    min_instructions: Positive
    max_instructions: Annotated[int, Field(gt=0, le=1000)]

    @model_validator(mode="after")
    def _lengths_are_a_range(self) -> Corpus:
        if self.min_instructions > self.max_instructions:
            raise ValueError("min_instructions is greater than max_instructions")
        return self
