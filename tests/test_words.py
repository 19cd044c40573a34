"""Names say what a variable, function or field holds or does, not how it came; docs/glossary.md has the terms."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("learned_schedulers", "pipeline", "benchmarks", "examples", "tests")
VAGUE = {
    *("found", "held", "made", "known", "one", "ones", "own", "said", "told", "got", "kept", "tried", "taken", "given"),
    *("wanted", "seen", "asked", "done", "its", "what", "whose", "these", "those", "them", "this", "that", "here"),
    *("there", "thing", "things", "stuff", "tmp", "temp", "ret", "res", "val", "obj"),
}

FIXED = {  # names that files outside of the code have: weights, parameters
    "learned_schedulers/blocks/models/pointer.py": "seen",
    "learned_schedulers/graphs/method_settings.py": "told",
}


def bound(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Names that a module gives to something, and their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield (node.id if isinstance(node, ast.Name) else node.attr), node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname, node.lineno


def vague(source: str) -> list[tuple[str, int]]:
    """Vague names that a module gives, and their lines."""
    return [(name, line) for name, line in bound(ast.parse(source)) if name.strip("_") in VAGUE]


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_name_is_vague(folder: str) -> None:
    faults = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for name, line in vague(path.read_text())
        if FIXED.get(str(path.relative_to(ROOT))) != name
    ]
    assert not faults, "name these by what they hold:\n" + "\n".join(faults)


def test_every_kind_of_binding_is_looked_at() -> None:
    source = "import a as tmp\ndef made(found, *, known=1):\n    self._held = [one for one in found]\n    return rows"
    assert sorted(name for name, _ in vague(source)) == ["_held", "found", "known", "made", "one", "tmp"]
    assert not vague("def rows_of(blocks):\n    return [row.found for row in blocks]")
