"""The record of a build: a line of JSON for each object, and the lines that people asked for. It never fails."""

from __future__ import annotations

import os
import sys

from learned_schedulers.wrapper.settings import RECORD, VERBOSE, cache_folder, private

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    # What became of a text: blocks, statuses, cycles, faults, functions; or why a call was left alone.
    Facts: TypeAlias = dict[str, Any]


def say(text: str) -> None:
    """A line for people who asked for it."""
    if os.environ.get(VERBOSE):
        print(f"learned-schedulers cc: {text}", file=sys.stderr)


def path() -> str:
    """The file of the record."""
    return os.environ.get(RECORD) or os.path.join(cache_folder(), "record.jsonl")


def place_of(output: str, source: str, folder: str) -> str:
    """What a record is about: the object, or the source if the driver deletes the object after linking."""
    is_temporary = os.path.dirname(output) == os.path.abspath(os.environ.get("TMPDIR") or "/tmp")
    return os.path.join(folder, source) if source and is_temporary else output


def add(output: str, facts: Facts) -> None:
    """Add a line for the report. Lines of several processes do not mix: each is one write to the file's end.

    output: the object; where the driver deletes it after linking, `facts["source"]` is named in its place.
    """
    import json
    import time

    place = place_of(os.path.abspath(output), facts.get("source", ""), os.getcwd())
    line = json.dumps({"object": place, "time": int(time.time()), **facts}) + "\n"
    try:
        if not os.environ.get(RECORD):
            private(cache_folder())
        handle = os.open(path(), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, line.encode())
        finally:
            os.close(handle)
    except OSError as error:
        say(f"{output}: not recorded: {error}")
