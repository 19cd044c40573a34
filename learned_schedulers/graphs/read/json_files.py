"""JSON that a user supplies: parsed whole, and checked against a schema; faults name the file and the place in it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from learned_schedulers.files import content, printable

_LARGEST = 2**28  # bytes of a file; a workload of 100,000 nodes takes a tenth of them
_NAMES = ("id", "name", "sourceId", "destId", "source", "target")  # keys that say which part of a list has the fault


class Part(BaseModel):
    """A part of a file; keys that no schema has are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


Kind = TypeVar("Kind", bound=Part)


def json_of(path: Path) -> object:
    """What the file has. Raises ValueError that names it if it cannot be read, is too large, or is not JSON."""
    file_content = content(path, _LARGEST)
    try:
        return json.loads(file_content)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: this is not complete JSON: {error}; write the file again") from error
    except RecursionError as error:
        raise ValueError(f"{path}: brackets are nested too deeply; write the file again") from error
    except UnicodeDecodeError as error:
        line = _line(error.object, error.start)
        raise ValueError(f"{path}, line {line}: this is not UTF-8: {error.reason}; write the file again") from error
    except ValueError as error:  # Python converts no integer of so many digits
        number = re.search(rb"\d{1000,}", file_content)
        line = _line(file_content, number.start() if number else 0)
        raise ValueError(f"{path}, line {line}: a number has too many digits; correct it") from error


def _line(file_content: bytes, position: int) -> int:
    return file_content.count(b"\n", 0, position) + 1


def checked(kind: type[Kind], parsed: object, path: Path) -> Kind:
    """The parts of a file. Raises ValueError that names the file and the first fault."""
    try:
        return kind.model_validate(parsed)
    except ValidationError as error:
        fault = error.errors()[0]
        reason = fault["msg"].partition(" or instance of ")[0]  # a class of ours, which no file has
        raise ValueError(f"{path}: {printable(_location(parsed, fault['loc']))}: {reason}; correct it") from error


def _location(parsed: object, keys: tuple[int | str, ...]) -> str:
    """Where a fault is in the file, with the names of the part of a list that has it, if it has names."""
    words = ".".join(str(key) for key in keys) or "(whole file)"
    part = parsed
    for key in keys:
        is_there = isinstance(part, dict) or (isinstance(part, list) and isinstance(key, int) and key < len(part))
        part = part.get(key) if isinstance(part, dict) else part[key] if is_there else None  # type: ignore[index]
        if isinstance(part, dict) and isinstance(key, int):
            names = [f"{name} {str(part[name])[:40]}" for name in _NAMES if name in part]
            return f"{words} ({', '.join(names)})" if names else words
    return words
