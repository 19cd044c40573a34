"""The console command; each other file of this folder is one verb or a part of one."""

from __future__ import annotations

import ast
import atexit
import gc
import os
import re
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from learned_schedulers import __version__
from learned_schedulers.command.explained import explained

VERBS = (
    "tune",
    "cc",
    "blocks",
    "order",
    "check",
    "explain",
    "graph",
    "run",
    "split",
    "project",
    "compare",
    "conform",
    "leaderboard",
)  # files of this folder, as --help lists them
_OF_GRAPHS = ("graph", "run", "split", "compare", "conform", "leaderboard")  # they need the whole extra `graphs`
# Packages that the light installation lacks -> the extra of pyproject.toml that has them, and what they are used with.
_EXTRAS = {
    "torch": "learn",
    "unicorn": "verify",
    **dict.fromkeys(
        ("matplotlib", "onnx", "ortools", "networkx", "pandas", "pyarrow", "pymetis", "pymoo", "scipy"), "graphs"
    ),
}


class _Verbs(TyperGroup):
    """All verbs; a verb's file is imported when the verb is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {verb: TyperCommand(verb, help=_docstring(verb)) for verb in VERBS}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        name, listed, rest = super().resolve_command(ctx, args)
        ctx.invoked_subcommand = name  # `invoke` asks for it if the import fails
        return name, listed and _command(str(name)), rest

    def invoke(self, ctx: Any) -> Any:
        with explained():
            try:
                return super().invoke(ctx)
            except typer.BadParameter as error:
                error.message = _with_near_name(error.message)
                raise
            except ModuleNotFoundError as error:
                package = (error.name or "").split(".")[0]
                if package not in _EXTRAS:
                    raise
                extra = "graphs" if ctx.invoked_subcommand in _OF_GRAPHS else _EXTRAS[package]
                remedy = f"pip install 'learned-schedulers[{extra}]'"
                raise ValueError(f"this needs {package}, which is not installed: {remedy}") from error


def _with_near_name(message: str) -> str:
    """What is said of a name that is none of a list, with the name that is nearest."""
    message = message.removeprefix("Value error, ")
    match = re.fullmatch(r"'(.*)' is not one of ((?:'\w+'(?:, )?)+)\.", message)
    near = match and get_close_matches(match[1], match[2].replace("'", "").split(", "), 1, 0.5)
    return f"{message} Did you mean {near[0]}?" if near else message


class _Verb(TyperCommand):
    """A verb whose options of one value are given at most once."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuses an option that stands twice, of which click would take the last."""
        *_, options = self.make_parser(ctx).parse_args(list(args))  # a parameter for each time that it stands there
        for option in self.params:
            alone = isinstance(option, TyperOption) and not (option.multiple or option.is_flag)
            if alone and options.count(option) > 1:
                ctx.fail(f"{option.opts[0]} stands {options.count(option)} times, but takes one value; give it once")
        return super().parse_args(ctx, args)


def _docstring(verb: str) -> str:
    """What a verb does, from its file, which is not imported."""
    module = ast.parse(Path(__file__).with_name(f"{verb}.py").read_bytes())
    [main] = (node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == "main")
    return ast.get_docstring(main) or ""


def _command(verb: str) -> Any:
    """The command of a verb with all its options."""
    alone = typer.Typer(rich_markup_mode=None, add_completion=False)
    alone.command(verb, cls=_Verb)(import_module(f"learned_schedulers.command.{verb}").main)
    return typer.main.get_command(alone)


app = typer.Typer(
    cls=_Verbs,
    no_args_is_help=True,
    rich_markup_mode=None,  # brackets are what they mean
    help="Schedule compiled code, neural networks and projects by learned and by classical methods.",
    epilog="`learned-schedulers VERB --help` has the options of a verb, and lines to try it in an empty folder.",
)


def _tell_version(shown: bool) -> None:
    if shown:
        print(f"learned-schedulers {__version__}")
        raise typer.Exit


@app.callback()
def _verbs(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Make the verb's name necessary, for any number of verbs."""


def main() -> None:
    """Entry point of the console command."""
    # A user's results need not be equal on all processors, and MKL's AVX2 kernels save a quarter of the time.
    os.environ["MKL_CBWR"] = "AVX2"
    atexit.register(gc.freeze)  # Python would look for cycles among all that torch made, for one or two seconds
    gc.set_threshold(500_000)  # what is imported stays: to look for garbage in it took an eighth of the start-up
    app()


if __name__ == "__main__":
    main()
