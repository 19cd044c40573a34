"""apt-get with private lists: the system's lists stay unchanged."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pipeline.corpus.debian import download, private_lists, sources_of

DEB822 = "Types: deb\nURIs: http://mirror.invalid/debian\nSuites: bookworm bookworm-updates\nComponents: main\n"
ONE_LINE = "# a mirror\ndeb [arch=amd64] http://mirror.invalid/debian bookworm main\n\n"


def test_lists_of_source_packages() -> None:
    assert sources_of(DEB822, ".sources") == DEB822.replace("Types: deb", "Types: deb-src")
    both = DEB822.replace("Types: deb", "Types: deb deb-src")
    assert sources_of(both, ".sources") == sources_of(DEB822, ".sources")
    source = "deb-src [arch=amd64] http://mirror.invalid/debian bookworm main\n"
    assert sources_of(ONE_LINE, ".list") == source
    assert sources_of(ONE_LINE + source, ".list") == source


def system(folder: Path) -> Path:
    (folder / "sources.list.d").mkdir(parents=True)
    (folder / "sources.list").write_text(ONE_LINE)
    (folder / "sources.list.d" / "debian.sources").write_text(DEB822)
    (folder / "sources.list.d" / "notes.txt").write_text("not a list")
    return folder


def test_private_lists(tmp_path: Path) -> None:
    etc = system(tmp_path / "etc")
    (tmp_path / "index" / "sources").mkdir(parents=True)
    (tmp_path / "index" / "sources" / "old.list").write_text("deb-src gone")
    options = private_lists(tmp_path / "index", etc)
    assert {path.name for path in (tmp_path / "index" / "sources").iterdir()} == {"sources.list", "debian.sources"}
    assert (etc / "sources.list").read_text() == ONE_LINE
    for name in ("Dir::Etc::sourcelist=/dev/null", f"Dir::State::lists={tmp_path / 'index' / 'lists'}"):
        assert options[options.index(name) - 1] == "-o"


@pytest.mark.parametrize(("appears_after", "commands"), [(1, ["source"]), (3, ["source", "update", "source"])])
def test_the_index_is_updated_if_it_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, appears_after: int, commands: list[str]
) -> None:
    calls: list[str] = []

    def run(command: list[str], cwd: Path, **_: object) -> None:
        calls.append("update" if command[-1] == "update" else "source")
        if len(calls) == appears_after:
            (cwd / "p_1.orig.tar.gz").write_bytes(b"x")

    monkeypatch.setattr(subprocess, "run", run)
    (tmp_path / "here").mkdir()
    downloaded = download("p", "p_1.orig.tar.gz", tmp_path / "here", tmp_path / "index")
    assert downloaded == tmp_path / "here" / "p_1.orig.tar.gz"
    assert calls == commands


def test_another_version_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda command, cwd, **_: (cwd / "p_2.orig.tar.gz").write_bytes(b"x"))
    assert download("p", "p_1.orig.tar.gz", tmp_path, tmp_path / "index") is None
