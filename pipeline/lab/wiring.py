"""Which modules may import which, and the source files that a module depends on: an edit re-runs what imports it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY, LABORATORY, LAB = "learned_schedulers", "pipeline", "pipeline.lab"
# Rooms of the library. A room may import itself and rooms of a lower rank; the wings have equal ranks and never meet.
RANKS: dict[str, int] = {
    "files": 0,
    "section": 0,
    "public": 0,
    "kernel_arrays": 0,
    "seccomp": 0,
    "outside_methods": 0,
    "method_settings": 1,
    "methods": 2,
    "statistics": 1,
    "figures": 1,
    "operators": 1,
    "learning": 1,
    "blocks.read.forms": 2,
    "blocks.dag": 3,
    "blocks.read": 4,
    "blocks.processors": 5,
    "blocks.run": 5,
    "blocks.before_allocation": 6,
    "blocks.problems": 6,
    "blocks.models": 7,
    "blocks.method_settings": 7,
    "blocks.methods": 8,
    "blocks.order": 9,
    "graphs.problems": 2,
    "graphs.devices": 3,
    "graphs.environment": 3,
    "graphs.read": 4,
    "graphs.compilers": 5,
    "graphs.models": 6,
    "graphs.method_settings": 7,
    "graphs.methods": 8,
    "graphs.plans": 9,
    "projects.problem": 2,
    "projects.judge": 3,
    "projects.read": 4,
    "projects.models": 6,
    "projects.method_settings": 6,
    "projects.methods": 7,
    "bench": 10,
    "conformance": 11,
    "tuning": 11,
    "command": 12,
}
WINGS = ("blocks", "graphs", "projects")
# Classes of methods' settings. Jobs have their values as a param, with defaults: an edit of the text re-runs nothing.
SETTINGS = frozenset(f"{LIBRARY}.{wing}.method_settings" for wing in WINGS)
# Packages that import a name when it is first used (public.py): who imports a module of them runs nothing else.
OFFERING = tuple(f"{LIBRARY}.{package}" for package in ("operators", "learning", *WINGS))
OFFER = f"{LIBRARY}.public"  # all that the library's own package imports; no module here uses the names that it offers


def room(module: str) -> str:
    """The room of a module: `learned_schedulers.blocks.dag.x` -> `blocks.dag`, `pipeline.lab.x` -> `pipeline.lab`."""
    package, *parts = module.split(".")
    if package == LABORATORY:
        return ".".join([package, *parts[:1]])
    prefixes = [".".join(parts[:length]) for length in (3, 2, 1)]
    return next((prefix for prefix in prefixes if prefix in RANKS), parts[0] if parts else "")


def may_import(importer: str, imported: str) -> bool:
    """Whether a module may import another one of the repository.

    The library knows nothing of the laboratory. `lab` and chapters import the library; a chapter imports `lab`, and
    another chapter only by its tables.
    """
    mine, other = room(importer), room(imported)
    if mine == other or other in ("", *WINGS):  # the packages of the wings hold docstrings alone
        return True
    if not mine:  # the library as a whole offers names of its packages
        return True
    if mine in WINGS:  # the package offers names of its rooms
        return other.split(".")[0] == mine or other == "public"
    if importer.startswith(LIBRARY):
        wings = {mine.split(".")[0], other.split(".")[0]} & {*WINGS}
        return other in RANKS and RANKS[other] < RANKS[mine] and len(wings) < 2
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


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below a node. No expression contains one, and most nodes are expressions."""
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        for statement in getattr(node, block, ()):
            yield statement
            yield from _statements(statement)


@cache
def imports(path: Path) -> frozenset[str]:
    """Names of the repository's modules that the file imports, by absolute imports anywhere in it.

    Files must not change while this process runs.
    """
    modules: set[str] = set()
    for node in _statements(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            modules |= names
            if node.module not in OFFERING or not all(map(_path, names)):
                modules.add(node.module)
    return frozenset(name for name in modules if name.split(".")[0] in (LIBRARY, LABORATORY) and _path(name))


def closure(*modules: str) -> list[str]:
    """Sorted paths, relative to the repository, of the modules and of all their imports; of SETTINGS only if named.

    Raises ValueError for a module that does not exist.
    """
    pending = [LABORATORY, *modules]  # importing a module runs the package's own lines first
    visited = {*SETTINGS} - {*modules}
    paths: set[str] = set()
    while pending:
        module = pending.pop()
        path = _path(module)
        if path is None:
            raise ValueError(f"no module named {module} in {ROOT}")
        if module not in visited:
            visited.add(module)
            paths.add(str(path.relative_to(ROOT)))
            pending.extend(imports(path) if module != LIBRARY else [OFFER])
    return sorted(paths)


if __name__ == "__main__":
    print(describe(), end="")
