"""docs/licences.md names every committed data file once, and every pinned download of the laboratory."""

from __future__ import annotations

import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from pipeline.lab.config.files import read

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs/licences.md").read_text()
# Texts that people wrote for this repository. Whatever else is committed is data, also of a suffix that is new.
WRITTEN = (
    ".py",
    ".md",
    ".rst",
    ".j2",
    ".yaml",
    ".toml",
    ".smk",
    ".sh",
    ".js",
    ".css",
    ".awk",
    ".lua",
    ".c",
    ".cpp",
    ".typed",
)
DATA = (".csv", ".ipynb", ".json", ".npz", ".parquet", ".png", ".safetensors", ".so", ".svg")


def committed() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.splitlines() if "/" in name and not name.startswith((".", "profiles/"))]


def rows() -> list[tuple[list[str], str]]:
    """(patterns of files, whether they are in the wheel) of each row about committed files."""
    table = TEXT[TEXT.index("## In git") : TEXT.index("## Downloaded")]
    cells = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| `")]
    assert all(len(row) == 6 for row in cells)
    return [(re.findall(r"`([^`]+)`", row[0]), row[4]) for row in cells]


def test_each_data_file_has_one_row_and_each_row_a_file() -> None:
    data = [name for name in committed() if not name.endswith((*WRITTEN, ".txt"))]
    assert len(data) > 500 and {Path(name).suffix for name in data} == set(DATA), "a new kind of file needs a look"
    named = {pattern: 0 for patterns, _ in rows() for pattern in patterns}
    for name in data:
        matching = [patterns for patterns, _ in rows() if any(fnmatch(name, pattern) for pattern in patterns)]
        assert len(matching) == 1, f"{name}: {len(matching)} rows of docs/licences.md"
        for pattern in matching[0]:
            named[pattern] += fnmatch(name, pattern)
    assert [pattern for pattern, count in named.items() if not count] == []


def test_the_wheel_has_the_rows_that_say_so() -> None:
    for patterns, wheel in rows():
        assert {pattern.startswith("learned_schedulers/") for pattern in patterns} == {wheel == "yes"}


def pinned(entry: Any) -> set[str]:
    """The packages of all entries with a sha256, at any depth."""
    if not isinstance(entry, dict):
        return set()
    named = {entry["package"]} if "sha256" in entry else set()
    return named.union(*map(pinned, entry.values()))


def test_each_pinned_download_of_the_laboratory_is_named() -> None:
    packages = pinned(read(ROOT / "params.yaml"))
    assert len(packages) > 1
    assert {package for package in packages if f"`{package}`" not in TEXT} == set()
