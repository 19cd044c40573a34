"""The whole pipeline on the tiny corpus by DVC: the bytes of Snakemake's run, stored, fetched, varied."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.copies import EVALUATED, copy_of_repository, digests, planned, run

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_of_repository(tmp_path_factory.mktemp("dvc") / "dvc", smallest=True)
    run(folder, "dvc", "repro")
    return folder


def test_dvc_gives_the_same_bytes_and_agrees_with_snakemake(repeated: Path, killed: Path) -> None:
    folder, first = repeated, digests(repeated)
    assert first == digests(killed)  # one core and two kills, and one process after the other by DVC
    assert "up to date" in run(folder, "dvc", "status")
    run(folder, "git", "add", "-A")
    run(folder, "git", "commit", "-q", "-m", "made")

    adopt(folder)
    assert planned(folder) == {}

    run(folder, "dvc", "push")
    shutil.rmtree(folder / "data")
    shutil.rmtree(folder / ".dvc/cache")
    run(folder, "dvc", "pull")
    assert digests(folder) == first

    # DVC has replaced the files: Snakemake must not take them for its own.
    assert "make adopt" in run(folder, "snakemake", "-n", fails=True)
    adopt(folder)
    assert planned(folder) == {}

    run(folder, "dvc", "exp", "run", "-S", "judges.atom.iterations=2")
    assert "judges.atom.iterations" in run(folder, "dvc", "params", "diff")
    assert "cycles" in run(folder, "dvc", "metrics", "diff")
    assert "exact_match" in run(folder, "dvc", "metrics", "show")
    run(folder, "dvc", "plots", "show")
    same = {name for name, digest in digests(folder).items() if first.get(name) == digest}
    assert "data/experiments/quick/judged/test_5/haswell_100.parquet" in same
    assert "data/experiments/quick/judged/test_5/atom.parquet" not in same

    adopt(folder)  # now the other parameter is what the files are made of
    run(folder, "git", "checkout", "-q", "params.yaml")
    assert set(planned(folder)) == {"judge"} | EVALUATED


def adopt(folder: Path) -> None:
    """`make adopt`, without its set-up."""
    assert "up to date" in run(folder, "dvc", "status")
    run(folder, sys.executable, "-m", "pipeline.checksums")
    run(folder, "snakemake", "--touch", "--forceall", "--quiet", "all")
