"""Print a part of params.yaml as the pipeline takes it: `python -m pipeline.config experiments.quick.models.popocs`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
import yaml

from pipeline.config.bases import lookup, resolve
from pipeline.config.params import parsed, validate
from pipeline.config.section import ConfigError


def main(
    key: Annotated[
        str, typer.Argument(help="A dotted key, such as experiments.quick.models.popocs; all by default.")
    ] = "",
    params: Annotated[Path, typer.Option(help="The file to read.")] = Path("params.yaml"),
) -> None:
    """Print the resolved form of a key: with all that it takes over from what it is based on."""
    try:
        data = parsed(params)
        validate(resolve(data), str(params))
        value = lookup(data, key) if key else resolve(data)
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    print(yaml.safe_dump(value, sort_keys=False, default_flow_style=False), end="")


if __name__ == "__main__":
    typer.run(main)
