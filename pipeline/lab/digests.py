"""Digests of files: of Python code by its syntax tree, of other files by their bytes."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path


def of_file(path: Path) -> str:
    """SHA-256 of the file's bytes, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def of_source(path: Path) -> str:
    """SHA-256 of a module's syntax tree without docstrings; of other files as `of_file`.

    Comments, docstrings, blank lines and line breaks inside brackets do not change it. A tree has the same digest in
    every version of Python that parses it, because empty fields do not count.
    """
    if path.suffix != ".py":
        return of_file(path)
    return _of_module(path.read_text(), str(path))


def of_sources(paths: Iterable[str], root: Path = Path(".")) -> dict[str, str]:
    """Path, relative to `root`, -> `of_source`, sorted, without missing files."""
    return {path: of_source(root / path) for path in sorted(set(paths)) if (root / path).is_file()}


@cache  # dozens of published experiments have the same sources
def _of_module(text: str, name: str) -> str:
    return hashlib.sha256(repr(_shape(ast.parse(text, name))).encode()).hexdigest()


def _shape(node: object) -> object:
    if isinstance(node, list):
        return [_shape(item) for item in node]
    if not isinstance(node, ast.AST):
        return (type(node).__name__, repr(node))
    fields = {name: value for name, value in ast.iter_fields(node) if value is not None and value != []}
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        fields["body"] = node.body[ast.get_docstring(node, clean=False) is not None :]
    return (type(node).__name__, [(name, _shape(value)) for name, value in fields.items()])
