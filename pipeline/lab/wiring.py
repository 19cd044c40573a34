"""The source files that a module depends on, so that an edit re-runs exactly the jobs that it affects."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# A room may import itself and rooms of a lower rank. The two wings have equal ranks and never import each other.
RANKS: dict[str, int] = {
    "schemas": 0,
    "config": 0,
    "replacing": 0,
    "tables": 1,
    "wiring": 1,
    "digests": 1,
    "places": 1,
    "recovery": 1,
    "trial": 1,
    "checksums": 2,
    "dvcfile": 3,
    "operators": 2,
    "learning": 2,
    "methods": 2,
    "blocks.corpus": 3,
    "blocks.dag": 4,
    "blocks.compiled": 5,
    "blocks.execution": 5,
    "blocks.latency": 5,
    "blocks.formats": 6,
    "blocks.problems": 6,
    "blocks.models": 7,
    "blocks.schedulers": 8,
    "blocks.ordering": 9,
    "graphs.problems": 3,
    "graphs.corpus": 4,
    "graphs.devices": 4,
    "graphs.environment": 4,
    "graphs.execution": 5,
    "graphs.compilers": 5,
    "graphs.models": 6,
    "graphs.schedulers": 7,
    "graphs.plans": 8,
    "analysis": 10,
    "report": 11,
    "stages": 12,
    "command": 13,
}
WINGS = tuple(sorted({room.split(".")[0] for room in RANKS if "." in room}))


def room(module: str) -> str:
    """The room of a module of the pipeline: `learned_schedulers.blocks.dag.effects` -> `blocks.dag`."""
    _, *parts = module.split(".")
    return ".".join(parts[: 2 if parts and parts[0] in WINGS else 1])


def may_import(importer: str, imported: str) -> bool:
    """Whether a module of room `importer` may import one of room `imported`."""
    return imported == importer or (
        RANKS[imported] < RANKS[importer] and {importer.split(".")[0], imported.split(".")[0]} != set(WINGS)
    )


def describe() -> str:
    """The map of pipeline/README.md, from the first lines of the rooms: a Markdown table, lowest rank first."""
    rows = ["| rank | room | holds |", "|---:|---|---|"]
    for name, rank in RANKS.items():
        path = _path(f"pipeline.{name}")
        if path is not None:
            summary = (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")[0].replace("\n", " ")
            file = f"{name.replace('.', '/')}{'/' if path.name == '__init__.py' else '.py'}"
            rows.append(f"| {rank} | `{file}` | {summary} |")
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
    """Names of the pipeline's modules that the file imports, by absolute imports anywhere in it.

    Files must not change while this process runs.
    """
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            modules |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(name for name in modules if name.split(".")[0] == "pipeline" and _path(name))


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
