"""Which source files a module is made of, so that an edit re-runs exactly what it touches."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def _path(module: str) -> Path | None:
    base = ROOT.joinpath(*module.split("."))
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def imports(path: Path) -> set[str]:
    """Names of the pipeline's modules that the file imports, absolute imports anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in found if name.split(".")[0] == "pipeline" and _path(name)}


def closure(*modules: str) -> list[str]:
    """Paths, relative to the repository, of the modules and of all they import, sorted.

    Raises ValueError for a module that does not exist.
    """
    pending, seen = list(modules), set()
    paths: set[str] = set()
    while pending:
        module = pending.pop()
        path = _path(module)
        if path is None:
            raise ValueError(f"no module named {module} in {ROOT}")
        if module not in seen:
            seen.add(module)
            paths.add(str(path.relative_to(ROOT)))
            pending.extend(imports(path))
    return sorted(paths)
