"""The console command: one file of this folder is one verb."""

from __future__ import annotations

import typer

from pipeline.command import order

app = typer.Typer(no_args_is_help=True, help="Schedule code of your own with what this laboratory has learned.")
app.command("order")(order.main)


@app.callback()
def _verbs() -> None:
    """Keep the verb's name necessary, however many there are."""
