"""Options that several stages share, with their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.config import dags

Settings = Annotated[str, typer.Option(help="The stage's section of params.yaml, as JSON.")]
DependencyMode = Annotated[
    dags.Dependencies,
    typer.Option(
        help="full: registers, flags one by one, memory told apart by address; conservative: any store against any "
        "load or store; paper: that, without flags."
    ),
]
Sampler = Annotated[dags.Sampler, typer.Option(help="What draws legal orders (dag/sampling.py).")]
Seed = Annotated[int, typer.Option(help="Of everything random in this stage.")]
Blocks = Annotated[Path, typer.Option(help="Table blocks.")]
Dags = Annotated[Path, typer.Option(help="Table dags, of the mode of dependencies wanted.")]
Splits = Annotated[Path, typer.Option(help="Table splits, of the same mode.")]
Tokens = Annotated[Path, typer.Option(help="Table tokens.")]
Vocabulary = Annotated[Path, typer.Option(help="Table vocabulary.")]
Encodings = Annotated[Path, typer.Option(help="Table encodings: the distinct instructions.")]
Instructions = Annotated[Path, typer.Option(help="Table instructions: the blocks, as rows of encodings.")]
Weights = Annotated[Path, typer.Option(help="A trained network, safetensors.")]
Out = Annotated[Path, typer.Option(help="Table to write.")]
