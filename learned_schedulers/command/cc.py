"""The verb `cc`: a compiler whose output is ordered, for whole projects; and what has become of their files."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from learned_schedulers.command.order import MEMORY, METHOD, PROCESSOR, By, For, Memory


def main(
    context: typer.Context,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMPILER ARGUMENT...", help="GCC or Clang, as you call it.")
    ] = None,
    target: PROCESSOR = "host",
    by: METHOD = "search",
    memory: MEMORY = "tso",
    confirm: Annotated[
        bool | None,
        typer.Option(
            "--confirm/--no-confirm",
            help="Take an order only if llvm-mca 19 sees its gain; by default where it is installed.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random choices of search and random_legal.")] = 0,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Say what is left alone, and why.")] = False,
    printed: Annotated[
        str | None,
        typer.Option(
            "--print",
            metavar="COMPILER",
            help="Check compiler, method and processor, and print what to give a build as its compiler: for GCC its "
            "name and -B, which costs the least time. Several words are put in quotes: 'ccache gcc'.",
        ),
    ] = None,
    report: Annotated[
        bool, typer.Option("--report", help="Say what has become of the objects below this folder.")
    ] = False,
    page: Annotated[Path | None, typer.Option("--page", help="With --report: also write it as a page of HTML.")] = None,
) -> None:
    """Call a compiler, and order what it has written before it is assembled.

    Everything else is the compiler's own: options, files, messages, exit codes. It is told of a folder (-B) in which
    it finds its assembler; there each text is ordered as by the verb `order`, every order proven. Code that is written
    by hand, for other processors, and all that is not understood stays as it is. If anything of this fails, the text
    stays as it was, and the build goes on. A resident process serves all jobs of a build, and a cache keeps what was
    ordered before.

    Example, in an empty folder:

    \b
    echo 'int f(int *a, int b) { return a[1] * b + a[2]; }' > f.c
    learned-schedulers cc --for atom -- gcc -O2 -c f.c
    learned-schedulers cc --report

    Other calls, for whole projects:

    \b
    make CC='learned-schedulers cc -- gcc' CXX='learned-schedulers cc -- g++'
    make CC="$(learned-schedulers cc --print gcc)"
    ./configure CC='learned-schedulers cc --for skylake --by policy -- gcc'
    cmake -DCMAKE_C_COMPILER_LAUNCHER='learned-schedulers;cc;--'
    learned-schedulers cc --report --page report.html
    """
    if report:
        _refuse_others(context)
        _report(page)
        return
    if page is not None and not command:
        raise ValueError(f"--page needs --report: learned-schedulers cc --report --page {page}")
    from learned_schedulers.wrapper.compiler import Call, run
    from learned_schedulers.wrapper.settings import Settings

    confirmation = {None: "auto", True: "yes", False: "no"}[confirm]
    settings = Settings(target, by, memory, seed, confirmation)
    if printed is not None:
        if command:
            words = shlex.join([printed, *command])
            raise ValueError(f"--print takes one word; several are put in quotes, as --print {shlex.quote(words)}")
        from learned_schedulers.command.printed import line

        print(line(printed, settings))
        return
    if not command:
        raise ValueError("no compiler: write it behind `--`, as in `learned-schedulers cc -- gcc -O2 -c x.c`")
    sys.exit(run(Call(settings, verbose, command)))


def _refuse_others(context: typer.Context) -> None:
    """Raise ValueError for what is typed beside --report and --page."""
    names = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    for name in context.params:
        source = context.get_parameter_source(name)
        if name not in ("report", "page") and source is not None and source.name == "COMMANDLINE":
            words = names[name] if names[name].startswith("-") else " ".join(context.params[name])
            raise ValueError(f"--report: it says what was built, however that was asked for; leave {words} out")


def _report(page: Path | None) -> None:
    """Print the report of the objects below this folder, and write it as a page."""
    from learned_schedulers.wrapper.build import newest_place, of_folder
    from learned_schedulers.wrapper.report import report, text

    build = of_folder(Path.cwd())
    if not build.files:
        message = f"no object below {Path.cwd()} was made by `learned-schedulers cc`; build first"
        if place := newest_place():
            message += f", or go to the folder in which you have built: the newest record is of {place}"
        raise ValueError(message)
    shown = report(build)
    lines = [text(shown)]
    if page is not None:
        from learned_schedulers.files import replacing
        from learned_schedulers.wrapper.report_page import html

        with replacing(page, follow=True) as temporary:
            temporary.write_text(html(shown), encoding="utf-8")
        lines.append(f"page: {page}")
    try:
        print("\n".join(lines), flush=True)
    except BrokenPipeError:  # its reader, as `head`, has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


__all__ = ["By", "For", "Memory", "main"]
