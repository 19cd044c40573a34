"""Of a method's file, only the settings are executed, and they are what the imported file has."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from learned_schedulers import method_files
from learned_schedulers.blocks import method_settings as methods
from learned_schedulers.blocks.method_settings import MethodSettings
from learned_schedulers.graphs import method_settings as graph_methods
from learned_schedulers.projects import method_settings as project_methods
from learned_schedulers.section import Section

FILE = """
import some_package_that_is_missing
from learned_schedulers.blocks.method_settings import MethodSettings, asks
from typing import Annotated, Literal, get_args
Kind = Literal["a", "b"]
KINDS = get_args(Kind)

class Settings(MethodSettings):
    kind: Kind = KINDS[0]

raise SystemExit
"""


def test_the_rest_of_the_file_is_not_executed(tmp_path: Path) -> None:
    (tmp_path / "method.py").write_text(FILE)
    (tmp_path / "plain.py").write_text("import some_package_that_is_missing\n")
    kind = method_files.settings_in(tmp_path, "method", MethodSettings)
    assert kind.model_validate({"kind": "b"}).model_dump() == {"kind": "b"}
    assert method_files.settings_in(tmp_path, "plain", MethodSettings) is MethodSettings
    with pytest.raises(ValueError, match=r"no method 'other'; there are \['method', 'plain'\]"):
        method_files.settings_in(tmp_path, "other", MethodSettings)


@pytest.mark.parametrize(
    ("folder", "package", "default"),
    [
        (methods.FOLDER, "learned_schedulers.blocks.methods", methods.MethodSettings),
        (graph_methods.FOLDER, "learned_schedulers.graphs.methods", graph_methods.GraphMethodSettings),
        (project_methods.FOLDER, "learned_schedulers.projects.methods", project_methods.ProjectMethodSettings),
    ],
)
def test_they_are_the_settings_of_the_imported_file(folder: Path, package: str, default: type[Section]) -> None:
    for name in method_files.names(folder):
        imported = getattr(import_module(f"{package}.{name}"), "Settings", default)
        assert method_files.settings_in(folder, name, default).model_json_schema() == imported.model_json_schema()
