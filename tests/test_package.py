"""What people install: the sdist makes the wheel, and the wheel holds the library and nothing else."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from email import message_from_string
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from typer.testing import CliRunner

from learned_schedulers import __version__ as VERSION
from learned_schedulers.command.main import app

ROOT = Path(__file__).parents[1]
BESIDE = ["CHANGELOG.md", "CITATION.cff", "LICENSE", "MANIFEST.in", "README.md", "constraints.txt", "pyproject.toml"]


def committed(*paths: str) -> set[str]:
    listed = subprocess.run(["git", "ls-files", *paths], cwd=ROOT, check=True, capture_output=True, text=True)
    return set(listed.stdout.splitlines())


def built(kind: str, source: Path) -> Path:
    """An sdist or a wheel of a folder, made by its own build backend, without the network."""
    script = f"from setuptools import build_meta; print(build_meta.build_{kind}('dist'))"
    process = subprocess.run([sys.executable, "-c", script], cwd=source, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    return source / "dist" / process.stdout.splitlines()[-1]


@pytest.mark.slow
def test_the_sdist_makes_a_wheel_of_the_library_alone(tmp_path: Path) -> None:
    library = committed("learned_schedulers")
    for name in (*library, *BESIDE, "docs/licences.md", "tests/test_package.py"):
        (tmp_path / "clone" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / "clone" / name)
    subprocess.run(["tar", "-xf", built("sdist", tmp_path / "clone"), "-C", tmp_path], check=True)
    source = tmp_path / f"learned_schedulers-{VERSION}"
    beside = {path.name for path in source.iterdir()} - {"PKG-INFO", "setup.cfg", "learned_schedulers.egg-info"}
    assert beside == {*BESIDE, "docs", "learned_schedulers"}
    with ZipFile(built("wheel", source)) as wheel:
        names = {name for name in wheel.namelist() if not name.startswith(f"learned_schedulers-{VERSION}.dist-info/")}
        metadata = wheel.read(f"learned_schedulers-{VERSION}.dist-info/METADATA").decode()
        commands = wheel.read(f"learned_schedulers-{VERSION}.dist-info/entry_points.txt").decode()
    assert names == library
    fields = message_from_string(metadata)
    assert fields["Version"] == VERSION and fields["License-Expression"] == "Apache-2.0"
    assert fields.get_all("License-File") == ["LICENSE", "docs/licences.md"]
    assert "learned-schedulers = learned_schedulers.command.main:main" in commands


def test_one_version_everywhere() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0 and result.stdout == f"learned-schedulers {VERSION}\n"
    citation = (ROOT / "CITATION.cff").read_text()
    assert re.findall(r"^ *version: (.*)$", citation, re.MULTILINE) == [VERSION] * 2
    assert re.findall(r"^## (\d\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0] == VERSION


def test_the_environment_of_conda_has_the_same_versions() -> None:
    exact = {line for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}
    *_, by_pip = yaml.safe_load((ROOT / "profiles/conda.yaml").read_text())["dependencies"]
    assert set(by_pip["pip"]) == exact
