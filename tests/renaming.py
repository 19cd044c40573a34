"""Published numbers stay current through a change of names and words: the new digests are taken over.

`python -m tests.renaming COMMIT_BEFORE`, in a clean checkout of the commit with the new names; half an hour. A
source's digest in a provenance.json is replaced where the source was current before, and either

- both versions have the same syntax tree but for names of ours, docstrings, help texts and messages of errors, or
- it is a source of an experiment on the tiny corpus (params.test.yaml) whose published tables are the same bytes before
  and now. Few experiments that have all such sources are run from both commits; none measures times.

A source that was older before keeps its digest, and its numbers stay marked.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml

from pipeline import digests
from pipeline.analysis.provenance import Provenance

ROOT = Path(__file__).parents[1]
_BESIDE = ("dag_verification", "imitation_evidence", "trials")  # published, and no experiments of params.test.yaml
_TIMED = ("hardware", "execution")  # tasks whose tables hold measured times
_NAMES = {"id", "arg", "attr", "name", "asname", "module"}  # fields of the syntax tree that hold a name
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def equal_but_for_names(before: str, now: str, ours: tuple[set[str], set[str]]) -> bool:
    """Whether two modules differ by names alone, mapped one to one, local ones in their scope; and by texts for people.

    Such texts are docstrings, values of `help=`, what an exception is raised with, and strings of three words or more.
    `ours`: names that the repository defines before and now; a name that is not local has to be among them, or it is a
    library's, and another function.
    """
    trees = [list(_walk(ast.parse(text), [])) for text in (before, now)]
    if len(trees[0]) != len(trees[1]):
        return False
    forwards: dict[object, object] = {}
    backwards: dict[object, object] = {}
    for old, new in zip(*trees, strict=True):
        if isinstance(old, _Name) and isinstance(new, _Name):
            if old.scope != new.scope:
                return False
            if old.scope < 0 and old.name != new.name and not (old.name in ours[0] and new.name in ours[1]):
                return False
            if forwards.setdefault(old.key, new.key) != new.key or backwards.setdefault(new.key, old.key) != old.key:
                return False
        elif old != new:
            return False
    return True


class _Name:
    """A name and its scope: the number of the function that it is local to, or -1."""

    def __init__(self, name: str, scope: int) -> None:
        self.name, self.scope, self.key = name, scope, (scope, name)


def _walk(node: object, scopes: list[tuple[int, set[str]]], counter: list[int] | None = None) -> Iterator[object]:
    """Everything that a syntax tree says, in order: names as `_Name`, all else by value."""
    counter = [0] if counter is None else counter
    if isinstance(node, list):
        items = [part for item in node for part in _assignments(item)]
        yield len(items)
        for item in items:
            yield from _walk(item, scopes, counter)
    elif not isinstance(node, ast.AST):
        yield repr(node)
    elif _is_text(node):
        yield "a text"
    elif isinstance(node, ast.Import | ast.ImportFrom):  # names are imported in the order of the alphabet
        yield sorted(alias.name for alias in node.names) if isinstance(node, ast.Import) else len(node.names)
        yield _Name(getattr(node, "module", None) or "", -1)
    else:
        yield type(node).__name__
        inner = scopes
        if isinstance(node, _SCOPES):
            counter[0] += 1
            inner = [*scopes, (counter[0], _locals(node))]
        for field, value in ast.iter_fields(node):
            if isinstance(value, str) and field in _NAMES:
                yield _Name(value, _scope(value, node, inner))
            elif isinstance(node, ast.Raise) or (isinstance(node, ast.keyword) and node.arg == "help"):
                yield from _walk(_without_texts(value), inner, counter)
            elif field == "body" and isinstance(value, list) and not isinstance(node, ast.Lambda):
                documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
                skipped = documented and ast.get_docstring(node, clean=False) is not None
                yield from _walk(value[int(skipped) :], inner, counter)
            else:
                yield from _walk(value, inner, counter)


def _is_text(node: ast.AST) -> bool:
    """Whether a string is for people: it has three words or more."""
    if isinstance(node, ast.JoinedStr):
        return any(_is_text(part) for part in node.values)
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) > 2


def _assignments(node: object) -> list[object]:
    """`a, b = x, y` as `a = x` and `b = y`, where no value reads a name that is assigned; anything else as it is."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            names = {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
            read = {part.id for value in values for part in ast.walk(value) if isinstance(part, ast.Name)}
            if len(targets) == len(values) and not names & read:
                return [ast.Assign([target], value) for target, value in zip(targets, values, strict=True)]
    return [node]


def _scope(name: str, node: ast.AST, scopes: list[tuple[int, set[str]]]) -> int:
    if isinstance(node, ast.Name | ast.arg):
        for number, names in reversed(scopes):
            if name in names:
                return number
    return -1


def _locals(scope: ast.AST) -> set[str]:
    """Names that are bound directly in a function, a lambda or a comprehension."""
    names: set[str] = set()
    pending = [child for child in ast.iter_child_nodes(scope)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        if not isinstance(node, _SCOPES):
            pending += ast.iter_child_nodes(node)
    return names


def defined(root: Path) -> set[str]:
    """Names that modules below `root` define: functions, classes, arguments, attributes, fields."""
    names: set[str] = set()
    for path in (path for folder in ("pipeline", "benchmarks") for path in (root / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.arg):
                names.add(node.arg)
            elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.add(node.id if isinstance(node, ast.Name) else node.attr)
            elif isinstance(node, ast.alias) and node.asname:
                names.add(node.asname)
    return names


class _Texts(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.Constant:
        return ast.Constant("")

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        return node


def _without_texts(value: object) -> object:
    return _Texts().visit(ast.parse(ast.unparse(value)).body[0]) if isinstance(value, ast.AST) else value


def taken_over(
    provenance: Provenance,
    before: dict[str, str],
    now: dict[str, str],
    proven: set[str],
    commit: str,
    changes: str = "names and words",
    evidence: str = "numbers unchanged",
) -> Provenance:
    """The provenance with the digests of `now` for sources that were current `before` and are `proven` to be equal.

    changes, evidence: what a note says of the sources and of the numbers.
    """
    if isinstance(provenance.sources, str):
        return provenance
    changed = {
        path: now[path]
        for path, digest in provenance.sources.items()
        if path in proven and digest == before.get(path) and now.get(path, digest) != digest
    }
    if not changed:
        return provenance
    note = f"{changes} of {len(changed)} sources changed in commit {commit}: digests taken over, {evidence}"
    return provenance.model_copy(update={"sources": provenance.sources | changed, "notes": [*provenance.notes, note]})


def checkout(commit: str, folder: Path) -> Path:
    """The files of a commit in a folder."""
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder


def tiny_sources(folder: Path, records: dict[Path, Provenance]) -> dict[str, set[str]]:
    """Sources of the published experiments that a checkout's params.test.yaml has, but for those that measure times."""
    experiments = yaml.safe_load((folder / "params.test.yaml").read_text())["experiments"]
    names = {name for name, settings in experiments.items() if settings["task"] not in _TIMED} | set(_BESIDE)
    by_name = {path.parent.name: record.sources for path, record in records.items()}
    return {name: set(sources) for name, sources in by_name.items() if name in names and isinstance(sources, dict)}


def covering(sources: dict[str, set[str]], unproven: set[str]) -> list[str]:
    """Few experiments with every unproven source that is any experiment's; sources: of each experiment."""
    names, remaining = [], set(unproven)
    while gains := {name: len(of_name & remaining) for name, of_name in sources.items() if of_name & remaining}:
        names.append(max(sorted(gains), key=lambda name: gains[name]))
        remaining -= sources[names[-1]]
    return names


def publish_tiny(folder: Path, names: list[str]) -> dict[str, dict[str, str]]:
    """Publish experiments of a checkout with the present params.test.yaml: experiment -> its tables -> SHA-256."""
    shutil.rmtree(folder / "reports/published")
    run_tiny(folder, [f"data/published/{name}.done" for name in names])
    published = [folder / "reports/published" / name for name in names]
    return {
        path.name: {table.name: digests.of_file(table) for table in sorted(path.glob("*.csv"))} for path in published
    }


def run_tiny(folder: Path, targets: list[str]) -> None:
    """Make files of a checkout on the tiny corpus, with the present params.test.yaml."""
    shutil.copy2(ROOT / "params.test.yaml", folder / "params.yaml")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(folder),
    }
    subprocess.run(["snakemake", "-j2", "--quiet", "all", "--", *targets], cwd=folder, env=environment, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", help="the commit before the change of names")
    arguments = parser.parse_args()
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    status = ["git", "status", "--porcelain", "--", "pipeline", "benchmarks", "rules", "params.test.yaml"]
    if subprocess.run(status, cwd=ROOT, check=True, capture_output=True).stdout:
        parser.error("sources differ from the commit: commit the new names first, so that they can be named")
    records = {path: Provenance.read(path) for path in sorted(ROOT.glob("reports/published/*/provenance.json"))}
    names = {name for record in records.values() if isinstance(record.sources, dict) for name in record.sources}
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        old, new = checkout(arguments.before, Path(first)), checkout("HEAD", Path(second))
        before, now = digests.of_sources(names, old), digests.of_sources(names, new)
        differing = {name for name in names if name in before and name in now and before[name] != now[name]}
        ours = defined(old), defined(new)
        proven = {name for name in differing if _is_equal(name, old, ours)}
        experiments = covering(tiny_sources(new, records), differing - proven)
        print(
            f"{len(differing)} sources differ, {len(proven)} of them by names alone; running {experiments} of both ..."
        )
        tables = publish_tiny(old, experiments), publish_tiny(new, experiments)
        for experiment, of_experiment in tables[1].items():
            if tables[0].get(experiment) == of_experiment:
                ran = Provenance.read(new / "reports/published" / experiment / "provenance.json").sources
                proven |= differing & set(ran)
            else:
                print(f"the tables of {experiment} on the tiny corpus differ: its sources are not taken over")
    for path, record in records.items():
        renewed = taken_over(record, before, now, proven, head[:9])
        if renewed is not record:
            path.write_text(renewed.text())
            print(f"{path.parent.name}: {renewed.notes[-1]}")
    unproven = sorted(differing - proven)
    print(f"{len(unproven)} are not proven, so that numbers made of them are older now: {unproven}")


def _is_equal(name: str, old: Path, ours: tuple[set[str], set[str]]) -> bool:
    return name.endswith(".py") and equal_but_for_names((old / name).read_text(), (ROOT / name).read_text(), ours)


if __name__ == "__main__":
    main()
