"""Functions with large blocks, cut out of real projects and made by a generator, each as a module of LLVM's code.

    python -m benchmarks.before_allocation /tmp/functions          # fetches, compiles and cuts; half an hour at first
    python -m benchmarks.before_allocation /tmp/functions --only fftw3

`projects.yaml` pins the sources (Debian's) and says which files of which kind are compiled, and to which set a project
belongs: no project is in two. It writes a file NAME.ll for each function, and `functions.csv`. The list of functions is
frozen: `functions.csv` beside this file is committed, and each line that differs from it is printed; --freeze writes it
anew. Of the projects, nothing but the configure scripts that `projects.yaml` names is executed.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
import yaml
from tqdm import tqdm

from benchmarks.before_allocation import choosing, generated, table
from benchmarks.before_allocation.candidates import Functions, of_project
from benchmarks.before_allocation.duplicates import mask
from benchmarks.before_allocation.sources import SourceError

PROJECTS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("projects.yaml").read_text())
_COUNTS = {"training": 300, "development": 60, "test": 160}  # functions of projects
_MOST = {"training": 25, "development": 25, "test": 40}  # of a project
_LONGEST = 60  # letters of a function's name in the name of its file
_GENERATED = {"training": 60, "development": 20}


def main(
    output: Annotated[Path, typer.Argument(help="Folder of the functions; it is written anew.")],
    cache: Annotated[Path, typer.Option(help="Folder of archives, sources and candidates.")] = Path("/tmp/functions"),
    only: Annotated[list[str] | None, typer.Option(help="These projects alone.")] = None,
    seed: Annotated[int, typer.Option(help="Of the choice and of the generator.")] = 0,
    freeze: Annotated[bool, typer.Option(help="Write the frozen list anew.")] = False,
) -> None:
    """Build the functions, and compare them with the frozen list."""
    texts: dict[str, str] = {}
    entries: list[tuple[table.Entry, str]] = []
    for name in tqdm(only or PROJECTS, "projects"):
        try:
            functions = of_project(name, PROJECTS[name], cache)
        except SourceError as error:
            tqdm.write(f"{name}: {error}", sys.stderr)
            continue
        tqdm.write(_summary(name, functions))
        for entry, text in _entries(name, functions):
            texts[entry.name] = text
            entries.append((entry, mask(text, entry.signature)))
    chosen = _chosen(entries, seed)
    for kind, count in _GENERATED.items():
        rng = np.random.default_rng([seed, table.SETS.index(kind)])
        for function in generated.functions(kind, count, rng):
            texts[function.name] = function.text
            chosen.append(generated.entry(function, kind))
    _write(output, chosen, texts)
    if freeze:
        table.write(chosen, table.FROZEN)
    differing = table.differences(table.read(), chosen)
    print(f"{len(chosen)} functions in {output}; {len(differing)} differ from functions.csv", *differing, sep="\n")
    sys.exit(bool(differing))


def _summary(name: str, functions: Functions) -> str:
    """A line about a project, and a line for each file that does not compile."""
    unfit = ", ".join(f"{count} {reason}" for reason, count in functions.unfit.items())
    refused = f"{len(functions.refused)} of {functions.files} files do not compile"
    line = f"{name}: {len(functions.candidates)} candidates; {refused}; not fit: {unfit or 'none'}"
    return "\n".join([line, *(f"  {reason}" for reason in functions.refused)])


def _entries(name: str, functions: Functions) -> list[tuple[table.Entry, str]]:
    """Rows and texts of a project's candidates; a name that two functions share is given to the first."""
    project = PROJECTS[name]
    entries: dict[str, tuple[table.Entry, str]] = {}
    for kind, file, candidate in functions.candidates:
        entry = table.Entry(
            name=f"{name}.{Path(file).stem}.{_short(candidate.function)}",
            set=project["set"],
            kind=kind,
            project=name,
            version=project["source"]["version"],
            file=file,
            function=candidate.function,
            signature=candidate.signature,
            block_instructions=candidate.block_instructions,
            instructions=candidate.instructions,
            sha256=table.digest(candidate.text),
        )
        entries.setdefault(entry.name, (entry, candidate.text))
    return list(entries.values())


def _short(function: str) -> str:
    """A name for a file; those of C++ are too long."""
    return function if len(function) <= _LONGEST else f"{function[:_LONGEST]}.{table.digest(function)[:8]}"


def _chosen(entries: list[tuple[table.Entry, str]], seed: int) -> list[table.Entry]:
    distinct = choosing.distinct(entries)
    chosen: list[table.Entry] = []
    for kind, count in _COUNTS.items():
        rng = np.random.default_rng([seed, 10 + table.SETS.index(kind)])
        members = [entry for entry in distinct if entry.set == kind]
        chosen += choosing.chosen(members, count, _MOST[kind], rng)
    return chosen


def _write(output: Path, entries: list[table.Entry], texts: dict[str, str]) -> None:
    """The folder, whole or not at all."""
    part = output.with_name(f"{output.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    for entry in entries:
        (part / f"{entry.name}.ll").write_text(texts[entry.name])
    table.write(entries, part / "functions.csv")
    shutil.rmtree(output, ignore_errors=True)
    part.rename(output)


if __name__ == "__main__":
    typer.run(main)
