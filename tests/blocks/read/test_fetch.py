from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from learned_schedulers.blocks.read.source_settings import FilesSource, NpmSource, WheelSource
from pipeline.corpus.fetch import FetchError, fetch

CONTENT = b"\x7fELF, or so it says"
Run = Callable[..., subprocess.CompletedProcess[bytes]]


def wheel(content: bytes = CONTENT, **change: object) -> WheelSource:
    pinned: dict[str, object] = {
        "kind": "wheel",
        "package": "thing",
        "version": "1.0",
        "platform": "manylinux1_x86_64",
        "python_version": "35",
        "abi": "cp35m",
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "include": ["**"],
    }
    return WheelSource.model_validate(pinned | change)


def npm(member: str = "package/bin/thing") -> NpmSource:
    digest = hashlib.sha256(CONTENT).hexdigest()
    return NpmSource(kind="npm", package="thing", version="1.0", bytes=len(CONTENT), sha256=digest, include=[member])


class Network:
    """Stand-in for pip and npm: it writes a file to the working folder and records the commands."""

    def __init__(self, name: str, content: bytes, fault: Exception | None = None) -> None:
        self.name, self.content, self.fault, self.commands = name, content, fault, list[list[str]]()

    def __call__(self, command: list[str], cwd: Path, **_: object) -> None:
        self.commands.append(command)
        (cwd / self.name).write_bytes(self.content)
        if self.fault is not None:
            raise self.fault


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Network]:
    def install(*arguments: object) -> Network:
        stand_in = Network(*arguments)
        monkeypatch.setattr(subprocess, "run", stand_in)
        return stand_in

    return install


def cached_files(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir()) if cache.exists() else []


def test_downloaded_once(network: Callable[..., Network], tmp_path: Path) -> None:
    manager = network("thing.whl", CONTENT)
    cache, source = tmp_path / "cache", wheel()
    for name in ("one", "two"):
        fetch(source, tmp_path / name, cache)
        assert (tmp_path / name).read_bytes() == CONTENT
    assert len(manager.commands) == 1
    assert {"thing==1.0", "--no-deps", "cp35m", "manylinux1_x86_64"} <= set(manager.commands[0])
    assert cached_files(cache) == [source.sha256]


def test_damaged_cache_is_replaced(network: Callable[..., Network], tmp_path: Path) -> None:
    network("thing.whl", CONTENT)
    cache, source = tmp_path / "cache", wheel()
    cache.mkdir()
    (cache / source.sha256).write_bytes(CONTENT[:-1] + b"?")
    (cache / f".{source.sha256}.part").mkdir()  # of a killed process
    (cache / f".{source.sha256}.part" / "half.whl").write_bytes(CONTENT[:3])
    fetch(source, tmp_path / "out", cache)
    assert (tmp_path / "out").read_bytes() == CONTENT
    assert cached_files(cache) == [source.sha256]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (CONTENT[:-1], f"expected {len(CONTENT)} bytes, found {len(CONTENT) - 1}"),
        (CONTENT[::-1], f"found {hashlib.sha256(CONTENT[::-1]).hexdigest()}"),
    ],
    ids=["size", "checksum"],
)
def test_wrong_file_is_deleted(network: Callable[..., Network], tmp_path: Path, content: bytes, message: str) -> None:
    network("thing.whl", content)
    (tmp_path / "out").write_bytes(b"what was there before")
    with pytest.raises(FetchError, match=message):
        fetch(wheel(), tmp_path / "out", tmp_path / "cache")
    assert cached_files(tmp_path / "cache") == []
    assert (tmp_path / "out").read_bytes() == b"what was there before"
    assert not list(tmp_path.glob(".out*"))


@pytest.mark.parametrize("source", [wheel(), npm()], ids=["wheel", "npm"])
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (subprocess.CalledProcessError(1, "it"), "download failed .*exit code 1.*check the network"),
        (FileNotFoundError("it"), "is not installed"),
    ],
    ids=["no network", "no program"],
)
def test_failure_of_the_package_manager(
    network: Callable[..., Network], tmp_path: Path, source: WheelSource | NpmSource, fault: Exception, message: str
) -> None:
    network("thing.whl", CONTENT[:5], fault)
    with pytest.raises(FetchError, match=message):
        fetch(source, tmp_path / "out", tmp_path / "cache")
    assert cached_files(tmp_path / "cache") == []
    assert not (tmp_path / "out").exists()


def package(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as pack:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            pack.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def test_member_of_an_npm_package(network: Callable[..., Network], tmp_path: Path) -> None:
    content = package(**{"package/bin/thing": CONTENT, "../../escaped": b"never unpacked"})
    manager = network("thing-1.0.tgz", content)
    fetch(npm(), tmp_path / "a" / "out", tmp_path / "a" / "cache")
    assert manager.commands == [["npm", "pack", "thing@1.0"]]
    assert (tmp_path / "a" / "out").read_bytes() == CONTENT
    assert not list(tmp_path.rglob("escaped"))


def test_a_member_that_unpacks_to_more_than_is_pinned_does_not_fill_the_disk(
    network: Callable[..., Network], tmp_path: Path
) -> None:
    network("thing-1.0.tgz", package(**{"package/bin/thing": bytes(1 << 24)}))
    with pytest.raises(FetchError, match=f"expected {len(CONTENT)} bytes, found {len(CONTENT) + 1}; "):
        fetch(npm(), tmp_path / "out", tmp_path / "cache")
    assert not (tmp_path / "out").exists() and cached_files(tmp_path / "cache") == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (package(other=CONTENT), "the package does not contain package/bin/thing"),
        (package(other=CONTENT)[:20], "damaged"),
    ],
    ids=["another member", "cut off"],
)
def test_npm_package_without_the_member(
    network: Callable[..., Network], tmp_path: Path, content: bytes, message: str
) -> None:
    network("thing-1.0.tgz", content)
    with pytest.raises(FetchError, match=message):
        fetch(npm(), tmp_path / "out", tmp_path / "cache")


def test_files_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name, content in (("b.so", CONTENT), ("deep/a.o", CONTENT), ("notes.txt", b"not ELF"), ("empty", b"")):
        (tmp_path / name).write_bytes(content)
    fetch(FilesSource(kind="files", include=[f"{tmp_path}/**", f"{tmp_path}/*.so"]), tmp_path / "out.json")
    listing = json.loads((tmp_path / "out.json").read_text())
    assert [entry["path"] for entry in listing] == [f"{tmp_path}/b.so", f"{tmp_path}/deep/a.o"]
    assert listing[0] | {"path": ""} == {
        "path": "",
        "size_bytes": len(CONTENT),
        "sha256": hashlib.sha256(CONTENT).hexdigest(),
    }


def test_no_file_matches(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match=r"no ELF file matches .*nothing/\*"):
        fetch(FilesSource(kind="files", include=[f"{tmp_path}/nothing/*"]), tmp_path / "out.json")
    assert not (tmp_path / "out.json").exists()
