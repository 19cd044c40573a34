"""The reference of the library's public Python names as Markdown: from the text of its modules; nothing is run."""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Iterator
from pathlib import Path

from pipeline.lab.wiring import LIBRARY, OFFERING, ROOT

# Packages that offer names of their modules, and those in which the interface of methods stands.
PACKAGES = (*OFFERING, *(f"{LIBRARY}.{wing}.methods" for wing in ("blocks", "graphs", "projects")))
_Node = ast.ClassDef | ast.FunctionDef | ast.Assign | ast.AnnAssign


def reference() -> str:
    """A section for each package, and below it one for each of its public names. Raises ValueError: no docstring."""
    return "\n\n".join([_front(), *map(_package, PACKAGES)])


def _front() -> str:
    """What the library offers under its own name, by the packages that have the names."""
    path = ROOT / LIBRARY / "__init__.py"
    tree = ast.parse(path.read_text())
    offered: dict[str, list[str]] = {}
    for name, module in _offered(tree).items():
        offered.setdefault(module, []).append(f"`{name}`")
    lines = [f"- {', '.join(names)}: [{module}](#{module.replace('.', '')})" for module, names in offered.items()]
    return "\n\n".join([f"## {LIBRARY}", prose(ast.get_docstring(tree) or "", LIBRARY), "\n".join(lines)])


def _package(package: str) -> str:
    path = ROOT.joinpath(*package.split("."), "__init__.py")
    tree = ast.parse(path.read_text())
    parts = [f"## {package}", prose(ast.get_docstring(tree) or "", str(path.relative_to(ROOT)))]
    for name, (module, node) in sorted(_public(path, tree).items(), key=lambda item: item[0].lower()):
        parts += _described(name, module, node)
    return "\n\n".join(parts)


def _public(path: Path, tree: ast.Module) -> dict[str, tuple[Path, _Node]]:
    """Name -> its module and its node: of a package that offers names these, of another one those that it defines."""
    offered = {name: ROOT.joinpath(*module.split(".")).with_suffix(".py") for name, module in _offered(tree).items()}
    if not offered:
        return {name: (path, node) for name, node in _defined(path).items() if isinstance(node, ast.ClassDef)}
    return {name: (module, _defined(module)[name]) for name, module in offered.items()}


def _offered(tree: ast.Module) -> dict[str, str]:
    """Name -> the module from which a package that offers names has it."""
    return {
        alias.name: str(node.module)
        for block in tree.body
        if isinstance(block, ast.If)  # TYPE_CHECKING
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def _defined(path: Path) -> dict[str, _Node]:
    """The module's names at its top level; of several definitions the last one."""
    nodes: dict[str, _Node] = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            nodes[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            nodes |= {target.id: node for target in targets if isinstance(target, ast.Name)}
    return nodes


def _described(name: str, path: Path, node: _Node) -> Iterator[str]:
    """Heading, text of the definition and docstring of a public name."""
    file = path.relative_to(ROOT)
    place = f"{file}: {name}"
    yield f"### {name}"
    if isinstance(node, ast.Assign | ast.AnnAssign):
        lines = path.read_text().splitlines()
        yield _code("\n".join(lines[node.lineno - 1 : node.end_lineno]))
        above = lines[node.lineno - 2]
        yield prose(above.lstrip("# ") if above.startswith("#") else "", "")
    elif isinstance(node, ast.FunctionDef):
        yield _code(_signature(node))
        yield prose(ast.get_docstring(node), place)
    else:
        yield _code("\n".join([f"class {name}{_bases(node)}", *_fields(path, node)]))
        yield prose(ast.get_docstring(node), place)
        for member in node.body:
            if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                yield _code(_signature(member))
                yield prose(ast.get_docstring(member), "")  # an interface says it once
    yield f"In [{file}](../{file})."


def _signature(node: ast.FunctionDef) -> str:
    decorators = "".join(f"@{ast.unparse(decorator)}\n" for decorator in node.decorator_list)
    whole = f"def {node.name}({ast.unparse(node.args)}) -> {ast.unparse(node.returns) if node.returns else 'None'}"
    if len(whole) > 100:
        arguments = ast.unparse(node.args)
        whole = whole.replace(arguments, "\n    " + re.sub(r", (?=\*|\w+:)", ",\n    ", arguments) + "\n")
    return decorators + whole


def _bases(node: ast.ClassDef) -> str:
    return f"({', '.join(map(ast.unparse, node.bases))})" if node.bases else ""


def _fields(path: Path, node: ast.ClassDef) -> Iterator[str]:
    """The lines of a class's fields as they stand, with their comments, which give shapes and units."""
    lines = path.read_text().splitlines()
    for field in node.body:
        if isinstance(field, ast.AnnAssign) and not ast.unparse(field.target).startswith("_"):
            last = int(field.end_lineno or field.lineno)
            while last < len(lines) and lines[last].lstrip().startswith("#"):  # the comment goes on
                last += 1
            yield from lines[field.lineno - 1 : last]


def _code(text: str) -> str:
    return f"```python\n{text}\n```"


def prose(docstring: str | None, place: str) -> str:
    """A docstring as HTML; a list or an indented part keeps its lines. Raises ValueError if `place` has none."""
    if not docstring and place:
        raise ValueError(f"{place} is public and has no docstring: write one line on what it is")
    paragraphs = []
    for paragraph in re.split(r"\n\n+", docstring or ""):
        text = re.sub(r"`+([^`]+)`+", r"<code>\1</code>", html.escape(paragraph, quote=False))
        keeps = ' style="white-space: pre-wrap"' if re.search(r"^(?: |- )", paragraph, re.MULTILINE) else ""
        paragraphs.append(f"<p{keeps}>{text}</p>")
    return "\n".join(paragraphs)
