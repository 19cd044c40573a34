"""What was damaged below data/ is found before it is read: any bit, any truncation, of any kind of file."""

import errno
import json
from pathlib import Path

import pytest

from pipeline.corpus.tables import MANIFEST, REASONS
from pipeline.lab import checksums, tables
from pipeline.lab.checksums import DamagedError, files_below, record, recorded, renew, verify
from pipeline.lab.stages.checking import checked
from tests.trial.damage import flip, truncate


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def table() -> Path:
    path = Path("data/twins.parquet")
    rows = [("reasons", "a", "mov", 3, "nop")]
    tables.write_rows([row[1:] for row in rows], REASONS, path)
    return path


def listing() -> Path:
    path = Path("data/raw/tiny")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps([{"path": "a.so", "size_bytes": 3}]))
    return path


def reading(path: Path) -> None:
    """A stage that reads the file."""

    def main(source: Path) -> None:
        source.read_bytes()

    checked(main)(source=path)


@pytest.mark.parametrize("make", [table, listing])
def test_every_flipped_bit_and_every_truncation_is_found(make) -> None:  # type: ignore[no-untyped-def]
    path = make()
    record(path)
    whole = path.read_bytes()
    reading(path)
    for bit in range(8 * len(whole)):
        flip(path, bit)
        with pytest.raises(DamagedError, match=rf"{path}: the file is damaged.*delete the file"):
            reading(path)
        flip(path, bit)
    for size in range(len(whole)):
        truncate(path, size)
        with pytest.raises(DamagedError, match="bytes were written"):
            reading(path)
        path.write_bytes(whole)
    reading(path)


def test_a_stage_records_what_it_wrote_and_nothing_else() -> None:
    path, other, outside = table(), listing(), Path("reports/a.csv")

    def main(source: Path, out: list[Path]) -> None:
        for file in out:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(source.read_bytes())

    first = Path("data/out/1")
    checked(main)(source=path, out=[first, outside])
    assert recorded(first) is not None
    assert [recorded(file) for file in (path, other, outside)] == [None] * 3


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (ValueError("a fault"), "a fault"),
        (
            OSError(errno.EROFS, "Read-only file system", "data/out"),
            "data/out'; make the folder writable and start again",
        ),
    ],
)
def test_a_stage_that_failed_records_nothing_and_names_a_remedy(fault: Exception, message: str) -> None:
    def main(out: Path) -> None:
        out.parent.mkdir()
        out.write_text("half")
        raise fault

    with pytest.raises((ValueError, PermissionError), match=message):
        checked(main)(out=Path("data/out"))
    assert recorded(Path("data/out")) is None


def test_the_first_process_of_a_training_records(monkeypatch: pytest.MonkeyPatch) -> None:
    for rank in ("1", "0"):
        monkeypatch.setenv("RANK", rank)
        checked(lambda out: tables.write_rows([], REASONS, out))(out=Path(f"data/{rank}"))
    assert [recorded(Path(f"data/{rank}")) is not None for rank in ("1", "0")] == [False, True]


def test_artifacts_that_only_the_manifest_names_are_verified() -> None:
    artifact, manifest = listing(), Path("data/corpus/manifest.parquet")
    row = {"source": "tiny", "program": "a.so", "artifact": str(artifact), "size_bytes": 3, "shard": 0}
    tables.write_rows([row], MANIFEST, manifest)
    record(artifact)
    reading(manifest)
    flip(artifact, 3)
    with pytest.raises(DamagedError, match=str(artifact)):
        reading(manifest)


def test_folders_are_searched_and_half_written_files_passed_over() -> None:
    path = table()
    (path.parent / ".twins.parquet.x1.part").write_text("half")
    assert files_below([Path("data"), Path("elsewhere")]) == [path]
    assert files_below([path.absolute(), Path("..")]) == [path]


def test_what_dvc_put_there_is_recorded_anew_and_what_a_disk_lost_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    path = listing()
    record(path)
    tables.write_rows([], REASONS, path)  # another file takes its place
    with pytest.raises(DamagedError, match="make adopt"):
        reading(path)
    monkeypatch.setenv("DVC_STAGE", "ingest")
    reading(path)
    monkeypatch.delenv("DVC_STAGE")
    reading(path)
    flip(path, 77)
    monkeypatch.setenv("DVC_STAGE", "ingest")
    with pytest.raises(DamagedError):
        reading(path)


def test_adopted_files_are_recorded_and_damaged_ones_named() -> None:
    path, other = table(), listing()
    assert renew() == []
    assert recorded(path) is not None
    other.unlink()
    other.write_text("another version")
    assert renew() == []
    flip(other, 5)
    assert [message.partition(":")[0] for message in renew()] == [str(other)]


def test_at_the_end_of_a_run_everything_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    path, other = table(), listing()
    record(path)
    record(other)
    checksums.verify_all()
    flip(path, 9)
    flip(other, 9)
    with pytest.raises(DamagedError, match=f"{other}: .*\n{path}: |{path}: .*\n{other}: "):
        checksums.verify_all()
    monkeypatch.setenv("DVC_STAGE", "ingest")
    checksums.verify_all()


def test_a_damaged_record_stops_nothing() -> None:
    path = table()
    record(path)
    (place,) = Path(".cache/checksums").rglob("*.json")
    for content in ("", "{", "[]", '{"sha256": "a", "written": [1]}'):
        place.write_text(content)
        verify(path)
