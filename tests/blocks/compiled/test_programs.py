"""Archives become folders with sources; no member is written outside."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from learned_schedulers.blocks.read.source_settings import CProgram
from learned_schedulers.blocks.read.sources import SourceError
from pipeline.corpus.compiled.archives import c_files, prepare


def tarball(path: Path, **members: str) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in members.items():
            member = tarfile.TarInfo(name.replace("__", "/"))
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


def program(**more: object) -> CProgram:
    pin = {"kind": "debian", "package": "p", "version": "1", "file": "f", "bytes": 1, "sha256": "0" * 64}
    return CProgram.model_validate({"artifact": pin, "sources": ["*.c", "src/*.c"], **more})


def test_the_top_folder_is_removed(tmp_path: Path) -> None:
    archive = tarball(tmp_path / "a", **{"top-1__b.c": "b", "top-1__src__a.c": "a", "top-1__src__a.h": "h"})
    prepare(program(), archive, tmp_path / "p")
    assert c_files(program(), tmp_path / "p") == ["b.c", "src/a.c"]
    assert c_files(program(exclude=["*a.c"]), tmp_path / "p") == ["b.c"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("p")] == ["p"]


def test_an_archive_without_a_top_folder(tmp_path: Path) -> None:
    prepare(program(), tarball(tmp_path / "a", **{"a.c": "a", "src__b.c": "b"}), tmp_path / "p")
    assert c_files(program(), tmp_path / "p") == ["a.c", "src/b.c"]


def test_copies_and_overlay(tmp_path: Path) -> None:
    (tmp_path / "laid" / "src").mkdir(parents=True)
    (tmp_path / "laid" / "src" / "config.h").write_text("ours")
    settings = program(copies={"src/new/x.h": "x.h.in"}, overlay=str(tmp_path / "laid"))
    prepare(settings, tarball(tmp_path / "a", **{"t__x.h.in": "x", "t__src__b.c": "b"}), tmp_path / "p")
    assert (tmp_path / "p/src/new/x.h").read_text() == "x"
    assert (tmp_path / "p/src/config.h").read_text() == "ours"


def test_a_folder_of_the_user_is_copied(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.c").write_text("a")
    settings = CProgram.model_validate({"artifact": {"kind": "folder", "path": "mine"}, "sources": ["*.c"]})
    prepare(settings, tmp_path / "mine", tmp_path / "p")
    assert c_files(settings, tmp_path / "p") == ["a.c"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"copies": {"a.h": "no.h"}}, "does not contain no.h"),
        ({"copies": {"../a.h": "a.c"}}, "leads out"),
        ({"overlay": "no/such"}, "no/such is not a folder"),
    ],
)
def test_missing_files_are_named(tmp_path: Path, more: dict[str, object], message: str) -> None:
    archive = tarball(tmp_path / "a", **{"t__a.c": "a"})
    with pytest.raises(SourceError, match=message):
        prepare(program(**more), archive, tmp_path / "p")


def test_damaged_archive_and_no_match(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"no archive")
    with pytest.raises(SourceError, match="cannot be unpacked"):
        prepare(program(), tmp_path / "a", tmp_path / "p")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="no C file matches"):
        c_files(program(), tmp_path / "empty")


def test_a_member_cannot_leave_the_folder(tmp_path: Path) -> None:
    for name in ("..__out.c", "__out.c"):
        with pytest.raises(SourceError, match=r"out\.c leads out"):
            prepare(program(), tarball(tmp_path / "a", **{name: "x"}), tmp_path / "deep" / "p")
    assert not list(tmp_path.rglob("out.c")) and not Path("/out.c").exists()


def test_links_become_copies_of_their_targets(tmp_path: Path) -> None:
    archive = tmp_path / "a"
    with tarfile.open(archive, "w:gz") as tar:
        for name, kind, target in [
            ("t/src/a.c", tarfile.REGTYPE, ""),
            ("t/b.c", tarfile.SYMTYPE, "src/a.c"),
            ("t/c.c", tarfile.LNKTYPE, "t/src/a.c"),
            ("t/d.c", tarfile.SYMTYPE, "../../outside.c"),
            ("t/e.c", tarfile.SYMTYPE, "e.c"),
            ("t/lib", tarfile.SYMTYPE, "src"),
        ]:
            member = tarfile.TarInfo(name)
            member.type, member.linkname, member.size = kind, target, 1 if kind == tarfile.REGTYPE else 0
            tar.addfile(member, io.BytesIO(b"a"))
    (tmp_path / "outside.c").write_text("secret")
    prepare(program(), archive, tmp_path / "p")
    assert c_files(program(), tmp_path / "p") == ["b.c", "c.c", "src/a.c"]
    assert all((tmp_path / "p" / name).read_text() == "a" for name in ("b.c", "c.c", "src/a.c"))
    assert not any(path.is_symlink() for path in (tmp_path / "p").rglob("*"))
