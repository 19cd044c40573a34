"""The candidates of a project: its files are compiled one by one, and their fit functions are cut out."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.before_allocation.compiling import CompileError, compiled
from benchmarks.before_allocation.cutting import CutError, Module
from benchmarks.before_allocation.sources import unpacked
from benchmarks.before_allocation.suitable import Candidate, UnfitError, candidate, large
from learned_schedulers.blocks.before_allocation.functions import functions
from learned_schedulers.blocks.before_allocation.llvm import Emitter, LlvmError

_HERE = Path(__file__).parent
_CODE = ("candidates.py", "compiling.py", "cutting.py", "normal.py", "sources.py", "suitable.py")


class Functions(NamedTuple):
    """What a project gives."""

    files: int
    refused: list[str]  # files that do not compile, with clang's words
    unfit: dict[str, int]  # large functions that are no candidates: reason -> how many
    candidates: list[tuple[str, str, Candidate]]  # kind, file


def of_project(name: str, project: dict[str, Any], cache: Path) -> Functions:
    """The candidates of a project, from the cache if its entry and this code are the same as then.

    Raises SourceError.
    """
    parts = [json.dumps(project, sort_keys=True), *((_HERE / file).read_text() for file in _CODE)]
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    path = cache / "candidates" / f"{name}-{key}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(json.dumps(_cut(project, unpacked(name, project, cache))))
        part.replace(path)
    files, refused, unfit, rows = json.loads(path.read_text())
    return Functions(files, refused, unfit, [(kind, file, Candidate(*row)) for kind, file, row in rows])


def _cut(project: dict[str, Any], folder: Path) -> Functions:
    refused: list[str] = []
    unfit: Counter[str] = Counter()
    rows: list[tuple[str, str, Candidate]] = []
    files = list(_files(project, folder))
    with Emitter("default", "haswell") as emitter:
        for kind, file in files:
            try:
                text = compiled(file, folder, project)
            except CompileError as error:
                refused.append(str(error))
                continue
            module = Module(text, project.get("zeros", ()))
            for function in functions(text):
                if large(function):
                    try:
                        rows.append((kind, file, candidate(module, function, emitter)))
                    except (CutError, UnfitError, LlvmError) as error:
                        unfit[str(error)] += 1
    return Functions(len(files), refused, dict(sorted(unfit.items())), rows)


def _files(project: dict[str, Any], folder: Path) -> Iterator[tuple[str, str]]:
    """Kinds and files, in a sequence that does not depend on the file system; a file belongs to its first kind."""
    visited: set[Path] = set()
    for kind, patterns in project["files"].items():
        for pattern in patterns:
            for path in sorted(folder.glob(pattern)):
                if path not in visited:
                    visited.add(path)
                    yield kind, str(path.relative_to(folder))
