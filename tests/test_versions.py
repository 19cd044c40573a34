"""The pipeline on the tiny corpus: killed and taken up, by DVC, by a colleague, and on Slurm, with the same bytes."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.cluster.trial import TrialCluster
from tests.copies import ENVIRONMENT, EVALUATED, copy_of_repository, digests, planned, run
from tests.team_lines import lines, typed

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on one core that is killed twice."""
    folder = copy_of_repository(tmp_path_factory.mktemp("killed") / "killed", smallest=True)
    for moment in ("data/tokens/tokens.parquet", "data/experiments/quick/models/*/*/0/weights.safetensors"):
        process = subprocess.Popen(
            ["snakemake", "-j1"], cwd=folder, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while not list(folder.glob(moment)) and process.poll() is None:
            time.sleep(0.2)
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(1)  # into the next job
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert "Removed the lock" in run(folder, sys.executable, "-m", "pipeline.recovery")
    run(folder, "snakemake", "-j1")
    return folder


def test_a_killed_run_leaves_nothing_half_written(killed: Path) -> None:
    assert not list(killed.rglob("*.part"))
    assert planned(killed) == {}


def test_dvc_gives_the_same_bytes_and_agrees_with_snakemake(killed: Path, tmp_path: Path) -> None:
    folder = copy_of_repository(tmp_path / "dvc", smallest=True)
    run(folder, "dvc", "repro")
    first = digests(folder)
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


def test_a_colleague_fetches_the_data_by_ssh_and_computes_nothing(killed: Path, tmp_path: Path) -> None:
    """The lines of docs/team.md."""
    if not Path("/usr/sbin/sshd").exists():
        pytest.skip("sshd is not installed: apt-get install -y --no-install-recommends openssh-server")
    pytest.importorskip("dvc_ssh", reason="pip install -e '.[team]' -c constraints.txt")
    folder, colleague = tmp_path / "mine", tmp_path / "colleague"
    shutil.copytree(killed, folder, symlinks=True)
    start, *more, stop = lines("tests/test_versions.py")
    team = typed(folder, start, 'echo "$TEAM"').splitlines()[-1]
    try:
        *push_and_clone, pull, report = more
        typed(folder, *push_and_clone, TEAM=team)
        assert not (colleague / "data").exists()
        stored = next(path for path in Path(team, "store/files/md5").rglob("*") if path.is_file() and not path.suffix)
        content = stored.read_bytes()
        stored.chmod(0o644)
        stored.write_bytes(bytes([content[0] ^ 1]) + content[1:])
        assert "failed to pull" in run(colleague, "dvc", "pull", "--remote", "team", fails=True)
        stored.write_bytes(content)

        typed(colleague, pull)
        assert digests(colleague) == digests(folder)
        assert planned(colleague) == {}
        for page in (colleague / "reports").glob("index.*"):
            page.unlink()
        assert set(planned(colleague)) == {"report", "track", "all"}
        typed(colleague, report)
        assert digests(colleague) == digests(folder)
    finally:
        typed(folder, stop, TEAM=team)
        shutil.rmtree(team)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrialCluster]:
    daemons = ("slurmctld", "slurmd", "munged")
    missing = [name for name in daemons if not shutil.which(name, path="/usr/sbin:/sbin:/usr/bin")]
    if missing:
        pytest.skip(f"{', '.join(missing)} missing: apt-get install slurm-wlm munge")
    pytest.importorskip("snakemake_executor_plugin_slurm", reason="pip install -c constraints.txt -e '.[cluster]'")
    with TrialCluster(tmp_path_factory.mktemp("slurm")) as started:
        yield started


def test_slurm_gives_the_same_bytes_and_more_memory_to_who_needs_it(
    killed: Path, cluster: TrialCluster, tmp_path: Path
) -> None:
    """Single jobs, a group of two, and a job that is killed for its memory and started again."""
    folder = copy_of_repository(tmp_path / "slurm", smallest=True)
    table = folder / "rules/resources.csv"
    needs = pd.read_csv(table, keep_default_na=False)
    needs.loc[needs["rule"] == "dags", "mem_mb"] = 150  # the interpreter and its libraries need more
    needs.to_csv(table, index=False)
    options = ["--profile", "profiles/slurm", "--resources", "mem_mb=5500", "--"]
    targets = ["data/sets/test_5.parquet", "data/dags/released/full.parquet"]
    output = run(folder, "snakemake", *options, *targets, environment=cluster.environment(ENVIRONMENT))
    files = digests(folder, "data")
    assert set(targets) < files.keys() and files.items() <= digests(killed, "data").items()
    assert "Group job tables" in output
    assert output.count("Trying to restart") >= 1


def adopt(folder: Path) -> None:
    """`make adopt`, without its set-up."""
    assert "up to date" in run(folder, "dvc", "status")
    run(folder, sys.executable, "-m", "pipeline.checksums")
    run(folder, "snakemake", "--touch", "--forceall", "--quiet", "all")
