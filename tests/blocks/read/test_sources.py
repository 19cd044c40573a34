from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from learned_schedulers.blocks.read.sources import SourceError, distribute, read_program
from tests.blocks.read.corpora import corpus

ELF = b"\x7fELF"


WHEEL = {
    "kind": "wheel",
    "package": "thing",
    "version": "1",
    "platform": "x",
    "python_version": "35",
    "abi": "x",
    "bytes": 1,
    "sha256": "0" * 64,
    "include": ["thing/lib/**"],
}


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "qt"
    with zipfile.ZipFile(path, "w") as pack:
        pack.writestr("thing/binding.so", ELF + bytes(50))
        pack.writestr("thing/lib/readme.txt", "not ELF")
        for name, size in (("d", 10), ("a", 40), ("deep/c", 30), ("b", 35)):
            pack.writestr(f"thing/lib/{name}.so", ELF + bytes(size))
    return path


def test_largest_first_to_the_lightest_shard(wheel: Path) -> None:
    frame = distribute(corpus({"qt": WHEEL}), {"qt": wheel})
    assert list(frame[["program", "size_bytes", "shard"]].itertuples(index=False, name=None)) == [
        ("thing/lib/a.so", 44, 0),
        ("thing/lib/b.so", 39, 1),
        ("thing/lib/d.so", 14, 0),
        ("thing/lib/deep/c.so", 34, 1),
    ]


def test_reading_a_member(wheel: Path) -> None:
    source = corpus({"qt": WHEEL}).sources["qt"]
    assert read_program(source, wheel, "thing/lib/d.so") == ELF + bytes(10)


@pytest.mark.parametrize("damage", [lambda content: content[: len(content) // 2], lambda _: b"no zip at all"])
def test_damaged_wheel_is_named(wheel: Path, damage: object) -> None:
    wheel.write_bytes(damage(wheel.read_bytes()))
    with pytest.raises(SourceError, match=r"qt is damaged .*delete it"):
        distribute(corpus({"qt": WHEEL}), {"qt": wheel})


def test_damaged_member_is_named(wheel: Path) -> None:
    content = bytearray(wheel.read_bytes())
    content[content.rindex(ELF + bytes(40)) + 20] ^= 1
    wheel.write_bytes(bytes(content))
    with pytest.raises(SourceError, match="qt is damaged"):
        read_program(corpus({"qt": WHEEL}).sources["qt"], wheel, "thing/lib/a.so")


def test_several_sources(wheel: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text(json.dumps([{"path": "x/y.o", "size_bytes": 100, "sha256": "0" * 64}]))
    frame = distribute(
        corpus({"qt": WHEEL, "mine": {"kind": "files", "include": ["x/*"]}}), {"qt": wheel, "mine": tmp_path / "mine"}
    )
    assert frame["source"].tolist() == ["mine"] + ["qt"] * 4
    assert frame.loc[0, ["program", "artifact"]].tolist() == ["x/y.o", "x/y.o"]


def test_nothing_matches(wheel: Path) -> None:
    with pytest.raises(SourceError, match="no source contains an ELF file"):
        distribute(corpus({"qt": WHEEL | {"include": ["other/**"]}}), {"qt": wheel})
