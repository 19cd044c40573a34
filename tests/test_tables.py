"""Tables written and read piece by piece: whole or not at all, and faults named."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from pipeline.corpus.tables import SPLITS
from pipeline.lab import tables
from pipeline.reproduction.tables import VOCABULARY

SCHEMA = VOCABULARY.schema


def piece(*tokens: str) -> pa.Table:
    columns = {"token": list(tokens), "token_id": range(len(tokens)), "count": [1] * len(tokens)}
    return pa.table({name: pa.array(columns[name], SCHEMA.field(name).type) for name in SCHEMA.names})


def test_every_piece_is_a_row_group(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary"
    pieces = [piece("a", "b"), piece(), piece("c")]
    with tables.writing(VOCABULARY, path) as append:
        for each in pieces:
            append(each)
        assert not path.exists()
    groups = tables.RowGroups(VOCABULARY, path)
    assert (len(groups), groups.n_rows) == (3, 3)
    assert [group.equals(each) for group, each in zip(groups, pieces, strict=True)] == [True] * 3
    assert tables.read(VOCABULARY, path)["token"].tolist() == ["a", "b", "c"]
    assert tables.RowGroups(VOCABULARY, path, ["count"])[0].column_names == ["count"]
    encoded = tables.RowGroups(VOCABULARY, path, repetitive=["token"])[0]
    assert pa.types.is_dictionary(encoded.schema.field("token").type)


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyError), tables.writing(VOCABULARY, tmp_path / "vocabulary") as append:
        append(piece("a"))
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_a_piece_of_another_table_is_refused(tmp_path: Path) -> None:
    wrong = pa.table({"token": ["a"]})
    with (
        pytest.raises(tables.TableError, match="not a piece of table vocabulary"),
        tables.writing(VOCABULARY, tmp_path / "vocabulary") as append,
    ):
        append(wrong)
    assert list(tmp_path.iterdir()) == []


def test_faulty_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary"
    with pytest.raises(tables.TableError, match="vocabulary is missing; delete"):
        tables.RowGroups(VOCABULARY, path)
    with tables.writing(VOCABULARY, path) as append:
        append(piece(*(str(n) for n in range(1000))))
    with pytest.raises(tables.TableError, match="not those of table splits"):
        tables.RowGroups(SPLITS, path)
    data = path.read_bytes()
    path.write_bytes(data[:200] + bytes(200) + data[400:])
    with pytest.raises(tables.TableError, match="vocabulary is damaged"):
        tables.RowGroups(VOCABULARY, path)[0]
    path.write_bytes(data[:-100])
    with pytest.raises(tables.TableError, match="vocabulary is damaged"):
        tables.RowGroups(VOCABULARY, path)
