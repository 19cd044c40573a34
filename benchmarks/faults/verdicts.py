"""How a case ended: whether its bytes are those of the undisturbed run, and whether a message helps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, NamedTuple

Outcome = Literal["same bytes", "refused", "silent", "half file", "no remedy", "hang"]
# An ending that breaks the promise: each ends with the same bytes, or with a message that names file and remedy.
WRONG: tuple[Outcome, ...] = ("silent", "half file", "no remedy", "hang")
_ERROR = re.compile(r"^(?:error: |\w*(?:Error|Exception)\b|.*\bcannot be locked).*", re.MULTILINE)
_FILE = re.compile(r"[\w@.-]*/[\w@./-]+|\b\w[\w-]*\.(?:parquet|safetensors|json|csv|pt|db|sqlite|yaml|lock)\b")
_REMEDY = re.compile(
    r"(?:--unlock|\b(?:delete|free some space|make adopt|make unlock|run .* again|start again|wait for|restore|check "
    r"the|writable|put it back|stop it)\b)",
    re.IGNORECASE,
)
_LONGEST = 300  # characters of a message in the table


class Verdict(NamedTuple):
    """The end of a case."""

    outcome: Outcome
    commands: int
    message: str


def errors(text: str) -> list[str]:
    """The lines of an output that say what went wrong, the first one first."""
    return [line.strip() for line in _ERROR.findall(text)]


def first_error(text: str) -> str:
    """The first of these lines, a stage's own before Snakemake's; without one, the last line that is not empty."""
    lines = errors(text) or [line for line in text.splitlines() if line.strip()][-1:] or [""]
    return next((line for line in lines if line.lower().startswith("error: ")), lines[0])[:_LONGEST]


def helps(text: str) -> bool:
    """Whether an error names a file and a remedy; the lines after its first one count, too."""
    match = _ERROR.search(text)
    explanation = text[match.start() :] if match else ""
    return bool(_FILE.search(explanation) and _REMEDY.search(explanation))


def named_files(text: str, folder: Path) -> list[Path]:
    """Files that a message asks to delete and that exist in `folder`, without its code."""
    asking = [line for line in text.splitlines() if "delete" in line]
    names = (name.rstrip(".") for line in asking for name in _FILE.findall(line))
    paths = [folder / name for name in dict.fromkeys(names)]
    inside = [path for path in paths if path.is_relative_to(folder)]  # a traceback names files of packages, too
    return [path for path in inside if path.is_file() and path.relative_to(folder).parts[0] in ("data", ".cache")]
