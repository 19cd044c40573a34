"""Files of all formats as sources of the corpus: their blocks are those of the same code as an object."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

from pipeline.corpus.every_format import Ingestion
from tests.blocks.read.corpora import corpus
from tests.trial.damaged_code import SUFFIXES, sound_files

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="GCC is not installed")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[bytes]]:
    return sound_files(tmp_path_factory.mktemp("sound"))


def ingested(folder: Path, files: dict[str, bytes], kind: str = "bhive") -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows of the tables `blocks` and `skipped`."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    rows = [(name, str(folder / name), len(content)) for name, content in files.items()]
    manifest = pd.DataFrame(rows, columns=["program", "artifact", "size_bytes"]).assign(source="mine")
    ingestion = Ingestion(corpus({"mine": {"kind": kind, "include": ["*"]}}, 1, "GCC: ", "GCC: "))
    runs = [run.to_pandas() for run in ingestion.runs(manifest)]
    return pd.concat(runs) if runs else pd.DataFrame({"masked_code": []}), ingestion.skipped()


def codes(rows: pd.DataFrame) -> set[bytes]:
    return set(rows["masked_code"])


def test_the_blocks_of_an_object_in_every_format(sound: dict[str, list[bytes]], tmp_path: Path) -> None:
    expected, _ = ingested(tmp_path, {"a.o": sound["object"][0]}, "files")
    assert len(expected) > 5
    files = {"a.o": sound["object"][0], "a.s": sound["assembly"][0], "a.sql": sound["sql"][1], "a.csv": sound["csv"][0]}
    files |= {"b.sql": sound["sql"][2]}
    for name, content in files.items():
        rows, skipped = ingested(tmp_path, {name: content})
        assert codes(rows) == codes(expected), name
        assert not len(skipped) and set(rows["program"]) == {name}
    for kind in ("data", "sql"):  # from text: other encodings of the same instructions may be shorter
        rows, skipped = ingested(tmp_path, {f"c{SUFFIXES[kind]}": sound[kind][0]})
        assert len(rows) == len(expected) and not len(skipped)


def test_the_members_of_an_archive(sound: dict[str, list[bytes]], tmp_path: Path) -> None:
    single = [codes(ingested(tmp_path, {"a.o": sound["object"][k]})[0]) for k in (0, 1)]
    rows, skipped = ingested(tmp_path, {"a.a": sound["archive"][0]})
    assert codes(rows) == single[0] | single[1] and not len(skipped)
    assert {section.split(":")[0] for section in rows["section"]} <= {
        f"a_member_with_a_long_name_{k}.o" for k in (0, 1)
    }


def test_intel_syntax(sound: dict[str, list[bytes]], tmp_path: Path) -> None:
    rows, _ = ingested(tmp_path, {"a.s": sound["assembly"][2].replace(b"\t.intel_syntax noprefix\n", b"")})
    assert len(rows) > 3


def test_what_cannot_be_used_is_skipped_by_name(sound: dict[str, list[bytes]], tmp_path: Path) -> None:
    dump = b"UPDATE code SET code_intel='foo rax';\nUPDATE code SET code_intel='';\n" + sound["sql"][0]
    files = {
        "a.s": b"\tfoo %rax\n", "b.gz": b"\x1f\x8b\x08\0", "c.a": b"!<arch>\nbroken", "d.o": sound["object"][0][:900],
        "e.sql": b"SELECT 1;", "f.data": sound["data"][0][:100], "g.xml": b"<block><instr>", "h.sql": dump,
    }  # fmt: skip
    rows, skipped = ingested(tmp_path, files)
    assert set(rows["program"]) == {"h.sql"}
    assert set(skipped["program"]) == set(files) and len(skipped) == len(files)
    assert (skipped["reason"].str.len() > 0).all() and (skipped["remedy"].str.len() > 0).all()
    reason = skipped.set_index("program")["reason"]
    assert reason["h.sql"].startswith("line 1: as says: no such instruction") and "gzip" in reason["b.gz"]


def test_other_sources_are_read_as_before(sound: dict[str, list[bytes]], tmp_path: Path) -> None:
    rows, skipped = ingested(tmp_path, {"a.s": sound["assembly"][0]}, "files")
    assert not len(rows) and list(skipped["program"]) == ["a.s"]
