"""The program that GCC finds in the place of its assembler. Its first word is the name of the settings.

It orders the text if the compiler has written it, and gives it to the real assembler, whose exit code and messages it
returns. Text that people have written is left alone, and so is whatever is not understood: the real assembler takes the
place of this process, with its words as they came.
"""

from __future__ import annotations

import os
import sys

from learned_schedulers.wrapper import children, record
from learned_schedulers.wrapper.settings import Settings, cache_folder

_WITH_VALUE = {"-o", "-I", "-MD", "--MD", "-G", "--defsym", "-defsym", "--debug-prefix-map"}
_FOREIGN = {"--32", "--x32", "-32", "-x32", "--version", "--help", "--target-help", "--MD", "-MD"}
_MOST_BYTES = 1 << 28

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Order: TypeAlias = Callable[[bytes, str, str], bytes]  # of a text: the name of the settings, the object


def main(words: list[str], order: Order | None = None) -> int:
    """words: the name of the settings, then those of the compiler. order: another one than the library's."""
    name, rest = words[0], words[1:]
    real = _real()
    source, output = _files(rest)
    if source is None or not _FOREIGN.isdisjoint(rest):
        os.execv(real, ["as", *rest])
    is_piped = source in ("", "-", "--")
    try:
        text = _read(source, is_piped)
        new = (order or _ordered)(text, name, output)
    except KeyboardInterrupt:
        os._exit(130)
    except (OSError, ImportError):  # the source is not there; or the library is replaced at this moment
        if is_piped:
            raise
        new = text = b""
    if new != text:
        others = [word for k, word in enumerate(rest) if word != source or _is_value(rest, k)]
        if _assemble(real, [*others, "--"], new, is_quiet=True) == 0:
            return 0
        record.add(output, {"failed": "the assembler has a remark on the ordered text"})
    if not is_piped:
        os.execv(real, ["as", *rest])
    return _assemble(real, rest, text)


def _read(source: str, is_piped: bool) -> bytes:
    if is_piped:
        return sys.stdin.buffer.read()
    with open(source, "rb") as file:
        return file.read()


def _ordered(text: bytes, name: str, output: str) -> bytes:
    from learned_schedulers.wrapper import client

    if len(text) > _MOST_BYTES or not client.is_of_compiler(text):
        record.add(output, {"passed": "people have written this assembly"})
        return text
    return client.ordered(text, Settings.of_name(name), output)


def _assemble(real: str, words: list[str], text: bytes, is_quiet: bool = False) -> int:
    """The exit code of the real assembler for a text on its standard input. Quiet, each of its words is an error."""
    with open(os.memfd_create("text"), "w+b") as source:
        source.write(text)
        source.seek(0)
        return children.run(real, ["as", *words], source.fileno(), is_quiet)


def _files(words: list[str]) -> tuple[str | None, str]:
    """The source ("" or "-" for standard input) and the object; None for a line that is not understood."""
    sources = []
    for k, word in enumerate(words):
        if word in ("-", "--") or (not word.startswith(("-", "@")) and not _is_value(words, k)):
            sources.append(word)
        elif word.startswith("@"):
            return None, ""
    output = words[words.index("-o") + 1] if "-o" in words[:-1] else "a.out"
    if len(sources) > 1:
        return None, output
    return (sources[0] if sources else ""), output


def _is_value(words: list[str], k: int) -> bool:
    return k > 0 and words[k - 1] in _WITH_VALUE


def _real() -> str:
    """The assembler that the compiler would have called; this program's folder is on no search path.

    While GCC links, it hands its `-B` on in COMPILER_PATH: with that it would name this program, without end.
    """
    name = "as"
    if compiler := os.environ.get("COLLECT_GCC"):  # how it was called: it may have an assembler of its own
        code, answer = children.printed(compiler, [compiler, "-print-prog-name=as"], without="COMPILER_PATH")
        name = answer.strip() if code == 0 and answer.strip() else name
    if os.path.dirname(os.path.realpath(name)).startswith(os.path.realpath(cache_folder()) + os.sep):
        name = "as"
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder or ".", name)  # `name` itself if it is absolute
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    print("learned-schedulers cc: the assembler `as` is not installed: apt-get install binutils", file=sys.stderr)
    sys.exit(1)
