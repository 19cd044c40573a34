"""The program that GCC finds in the place of its assembler; its folder is that of some settings and a version.

It orders the text if the compiler has written it, and gives it to the real assembler, whose exit code and messages it
returns. Text that people have written is left alone, and so is whatever is not understood: the real assembler takes the
place of this process, with its words as they came.

Where the cache has the text, this takes some ten milliseconds, and little is imported.
"""

from __future__ import annotations

import os
import sys

from learned_schedulers.wrapper import children, record
from learned_schedulers.wrapper.texts import ordered

_WITH_VALUE = {"-o", "-I", "-MD", "--MD", "-G", "--defsym", "-defsym", "--debug-prefix-map"}
_FOREIGN = {"--32", "--x32", "-32", "-x32", "--version", "--help", "--target-help", "--MD", "-MD"}


def main(words: list[str]) -> int:
    """words: the real assembler, the name of the settings, the version, then the compiler's words."""
    real, name, version, *rest = words
    source, output = _files(rest)
    if source is None or not _FOREIGN.isdisjoint(rest):
        os.execvp(real, ["as", *rest])
    is_piped = source in ("", "-", "--")
    try:
        text = _read(source, is_piped)
        new = ordered(text, name, version, output)
        if new != text:
            others = [word for k, word in enumerate(rest) if word != source or _is_value(rest, k)]
            if _assemble(real, [*others, "--"], new, is_quiet=True) == 0:
                return 0
            record.add(output, {"failed": "the assembler has a remark on the ordered text"})
        if is_piped:
            return _assemble(real, rest, text)
    except KeyboardInterrupt:
        os._exit(130)
    except (OSError, ImportError):  # there is no source; or the library is replaced at this moment
        if is_piped:
            raise
    os.execvp(real, ["as", *rest])


def _read(source: str, is_piped: bool) -> bytes:
    if is_piped:
        return sys.stdin.buffer.read()
    with open(source, "rb") as file:
        return file.read()


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
