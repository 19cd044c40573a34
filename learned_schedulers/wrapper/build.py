"""The record of a build -> what the report counts: the newest line of each object, those that a makefile moved, too."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from learned_schedulers.wrapper.record import path as path_of_record
from learned_schedulers.wrapper.record import place_of

_TRIES = re.compile(r"/(?:CMakeTmp|CMakeScratch|meson-private)/|/conftest[^/]*$")  # what configure compiles to learn
_ASSEMBLES = 5  # seconds that may lie between the record of a text and its object


class Build(NamedTuple):
    """What the record says of the objects below a folder."""

    folder: Path
    files: list[dict[str, Any]]  # the newest record of each object, by its name
    moved: list[str]  # objects of `files` that do not lie any more where they were written
    uncounted: list[str]  # objects without a record here: nothing of their name is left, as of what configure tries
    rewritten: list[str]  # objects of `files` that something wrote again, long after their record


def of_folder(folder: Path, path: Path | None = None) -> Build:
    """What is recorded of the objects below a folder.

    An object that is gone counts if a file of its name or of its source's name is left, with any suffix: makefiles
    write `objs/x.o` and move it to `x.lo`, and archives take objects in. What is written again to the same path takes a
    record's place; not so if nothing lies there and the sources differ, as each object was moved away.
    path: the file of records; None: the user's.
    """
    newest: dict[str, dict[str, dict[str, Any]]] = {}  # object -> name of its source -> record
    for record in _records(path or Path(path_of_record())):
        if Path(record["object"]).is_relative_to(folder):
            source = os.path.basename(record.get("source", ""))
            others = newest.setdefault(record["object"], {})
            if not source or "" in others:  # the line says nothing of a source
                others.clear()
            others.pop(source, None)
            others[source] = record
    build = Build(folder, [], [], [], [])
    stems: set[str] | None = None
    for name in sorted(newest):
        if Path(name).exists():
            build.files.append(list(newest[name].values())[-1])
            if os.stat(name).st_mtime > build.files[-1].get("time", math.inf) + _ASSEMBLES:
                build.rewritten.append(name)
            continue
        stems = _stems(folder) if stems is None else stems
        for record in newest[name].values():
            if _TRIES.search(name) or stems.isdisjoint(map(_stem, (name, record.get("source", "")))):
                build.uncounted.append(name)
            else:
                build.files.append(record)
                build.moved.append(name)
    return build


def newest_place(path: Path | None = None) -> str:
    """The folder of the object that was recorded last; empty if there is none."""
    place = ""
    for record in _records(path or Path(path_of_record())):
        place = os.path.dirname(record["object"])
    return place


def _records(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    with path.open(encoding="utf-8") as file:
        for line in file:
            try:
                record = json.loads(line)
            except json.JSONDecodeError:  # a process was killed while it wrote
                continue
            yield _of_cache(record) if "text" in record else record


def _of_cache(line: dict[str, Any]) -> dict[str, Any]:
    """What the script records (`script.py`), with what is known of the text that the cache had."""
    try:
        facts = json.loads(Path(line["text"]).with_suffix(".json").read_bytes())
    except (OSError, ValueError):
        facts = {}
    when = {"time": line["time"]} if "time" in line else {}  # lines of older versions have none
    return {**facts, "object": place_of(line["object"], facts.get("source", ""), line["folder"]), "cached": True} | when


def _stem(name: str) -> str:
    return os.path.basename(name).partition(".")[0]


def _stems(folder: Path) -> set[str]:
    """Names of all files below a folder, without suffixes."""
    return {_stem(name) for _, _, names in os.walk(folder) for name in names} - {""}
