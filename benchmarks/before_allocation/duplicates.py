"""Functions that are equal but for names, numbers, constants and the sequence of instructions are duplicates."""

from __future__ import annotations

import hashlib
import re

_LABEL = re.compile(r'^(?:"(?:[^"\\]|\\.)*"|[-\w$.]+):.*$', re.MULTILINE)
_NAME = re.compile(r'[%@](?:"(?:[^"\\]|\\.)*"|[-\w$.]+)')
_ATTACHED = re.compile(r"(?:, ![\w.]+ !\w+)+$|,? align \d+| #\d+", re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.])(?:-?\d[\w.+-]*|true|false|undef|poison|zeroinitializer|null)\b(?! x )")


def mask(text: str, signature: str) -> str:
    """A digest that functions share whose masked instructions are the same, in whatever sequence."""
    lines = text.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("define "))
    body = "\n".join(lines[begin + 1 : lines.index("}", begin)])
    for pattern, sign in ((_LABEL, "label"), (_ATTACHED, ""), (_NAME, "%"), (_NUMBER, "0")):
        body = pattern.sub(sign, body)
    masked = "\n".join([signature, *sorted(body.splitlines())])
    return hashlib.sha256(masked.encode()).hexdigest()
