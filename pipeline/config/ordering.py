"""Networks for blocks of all lengths."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pipeline.config.section import Positive, Section


class Encoder(Section):
    kind: Literal["attention", "lstm"]
    width: Positive
    layers: Positive
    heads: Positive  # of attention
    expansion: Positive  # of the perceptrons
    relations: bool  # whether the dependency DAG is seen
    positions: bool = False  # whether the order in which the instructions are shown is seen
    following: bool = False  # whether the instructions behind the block are seen
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0  # of what a layer of attention adds to an instruction
    token_dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0  # of an instruction's tokens


class Head(Section):
    kind: Literal["pointer", "pairwise", "sinkhorn", "popocs"]
    hidden: Positive  # of pointer and pairwise
    beam: Positive  # of pointer: beginnings kept
    iterations: Positive  # of sinkhorn


class Ordering(Section):
    encoder: Encoder
    head: Head
    training: str  # names of sets
    development: str = "development"
    machines: list[str] = []  # processors whose best orders are learned; none: GCC's orders are
    blocks: Positive | None = None  # of the training set, drawn by the seed; all by default
    min_count: Positive
    batch_instructions: Positive
    steps: Positive
    learning_rate: Annotated[float, Field(gt=0)]
    warmup: Positive
    weight_decay: Annotated[float, Field(ge=0)]
    measurements: Positive = 20  # on the development blocks, over the training, at equal distances
    patience: Positive
    precision: Literal["bfloat16", "float32"] = "float32"  # of the steps of training; all else is float32
    threads: Positive


def modules(settings: Ordering, decoding: bool = False) -> list[str]:
    """Modules of a network that are imported by name: its encoder and its head; `decoding`: the other decoders too.

    A training needs no decoder but the head's own, by which it measures itself.
    """
    head = settings.head.kind
    names = [f"pipeline.blocks.models.encoders.{settings.encoder.kind}", f"pipeline.blocks.models.heads.{head}"]
    return [*names, *([f"pipeline.blocks.models.decoders.{head}_decoders"] if decoding else [])]
