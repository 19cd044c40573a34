"""The program that a compiler finds in the place of its assembler. Its first word is the name of the settings.

It orders the text if a compiler has written it, and gives it to the real assembler, whose exit code and messages it
returns. Text that people have written is left alone, and so is whatever is not understood: the real assembler takes the
place of this process, with its words as they came.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

_WITH_VALUE = {"-o", "-I", "-MD", "--MD", "-G", "--defsym", "-defsym", "--debug-prefix-map"}
_FOREIGN = {"--32", "--x32", "-32", "-x32", "--version", "--help", "--target-help"}
_MOST_BYTES = 1 << 28


def main(words: list[str]) -> int:
    """words: the name of the settings, then those of the compiler."""

    def ordered(text: bytes, output: str) -> bytes:
        from learned_schedulers.wrapper import client
        from learned_schedulers.wrapper.settings import Settings

        return client.ordered(text, Settings.of_name(words[0]), output)

    return assemble(words[1:], ordered)


def assemble(words: list[str], ordered: Callable[[bytes, str], bytes]) -> int:
    """Assemble as the words say, text that a compiler has written in the order that `ordered(text, object)` gives."""
    real = _real()
    source, output = _files(words)
    if source is None or output is None or not _FOREIGN.isdisjoint(words):
        os.execv(real, ["as", *words])
    piped = source in ("", "-", "--")
    if piped:
        text = sys.stdin.buffer.read()
    else:
        try:
            with open(source, "rb") as file:
                text = file.read()
        except OSError:
            os.execv(real, ["as", *words])
    new = ordered(text, output) if _is_of_compiler(text) and len(text) <= _MOST_BYTES else text
    if new == text and not piped:
        os.execv(real, ["as", *words])
    without = [word for k, word in enumerate(words) if not (word == source and not _is_value(words, k))]
    code = _fed(real, [*without, "--"], new)
    if code and new != text:  # the proofs have missed something: the build goes on
        code = _fed(real, [*without, "--"], text)
    return code


def _fed(real: str, words: list[str], text: bytes) -> int:
    """Run the real assembler with a text as its standard input."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.dup2(reading, 0)
        os.execv(real, ["as", *words])
    os.close(reading)
    view = memoryview(text)
    try:
        while view:
            view = view[os.write(writing, view) :]
    except BrokenPipeError:
        pass  # it has ended, and its exit code says how
    finally:
        os.close(writing)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _files(words: list[str]) -> tuple[str | None, str | None]:
    """The source ("" or "-" for standard input) and the object; None for a line that is not understood."""
    sources = []
    for k, word in enumerate(words):
        if word in ("-", "--") or (not word.startswith(("-", "@")) and not _is_value(words, k)):
            sources.append(word)
        elif word.startswith("@"):
            return None, None
    if len(sources) > 1:
        return None, None
    output = words[words.index("-o") + 1] if "-o" in words[:-1] else "a.out"
    return (sources[0] if sources else ""), output


def _is_value(words: list[str], k: int) -> bool:
    return k > 0 and words[k - 1] in _WITH_VALUE


def _is_of_compiler(text: bytes) -> bool:
    """Whether GCC or Clang has written it: it names its source first, and its compiler or its stack last."""
    return b"\t.file\t" in text[:400] and (b"\t.ident\t" in text[-4000:] or b".note.GNU-stack" in text[-4000:])


def _real() -> str:
    """The assembler that the compiler would have called. This program's folder is on no search path."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder or ".", "as")
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    print("learned-schedulers cc: the assembler `as` is not installed: apt-get install binutils", file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
