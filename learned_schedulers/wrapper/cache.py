"""Texts that were ordered before, by their content. It imports next to nothing: each call of an assembler reads it.

An answer is a line of JSON, what became of the text, and the text with its blocks in new orders.
"""

from __future__ import annotations

import os

try:
    from _blake2 import blake2b  # what hashlib gives, in a third of the time: that loads OpenSSL
except ImportError:  # an interpreter of another make
    from hashlib import blake2b

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from learned_schedulers.wrapper.record import Facts


def key(name: str, version: str, text: bytes) -> str:
    """name: of the settings; version: of all else that an answer depends on."""
    return blake2b(f"{name} {version}\n".encode() + text, digest_size=20).hexdigest()


def answer(folder: str, name: str) -> tuple[bytes, bytes] | None:
    """The line of JSON and the text of a key; None if the cache does not have them, whole."""
    path = os.path.join(folder, "texts", name[:2], name)
    try:
        with open(path, "rb") as file:
            size, head, text = file.readline(), file.readline(), file.read()
        if size != b"%d\n" % len(text):
            return None
        os.utime(path)  # those that were used longest ago are deleted first
    except OSError:
        return None
    return head, text


def keep(folder: str, name: str, facts: Facts, text: bytes) -> None:
    """Write an answer whole, for other calls of the same text."""
    import json
    import tempfile

    part = os.path.join(folder, "texts", name[:2])
    try:
        os.makedirs(part, mode=0o700, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=part, delete=False) as file:
            file.write(b"%d\n" % len(text) + json.dumps(facts).encode() + b"\n" + text)
        os.replace(file.name, os.path.join(part, name))
    except OSError:
        pass  # the disk is full: the answer is as good
