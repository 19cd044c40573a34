"""The verb `cc`: a compiler that compiles tuned functions as `tuned.orders` says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    compiler: Annotated[
        str, typer.Argument(metavar="[COMPILER]", help="A compiler of the PATH, as gcc, g++-13.")
    ] = "cc",
    print_path: Annotated[
        bool, typer.Option("--print", help="Print the path of a command that stands for the compiler in builds.")
    ] = False,
    orders: Annotated[
        Path | None,
        typer.Option(help="The file that tune wrote; tuned.orders here or in a folder above, if it is left out."),
    ] = None,
    clang: Annotated[
        str | None, typer.Option(help="The clang with which was tuned, as clang-19; the newest, if it is left out.")
    ] = None,
) -> None:
    """Make a compiler that uses what `tune` has found, for any later build.

    It calls the compiler as usual. A file with tuned functions is then compiled anew as tuned.orders says; if its
    functions have changed since they were tuned, they are compiled as usual, and a line of the build says so. All other
    files take a few hundredths of a second more.

    Example, in an empty folder:

    \b
    echo 'int main(void) { return 0; }' > program.c
    echo '# learned-schedulers tune, format 1' > tuned.orders  # as tune writes it, with a line for each function
    make program CC="$(learned-schedulers cc --print)"

    Other calls:

    \b
    learned-schedulers cc --print clang-19
    learned-schedulers cc --print g++ --orders elsewhere/tuned.orders

    Exit code 1: there is no tuned.orders, no such compiler, or no clang.
    """
    from learned_schedulers.tuning import build, tuned_orders
    from learned_schedulers.tuning.state import state_of

    if not print_path:
        raise ValueError('cc: call it as CC="$(learned-schedulers cc --print)" make')
    if orders is None:
        places = [folder / tuned_orders.NAME for folder in (Path.cwd(), *Path.cwd().parents)]
        orders = next((place for place in places if place.is_file()), None)
        if orders is None:
            raise ValueError(f"no {tuned_orders.NAME} here or in a folder above; learned-schedulers tune makes it")
    orders = orders.resolve()
    tuned_orders.read(orders)
    folder = state_of(orders.parent) / "cc"
    build.scripts(folder, "apply", build.compilers(clang), orders)
    script = folder / "bin" / compiler
    if not script.is_file():
        raise ValueError(f"{compiler} is no GCC or Clang of the PATH")
    print(script)
