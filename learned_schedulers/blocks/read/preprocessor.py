"""Text that is not assembly yet: lines for the C preprocessor, which the assembler takes for comments.

An instruction between `#ifdef` and `#endif` exists in some builds only. A comment may begin with such a word too (`# if
it is zero`). In a file that compilers preprocess (`.S`, `.sx`) every such line counts; elsewhere those do that make
sense together: conditions with an end, `#include` with a file in quotes or brackets, `#define` of a name that is used.
"""

from __future__ import annotations

import re

_DIRECTIVE = re.compile(
    r"[ \t]*(?:/\*.*?\*/[ \t]*)*#[ \t]*"
    r"(ifdef|ifndef|if|elif|elifdef|elifndef|else|endif|include|include_next|import|define|undef|error|warning|pragma)"
    r"\b[ \t]*(.*)"
)
_OPENING, _CLOSING = ("if", "ifdef", "ifndef"), "endif"
_PREPROCESSED = (".S", ".sx")


def preprocessor_line(text: str, name: str) -> int | None:
    """The index of the first line for the C preprocessor; None for assembly. name: of the file."""
    if "#" not in text:
        return None
    lines = [(k, m.group(1), m.group(2)) for k, line in enumerate(text.split("\n")) if (m := _DIRECTIVE.match(line))]
    if not lines:
        return None
    if name.endswith(_PREPROCESSED):
        return lines[0][0]
    opened: list[int] = []
    chosen: list[int] = []
    for k, word, rest in lines:
        if word in _OPENING:
            opened.append(k)
        elif word == _CLOSING and opened:
            chosen.append(opened.pop())
        elif _brings_text(word, rest, text):
            chosen.append(k)
    return min(chosen, default=None)


def _brings_text(word: str, rest: str, text: str) -> bool:
    """Whether a line includes a file, or defines a name that the text uses."""
    if word.startswith(("include", "import")):
        return re.match(r'"[^"]+"|<[^>]+>', rest) is not None
    match = re.match(r"[A-Za-z_]\w*", rest)
    return word == "define" and match is not None and _is_used(match.group(), text)


def _is_used(name: str, text: str) -> bool:
    """Whether a name occurs outside of comments."""
    word = re.compile(rf"(?<![\w.%]){re.escape(name)}(?![\w.$])")
    return any(word.search(line.partition("#")[0]) for line in text.split("\n"))
