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
    precision: Literal["bfloat16", "float32"]
    threads: Positive


class Imitation(Section):
    seeds: Annotated[list[int], Field(min_length=1)]
    other_seeds: dict[str, Annotated[list[int], Field(min_length=1)]] = {}  # of single models
    tested: Annotated[list[str], Field(min_length=1)]  # names of sets
    baselines: list[str] = []  # names of schedulers without a model, measured on the same sets
    models: Annotated[dict[str, Ordering], Field(min_length=1)]

    def seeds_of(self, model: str) -> list[int]:
        return self.other_seeds.get(model, self.seeds)
