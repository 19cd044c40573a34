"""The notebooks of examples/, executed cell by cell; `python -m tests.notebooks` writes their outputs into them."""

from __future__ import annotations

import ast
import base64
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_output

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of its cells. Raises what a cell raises."""
    notebook, names = nbformat.read(path, 4), dict[str, Any]()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = list(_outputs(cell.source, names))
    return notebook


def _outputs(source: str, names: dict[str, Any]) -> Iterator[nbformat.NotebookNode]:
    """What a cell prints, and the value of its last line, as text and as a picture where it has one."""
    *lines, last = ast.parse(source).body
    shown = last.value if isinstance(last, ast.Expr) else None
    value = None
    with redirect_stdout(StringIO()) as printed:
        exec(compile(ast.Module(lines if shown else [*lines, last], []), "cell", "exec"), names)
        if shown:
            value = eval(compile(ast.Expression(shown), "cell", "eval"), names)
    if printed.getvalue():
        yield new_output("stream", text=printed.getvalue())
    if value is not None:
        data = {"text/plain": repr(value)}
        if hasattr(value, "_repr_png_"):
            data["image/png"] = base64.b64encode(value._repr_png_()).decode()
        yield new_output("execute_result", data)


if __name__ == "__main__":
    for path in NOTEBOOKS:
        nbformat.write(executed(path), path)
