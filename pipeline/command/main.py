"""The console command; each other file of this folder is one verb or a part of one."""

from __future__ import annotations

import os
from typing import Any

import typer
from typer.core import TyperGroup

from pipeline.command import bisect, blocks, check, explain, graph, order, split
from pipeline.stages.command import explained


class _Verbs(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        with explained():
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Verbs,
    no_args_is_help=True,
    rich_markup_mode=None,  # brackets are what they mean
    help="Schedule your own compiled code and neural networks with the methods of this laboratory.",
)
app.command("blocks")(blocks.main)
app.command("order")(order.main)
app.command("check")(check.main)
app.command("bisect")(bisect.main)
app.command("explain")(explain.main)
app.command("graph")(graph.main)
app.command("split")(split.main)


@app.callback()
def _verbs() -> None:
    """Make the verb's name necessary, for any number of verbs."""


def main() -> None:
    """Entry point of the console command."""
    # A user's results need not be equal on all processors, and MKL's AVX2 kernels save a quarter of the time.
    os.environ["MKL_CBWR"] = "AVX2"
    app()


if __name__ == "__main__":
    main()
