"""The record of a build: a line of JSON for each object, and the lines that people asked for. It never fails."""

from __future__ import annotations

import os
import sys

from learned_schedulers.wrapper.settings import VERBOSE, cache_folder, private

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    # What became of a text: blocks, statuses, cycles, faults, functions; or why it was left alone ("passed", "failed").
    Facts: TypeAlias = dict[str, Any]

RECORD = "LEARNED_SCHEDULERS_RECORD"  # environment: another file for what has become of each object


def is_verbose() -> bool:
    """Whether people asked for lines."""
    return bool(os.environ.get(VERBOSE))


def say(text: str) -> None:
    """A line for people who asked for it."""
    if is_verbose():
        print(f"learned-schedulers cc: {text}", file=sys.stderr)


def path() -> str:
    """The file of the record."""
    return os.environ.get(RECORD) or os.path.join(cache_folder(), "record.jsonl")


def add(output: str, facts: Facts) -> None:
    """Add a line for the report. output: the object; `facts["source"]` if the driver deletes it after linking."""
    import json

    if facts.get("source") and is_temporary(output):
        output = facts["source"]
    line(output, json.dumps(facts).encode())


def is_temporary(output: str) -> bool:
    """Whether it is an object that a driver deletes after linking."""
    return os.path.dirname(os.path.abspath(output)) == os.path.abspath(os.environ.get("TMPDIR") or "/tmp")


def line(output: str, facts: bytes) -> None:
    """Add a line. Those of several processes do not mix: each is one write to the file's end. facts: as JSON."""
    place = f'"{os.path.abspath(output)}"'
    if not place.isascii() or not place.isprintable() or "\\" in place or '"' in place[1:-1]:
        import json

        place = json.dumps(place[1:-1])
    try:
        if not os.environ.get(RECORD):
            private(cache_folder())
        handle = os.open(path(), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, f'{{"object": {place}, '.encode() + facts.strip()[1:] + b"\n")
        finally:
            os.close(handle)
    except OSError as error:
        say(f"{output}: not recorded: {error}")
