"""Options that several stages share, with their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Settings = Annotated[str, typer.Option(help="The stage's section of params.yaml, as JSON.")]
TrainingSettings = Annotated[str, typer.Option(help="The model's section of params.yaml, as JSON; `null` for none.")]
DependencyMode = Annotated[str, typer.Option(help="full: registers, flags, memory; paper: without flags.")]
Seed = Annotated[int, typer.Option(help="Of everything random in this stage.")]
Blocks = Annotated[Path, typer.Option(help="Table blocks.")]
Dags = Annotated[Path, typer.Option(help="Table dags, of the mode of dependencies wanted.")]
Splits = Annotated[Path, typer.Option(help="Table splits, of the same mode.")]
Tokens = Annotated[Path, typer.Option(help="Table tokens.")]
Vocabulary = Annotated[Path, typer.Option(help="Table vocabulary.")]
Weights = Annotated[Path, typer.Option(help="A trained network, safetensors.")]
Out = Annotated[Path, typer.Option(help="Table to write.")]
