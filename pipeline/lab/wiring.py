"""Which modules may import which, and the source files that a module depends on: an edit re-runs what imports it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY, LABORATORY, LAB = "learned_schedulers", "pipeline", "pipeline.lab"
# Rooms of the library. A room may import itself and rooms of a lower rank; the wings have equal ranks and never meet.
RANKS: dict[str, int] = {
    "files": 0,
    "section": 0,
    "method_files": 0,
    "public": 0,
    "methods": 1,
    "figures": 1,
    "operators": 1,
    "learning": 1,
    "blocks.read": 2,
    "blocks.dag": 3,
    "blocks.processors": 4,
    "blocks.run": 4,
    "blocks.problems": 5,
    "blocks.models": 6,
    "blocks.method_settings": 6,
    "blocks.methods": 7,
    "blocks.order": 8,
    "graphs.problems": 2,
    "graphs.read": 3,
    "graphs.devices": 3,
    "graphs.environment": 3,
    "graphs.run": 4,
    "graphs.compilers": 4,
    "graphs.models": 5,
    "graphs.method_settings": 5,
    "graphs.methods": 6,
    "graphs.plans": 7,
    "command": 9,
}
WINGS = ("blocks", "graphs")
# Packages that import a name when it is first used (public.py): who imports a module of them runs nothing else.
OFFERING = tuple(f"{LIBRARY}.{package}" for package in ("operators", "learning", *WINGS))


def room(module: str) -> str:
    """The room of a module: `learned_schedulers.blocks.dag.effects` -> `blocks.dag`, `pipeline.lab.rows` -> `pipeline.lab`."""
    package, *parts = module.split(".")
    if package == LABORATORY:
        return ".".join([package, *parts[:1]])
    return ".".join(parts[: 2 if parts and parts[0] in WINGS else 1])


def may_import(importer: str, imported: str) -> bool:
    """Whether a module may import another one of the repository.

    The library knows nothing of the laboratory. `lab` and chapters import the library; a chapter imports `lab`, and
    another chapter only by its tables.
    """
    mine, other = room(importer), room(imported)
    if mine == other or not other:
        return True
    if importer.startswith(LIBRARY):
        return other in RANKS and RANKS[other] < RANKS[mine] and {mine.split(".")[0], other.split(".")[0]} != set(WINGS)
    return not other.startswith(LABORATORY) or other == LAB or imported == f"{other}.tables" or imported == LABORATORY


def describe() -> str:
    """The map of pipeline/README.md, from the first lines of the rooms: a Markdown table, library first."""
    rows = ["| room | holds |", "|---|---|"]
    library = [f"{LIBRARY}.{name}" for name in RANKS]
    chapters = sorted(f"{LABORATORY}.{path.parent.name}" for path in (ROOT / LABORATORY).glob("*/__init__.py"))
    for module in [*library, LAB, *(name for name in chapters if name != LAB)]:
        path = _path(module)
        if path is not None:
            summary = (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")[0].replace("\n", " ")
            file = f"{module.replace('.', '/')}{'/' if path.name == '__init__.py' else '.py'}"
            rows.append(f"| `{file}` | {summary} |")
    return "\n".join(rows) + "\n"


@cache
def _path(module: str) -> Path | None:
    base = ROOT.joinpath(*module.split("."))
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


@cache
def imports(path: Path) -> frozenset[str]:
    """Names of the repository's modules that the file imports, by absolute imports anywhere in it.

    Files must not change while this process runs.
    """
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            modules |= names
            if node.module not in OFFERING or not all(map(_path, names)):
                modules.add(node.module)
    return frozenset(name for name in modules if name.split(".")[0] in (LIBRARY, LABORATORY) and _path(name))


def closure(*modules: str) -> list[str]:
    """Sorted paths, relative to the repository, of the modules and of all their imports.

    Raises ValueError for a module that does not exist.
    """
    pending, visited = list(modules), set()
    paths: set[str] = set()
    while pending:
        module = pending.pop()
        path = _path(module)
        if path is None:
            raise ValueError(f"no module named {module} in {ROOT}")
        if module not in visited:
            visited.add(module)
            paths.add(str(path.relative_to(ROOT)))
            pending.extend(imports(path))
    return sorted(paths)


if __name__ == "__main__":
    print(describe(), end="")
