"""Options that several stages share, with their help texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from learned_schedulers.blocks.dag import settings as dags

Settings = Annotated[str, typer.Option(help="The stage's section of params.yaml, as JSON.")]
DependencyMode = Annotated[
    dags.Dependencies,
    typer.Option(
        help="full: registers, flags one by one, memory told apart by address; conservative: any store against any "
        "load or store; paper: that, without flags."
    ),
]
Sampler = Annotated[dags.Sampler, typer.Option(help="Sampler of legal orders (dag/sampling.py).")]
Name = Annotated[str, typer.Option(help="Name in params.yaml.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random in this stage.")]
Blocks = Annotated[Path, typer.Option(help="Table blocks.")]
Dags = Annotated[Path, typer.Option(help="Table dags, of the chosen mode of dependencies.")]
Following = Annotated[Path, typer.Option(help="Table following, of the same blocks.")]
Splits = Annotated[Path, typer.Option(help="Table splits, of the same mode.")]
Tokens = Annotated[Path, typer.Option(help="Table tokens.")]
Vocabulary = Annotated[Path, typer.Option(help="Table vocabulary.")]
Encodings = Annotated[Path, typer.Option(help="Table encodings: the distinct instructions.")]
Instructions = Annotated[Path, typer.Option(help="Table instructions: the blocks, as rows of encodings.")]
Weights = Annotated[Path, typer.Option(help="A trained network, safetensors.")]
Set = Annotated[Path, typer.Option("--set", help="Table sets.")]
Training = Annotated[Path, typer.Option(help="Table sets, the blocks to learn from.")]
Machine = Annotated[Path, typer.Option(help="Table machine_instructions of the processor.")]
Machines = Annotated[str, typer.Option(help="JSON: device, number of devices, links, targets.")]
FusionMachines = Annotated[
    str, typer.Option(help="JSON: device (null: this machine), number of devices, links, targets.")
]
SetDevice = Annotated[str, typer.Option(help="JSON of the set's device; null without one.")]
Devices = Annotated[int, typer.Option(min=1, help="Number of devices.")]
Strengths = Annotated[Path, typer.Option(help="The frozen targets, graph_targets.csv.")]
Intervals = Annotated[str, typer.Option(help="JSON of bootstrap_samples and confidence.")]
Peers = Annotated[list[str] | None, typer.Option(help="Methods that every other one is compared with.")]
Network = Annotated[Path | None, typer.Option(help="The method's trained network, if it has one.")]
Table = Annotated[Path, typer.Option(help="The table of this name.")]
SomeTable = Annotated[Path | None, typer.Option(help="The table of this name, if there is one.")]
Tables = Annotated[list[Path], typer.Option(help="Tables of this name, at their places (places.py).")]
SomeTables = Annotated[list[Path] | None, typer.Option(help="Tables of this name, if there are any.")]
Read = Annotated[list[Path], typer.Option("--tables", help="All tables that the task reads, at their places.")]
Behaviour = Annotated[Path, typer.Option(help="Digests of the tiny corpus's tables: reports/behaviour.json.")]
Published = Annotated[list[Path] | None, typer.Option("--published", help="Folders of published experiments.")]
Out = Annotated[Path, typer.Option(help="Table to write.")]
Confidence = Annotated[float, typer.Option(help="Confidence of the intervals.")]
Shown = Annotated[int, typer.Option(min=1, help="Blocks to show.")]
Cores = Annotated[int, typer.Option(min=1, help="Processes or threads; the tables are the same for any number.")]
Threads = Annotated[int, typer.Option(min=1, help="llvm-mca processes at once; the result is the same.")]
