"""The chapters: folders beside `lab`, each with everything about one question.

A chapter is added by adding its folder and deleted by deleting it. What it declares is looked up by the names of its
modules: `rules.smk`, `settings.py`, `tables.py`, `numbers.py`, `summaries.py`, `stages/`, `claims.py` and `page/`; each
may be missing.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from pipeline.lab import shared_tables
from pipeline.lab.table import Table

FOLDER = Path(__file__).resolve().parents[1]
LAB = "lab"


@cache
def names() -> tuple[str, ...]:
    """Names of all chapters, sorted."""
    return tuple(sorted(path.parent.name for path in FOLDER.glob("*/__init__.py") if path.parent.name != LAB))


def files(name: str) -> list[Path]:
    """The file of this name of each chapter that has one."""
    return [path for chapter in names() if (path := FOLDER / chapter / name).is_file()]


def module_names(name: str) -> list[str]:
    """Name of the module of this name of each chapter that has one; `page.card` is in a folder `page`."""
    place = name.replace(".", "/")
    return [
        f"pipeline.{chapter}.{name}"
        for chapter in names()
        if (FOLDER / chapter / f"{place}.py").is_file() or (FOLDER / chapter / place / "__init__.py").is_file()
    ]


def modules(name: str) -> list[ModuleType]:
    """The same modules, imported."""
    return [import_module(module) for module in module_names(name)]


@cache
def stages() -> dict[str, str]:
    """Name of each stage -> its module: a file of a folder `stages` with a function `main`."""
    module_of: dict[str, str] = {}
    for path in sorted(FOLDER.glob("*/stages/*.py")):
        if "\ndef main(" in path.read_text():
            if path.stem in module_of:
                raise ValueError(f"two stages are named {path.stem}: rename {path}")
            module_of[path.stem] = f"pipeline.{path.parents[1].name}.stages.{path.stem}"
    return dict(sorted(module_of.items()))


@cache
def tables() -> dict[str, Table]:
    """Every table by its name: those of the chapters, and those that several chapters share.

    Raises ValueError for two tables of one name.
    """
    every: dict[str, Table] = {}
    for module in (shared_tables, *modules("tables")):
        for table in [each for each in vars(module).values() if isinstance(each, Table)]:
            if every.setdefault(table.name, table) is not table:
                raise ValueError(f"two tables are named {table.name}: rename that of {module.__name__}")
    return dict(sorted(every.items()))
