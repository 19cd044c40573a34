"""The console command: one file of this folder is one verb."""

from __future__ import annotations

import os
from typing import Any

import typer
from typer.core import TyperGroup

from pipeline.command import graph, order, split
from pipeline.stages.command import explained


class _Verbs(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        with explained():
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Verbs,
    no_args_is_help=True,
    rich_markup_mode=None,  # brackets are what they mean
    help="Schedule code and neural networks of your own with what this laboratory has.",
)
app.command("order")(order.main)
app.command("graph")(graph.main)
app.command("split")(split.main)


@app.callback()
def _verbs() -> None:
    """Keep the verb's name necessary, however many there are."""


def main() -> None:
    """What the console command runs."""
    # A user's blocks are no table of results: matrix products of this processor's maker, a quarter of the time less.
    os.environ["MKL_CBWR"] = "AVX2"
    app()


if __name__ == "__main__":
    main()
