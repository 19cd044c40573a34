"""The record of a build: a line of JSON for each object, and the lines that people asked for. It never fails."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from learned_schedulers.wrapper.settings import VERBOSE, cache_folder, private

RECORD = "LEARNED_SCHEDULERS_RECORD"  # environment: another file for what has become of each object

Facts = dict[
    str, Any
]  # what became of a text: blocks, statuses, cycles, faults, functions; or why a call was left alone


def say(text: str) -> None:
    """A line for people who asked for it."""
    if os.environ.get(VERBOSE):
        print(f"learned-schedulers cc: {text}", file=sys.stderr)


def path() -> str:
    """The file of the record."""
    return os.environ.get(RECORD) or os.path.join(cache_folder(), "record.jsonl")


def add(output: str, facts: Facts) -> None:
    """Add a line for the report. Lines of several processes do not mix: each is one write to the file's end.

    output: the object; where the driver deletes it after linking, `facts["source"]` is named in its place.
    """
    place = os.path.abspath(output)
    if facts.get("source") and os.path.dirname(place) == os.path.abspath(os.environ.get("TMPDIR") or "/tmp"):
        place = os.path.abspath(facts["source"])
    line = json.dumps({"object": place, **facts}) + "\n"
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
