"""Networks for blocks of all lengths."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from learned_schedulers.section import Positive, Section


class Encoder(Section):
    kind: Literal["attention", "lstm"]
    width: Positive
    layers: Positive
    heads: Positive  # of attention
    expansion: Positive  # of the perceptrons
    relations: bool  # whether it sees the dependency DAG
    positions: bool = False  # whether it sees the input order of the instructions
    following: bool = False  # whether it sees the instructions after the block
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0  # of the sum that a layer of attention adds to an instruction
    token_dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0  # of an instruction's tokens


class Head(Section):
    kind: Literal["pointer", "pairwise", "sinkhorn", "popocs"]
    hidden: Positive  # of pointer and pairwise
    beam: Positive  # of pointer: width of the beam search
    iterations: Positive  # of sinkhorn


class Ordering(Section):
    encoder: Encoder
    head: Head
    training: str  # names of sets
    development: str = "development"
    machines: Annotated[list[str], Field(max_length=0)] = []  # always empty: files of weights have it
    blocks: Positive | None = None  # of the training set, drawn by the seed; all by default
    min_count: Positive
    batch_instructions: Positive
    steps: Positive
    learning_rate: Annotated[float, Field(gt=0)]
    warmup: Positive
    decay: Annotated[float, Field(gt=0, le=1)] | None = None  # last share of the steps: the rate falls; None: cosine
    weight_decay: Annotated[float, Field(ge=0)]
    optimiser: Literal["adamw", "muon"] = "adamw"  # muon: of the matrices; adamw of the rest
    measurements: Positive = 20  # on the development blocks, over the training, at equal distances
    patience: Positive
    precision: Literal["bfloat16", "float32"] = "float32"  # of the training steps; everything else is float32
    threads: Positive


def modules(settings: Ordering) -> list[str]:
    """Modules of a network that are imported by name: its encoder and head."""
    encoder, head = settings.encoder.kind, settings.head.kind
    return [f"learned_schedulers.blocks.models.encoders.{encoder}", f"learned_schedulers.blocks.models.heads.{head}"]
