"""What is asked of the wrapper, and the folders that it uses. It imports little: every call of a compiler reads it."""

from __future__ import annotations

import os
import sys
import tempfile
from hashlib import blake2b
from typing import NamedTuple

CACHE = "LEARNED_SCHEDULERS_CACHE"  # environment: another folder for the cache
VERBOSE = "LEARNED_SCHEDULERS_VERBOSE"  # environment: say what is left alone
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Settings(NamedTuple):
    """How texts are ordered."""

    target: str = "host"
    by: str = "search"
    memory: str = "tso"
    seed: int = 0
    confirm: str = "auto"  # auto | yes | no

    @property
    def name(self) -> str:
        """As the name of a folder, so that it is part of the compiler's command line, which ccache compares."""
        return "-".join(map(str, self))

    @classmethod
    def of_name(cls, name: str) -> Settings:
        """Raises ValueError for a name that is none."""
        target, by, memory, seed, confirm = name.split("-")
        return cls(target, by, memory, int(seed), confirm)


def cache_folder() -> str:
    """Of this user."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.environ.get(CACHE) or os.path.join(base, "learned_schedulers")


def private(folder: str) -> str:
    """A folder that only this user can open, made if it is not there. Raises OSError if it is someone else's."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    state = os.lstat(folder)
    if state.st_uid != os.geteuid() or state.st_mode & 0o077 or os.path.islink(folder):
        raise PermissionError(f"{folder}: others may open it; remove it, or set {CACHE} to a folder of your own")
    return folder


def digest_of_library() -> str:
    """Of the times and sizes of the library's files: texts that another version has ordered are ordered anew."""
    state = blake2b(digest_size=8)
    folders = [os.path.join(PACKAGE, name) for name in ("blocks", "wrapper")]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.is_dir():
                    folders.append(entry.path)
                elif entry.name.endswith((".py", ".safetensors")):
                    facts = entry.stat()
                    state.update(f"{entry.path} {facts.st_mtime_ns} {facts.st_size}\n".encode())
    return state.hexdigest()


def program_folder(settings: Settings) -> str:
    """The folder in which a compiler finds the program in the place of its assembler; made if it is not there."""
    folder = os.path.join(private(cache_folder()), "programs", settings.name)
    script = os.path.join(folder, "as")
    program = os.path.join(PACKAGE, "wrapper", "assembler.py")
    text = f'#!/bin/sh\nexec {_quoted(sys.executable)} -I -S {_quoted(program)} {settings.name} "$@"\n'
    try:
        with open(script, encoding="utf-8") as file:
            if file.read() == text:
                return folder
    except FileNotFoundError:
        pass
    os.makedirs(folder, mode=0o700, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder)
    with open(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(temporary, 0o700)
    os.replace(temporary, script)
    return folder


def _quoted(path: str) -> str:
    """A word of a shell's line."""
    return "'" + path.replace("'", "'\\''") + "'"
