"""Print a resolved part of params.yaml: `python -m pipeline.lab.config experiments.quick.models.popocs`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
import yaml

from learned_schedulers.section import ConfigError
from pipeline.lab.config.bases import lookup, resolve
from pipeline.lab.config.files import PARAMS, read
from pipeline.lab.config.params import validate


def main(
    key: Annotated[
        str, typer.Argument(help="A dotted key, such as experiments.quick.models.popocs; all by default.")
    ] = "",
    params: Annotated[Path, typer.Option(help="The file to read.")] = PARAMS,
) -> None:
    """Print the resolved value of a key, with everything that it inherits from its base."""
    try:
        contents = read(params)
        validate(resolve(contents), str(params))
        value = lookup(contents, key) if key else resolve(contents)
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    print(yaml.safe_dump(value, sort_keys=False, default_flow_style=False), end="")


if __name__ == "__main__":
    typer.run(main)
