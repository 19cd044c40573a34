"""The whole pipeline on the tiny corpus by DVC: the bytes of Snakemake's run, stored, fetched, varied."""

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mlflow import MlflowClient

from tests.copies import EVALUATED, planned
from tests.trial.copies import ENVIRONMENT, changed, copy_of_repository, digests, run

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything is made by DVC, and committed."""
    folder = copy_of_repository(tmp_path_factory.mktemp("dvc") / "dvc", smallest=True)
    run(folder, "dvc", "repro")
    run(folder, "git", "add", "-A")
    run(folder, "git", "commit", "-q", "-m", "made")
    return folder


def test_dvc_gives_the_same_bytes_and_agrees_with_snakemake(repeated: Path, killed: Path) -> None:
    assert digests(repeated) == digests(killed)  # one process after the other by DVC, and one core with two kills
    adopt(repeated)
    assert planned(repeated) == {}


@pytest.fixture(scope="module")
def fetched(repeated: Path) -> Path:
    """All data was pushed, deleted and pulled."""
    run(repeated, "dvc", "push")
    shutil.rmtree(repeated / "data")
    shutil.rmtree(repeated / ".dvc/cache")
    run(repeated, "dvc", "pull")
    return repeated


def test_what_was_pushed_comes_back(fetched: Path, killed: Path) -> None:
    assert digests(fetched) == digests(killed)


def test_snakemake_takes_no_fetched_file_for_its_own(fetched: Path) -> None:
    for reading in ("-n", "--summary", "--dag", "--list"):
        assert "ForeignFilesError" not in run(fetched, "snakemake", reading)
    assert "make adopt" in run(fetched, "snakemake", fails=True)
    adopt(fetched)
    assert planned(fetched) == {}


def test_an_edit_re_runs_the_stages_that_import_the_file(fetched: Path) -> None:
    with changed(fetched / "learned_schedulers/blocks/processors/llvm_mca.py", '"""', '"""\n'):
        assert re.findall(r"^(\S+):$", run(fetched, "dvc", "status"), re.MULTILINE) == ["recipes"]
        run(fetched, "dvc", "repro", "recipes")
        outdated = re.findall(r"^(\S+):$", run(fetched, "dvc", "status"), re.MULTILINE)
        assert outdated == ["judge@quick"]
    run(fetched, "dvc", "repro", "recipes")
    assert "up to date" in run(fetched, "dvc", "status")


@pytest.mark.parametrize("first", ["snakemake", "dvc"])
def test_only_one_of_both_writes_at_a_time(fetched: Path, first: str) -> None:
    by_snakemake = ["snakemake", "-c1", "--forcerun", "dags", "--", "data/dags/released/full.parquet"]
    by_dvc = ["dvc", "repro", "--force", "--single-item", "dags"]
    running, refused = (by_snakemake, by_dvc) if first == "snakemake" else (by_dvc, by_snakemake)
    adopt(fetched)
    before, lock = digests(fetched), fetched / ".dvc/tmp/rwlock"
    lock.unlink(missing_ok=True)
    with subprocess.Popen(
        running, cwd=fetched, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while process.poll() is None and not (lock.exists() and str(fetched / "data") in lock.read_text()):
            time.sleep(0.05)
        assert process.poll() is None, "it ended before the other one could try"
        # Where DVC's own Snakemake has begun, its lock is found first.
        assert re.search(r"busy|cannot be locked", run(fetched, *refused, fails=True))
    assert process.returncode == 0
    assert digests(fetched) == before


def test_a_trial_that_ends_before_the_metrics_shows_none(fetched: Path) -> None:
    run(fetched, "dvc", "exp", "run", "-S", "judges.atom.iterations=2", "judge@quick")
    assert "cycles" not in run(fetched, "dvc", "metrics", "show", "--json")
    run(fetched, "git", "reset", "-q", "--hard")
    run(fetched, "dvc", "checkout", "--force")


def test_an_experiment_makes_what_its_parameter_changes(fetched: Path) -> None:
    before = digests(fetched)
    run(fetched, "dvc", "exp", "run", "-S", "judges.atom.iterations=2")
    assert "judges.atom.iterations" in run(fetched, "dvc", "params", "diff")
    assert "cycles.atom" in run(fetched, "dvc", "metrics", "diff")
    assert "exact_match" in run(fetched, "dvc", "metrics", "show")
    shown = run(fetched, "dvc", "exp", "show", "--only-changed", "--csv").splitlines()[0]
    assert "judges.atom.iterations" in shown and "cycles.atom" in shown and shown.count(",") < 60
    run(fetched, "dvc", "plots", "show")
    same = {name for name, digest in digests(fetched).items() if before.get(name) == digest}
    assert "data/experiments/quick/judged/test_5/haswell_100.parquet" in same
    assert "data/experiments/quick/judged/test_5/atom.parquet" not in same

    adopt(fetched)  # now the other parameter is what the files are made of
    run(fetched, "git", "checkout", "-q", "params.yaml")
    assert set(planned(fetched)) == {"judge"} | EVALUATED

    run(fetched, "git", "reset", "-q", "--hard")  # the way back
    run(fetched, "dvc", "checkout", "--force")
    adopt(fetched)
    client = MlflowClient(f"sqlite:///{fetched}/mlflow.db")
    quick = client.get_experiment_by_name("quick")
    assert quick
    states = {
        (run.data.params["judges.atom.iterations"], run.data.tags.get("changed")): run.data.tags["state"]
        for run in client.search_runs([quick.experiment_id], "attributes.run_name = 'popocs_20'")
    }
    assert states == {("1", None): "current", ("2", "judges.atom.iterations=2"): "superseded"}


def adopt(folder: Path) -> None:
    """`make adopt`, without its set-up."""
    assert "up to date" in run(folder, "dvc", "status")
    run(folder, sys.executable, "-m", "pipeline.lab.checksums")
    outdated = run(folder, sys.executable, "-m", "pipeline.lab.recovery", "to_touch").split()
    run(folder, "snakemake", "--touch", *outdated, "--quiet", "all")
    run(folder, "snakemake", "--allowed-rules", "track", "--forcerun", "track", "--quiet", "all")
