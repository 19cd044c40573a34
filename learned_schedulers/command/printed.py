"""`cc --print`: what a build may call in the place of a compiler, after all is checked that the build would not say."""

from __future__ import annotations

import os
import shlex
import shutil
import sys

from learned_schedulers.wrapper.command_line import understood
from learned_schedulers.wrapper.settings import Settings, cache_folder, program, texts_folder, version

_FIRST = (
    "the first build takes about twice as long as the plain one, more with -O0: each file is compiled, ordered and, "
    "where llvm-mca is, confirmed; a second one takes what the cache has; --by policy and --no-confirm are quicker"
)


def line(compiler: str, settings: Settings) -> str:
    """What a build may call in the place of a compiler. GCC needs nothing but its option `-B`.

    compiler: as a makefile has it: a name, perhaps `ccache` before it and options behind it. A first build is told on
    stderr. Raises ValueError, with the remedy, for a compiler that is not there or is not understood, and for settings
    that no method serves; ModuleNotFoundError for a package that the method needs: the build would go through,
    in the compiler's own orders.
    """
    words = shlex.split(compiler)
    reading = understood([*words, "-c", "x.c"])
    for word in words[: 2 if words[0:1] == ["ccache"] else 1]:
        if shutil.which(word) is None:
            raise ValueError(f"--print {shlex.quote(compiler)}: there is no program {word}; name one that PATH has")
    if reading.road not in ("gcc", "clang", "ccache"):
        remedy = "name gcc, g++, clang or clang++, with a version or ccache if you like, and put options into CFLAGS"
        raise ValueError(f"--print {shlex.quote(compiler)}: nothing would be ordered: {reading.reason}; {remedy}")
    from learned_schedulers.command.kernels import announce  # slow to import
    from learned_schedulers.wrapper.job import Job
    from learned_schedulers.wrapper.resident import WARM_UP

    announce()
    Job(settings)(WARM_UP)
    if not os.path.isdir(texts_folder(cache_folder(), settings, version())):
        print(_FIRST, file=sys.stderr)
    if reading.road == "gcc":
        return shlex.join([*words, "-B", os.path.dirname(program(settings, "as"))])
    options = [f"--for={settings.target}", f"--by={settings.by}", f"--memory={settings.memory}"]
    options += [f"--seed={settings.seed}", *{"yes": ["--confirm"], "no": ["--no-confirm"]}.get(settings.confirm, [])]
    return shlex.join(["learned-schedulers", "cc", *options, "--", *words])
