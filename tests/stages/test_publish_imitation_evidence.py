"""What bounds imitators becomes CSV files that the report reads again."""

from pathlib import Path

import pandas as pd
import pytest

from pipeline import tables
from pipeline.analysis import tidy
from pipeline.analysis.limits import COLUMNS
from pipeline.stages import gather, publish_imitation_evidence
from tests.analysis import limits


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the CSV files."""
    root = tmp_path_factory.mktemp("evidence")
    publish_imitation_evidence.main(**limits.measured(root), out=root / "reports/published")
    return root / "reports/published"


def test_the_report_reads_what_was_measured(published: Path) -> None:
    files = sorted(published.glob("*.csv"))
    assert {path.stem for path in files} == set(COLUMNS)
    found = gather.published(files)
    assert found["results"].empty
    for name, wanted in {
        "imitation_ceiling": limits.ceiling(),
        "imitation_twins": limits.twins(),
        "imitation_audit": limits.audit(),
        "imitation_errors": limits.of_run(limits.error_shares())[COLUMNS["imitation_errors"]],
    }.items():
        pd.testing.assert_frame_equal(found[name], wanted, check_dtype=False, rtol=1e-5)
    blocks = found["imitation_error_blocks"]
    assert blocks["holds"][1] == "symmetric; cross_block; other"
    assert blocks["confidence"][1] == 0.123457  # six digits
    assert blocks["gcc_instruction"].tolist() == limits.errors()["gcc_instruction"].tolist()
    assert not {"gcc_order", "predicted_order"} & set(blocks)
    assert set(zip(blocks["model"], blocks["set"], blocks["seed"], strict=True)) == {
        ("attention_pointer", "test_4_40", "0")
    }


def test_lengths_are_text_even_if_all_are_numbers(tmp_path: Path) -> None:
    five = limits.ceiling().query("lengths == '5'")
    (tmp_path / "imitation_ceiling.csv").write_text(tidy.csv(five))
    found = gather.published([tmp_path / "imitation_ceiling.csv"])["imitation_ceiling"]
    assert set(found["lengths"]) == {"5"}


def test_shares_of_another_run_are_refused(tmp_path: Path) -> None:
    made = limits.measured(tmp_path)
    other = made["shares"].with_name("1.parquet")
    made["shares"].rename(other)
    with pytest.raises(ValueError, match="of different runs"):
        publish_imitation_evidence.main(**(made | {"shares": other}), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_missing_table_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    made = limits.measured(tmp_path)
    made["twins"].unlink()
    with pytest.raises(tables.TableError, match=r"twins\.parquet"):
        publish_imitation_evidence.main(**made, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_table_of_another_kind_is_named(tmp_path: Path) -> None:
    made = limits.measured(tmp_path)
    with pytest.raises(tables.TableError, match=r"audit\.parquet"):
        publish_imitation_evidence.main(**(made | {"ceiling": made["audit"]}), out=tmp_path / "out")


def test_a_damaged_published_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "imitation_audit.csv").write_text("feature,group\ndepth,node\n")
    with pytest.raises(tables.TableError, match=r"imitation_audit\.csv.*publish the experiment again"):
        gather.published([tmp_path / "imitation_audit.csv"])
