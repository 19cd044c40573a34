"""Networks for blocks of all lengths."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from learned_schedulers.section import Positive, Section


class Encoder(Section):
    kind: Literal["attention"]  # files of weights have it
    width: Positive
    layers: Positive
    heads: Positive
    expansion: Positive  # of the perceptrons
    relations: bool  # whether it sees the dependency DAG
    positions: Literal[False] = False  # always: files of weights have it
    following: bool = False  # whether it sees the instructions after the block
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0  # of the sum that a layer of attention adds to an instruction
    token_dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0  # of an instruction's tokens


class Head(Section):
    kind: Literal["pointer"]  # files of weights have it
    hidden: Positive
    beam: Positive  # width of the beam search
    iterations: Positive  # of nothing: files of weights have it


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
