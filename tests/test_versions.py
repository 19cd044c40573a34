"""The pipeline on the tiny corpus: killed and taken up, by a colleague, and on Slurm, with the same bytes."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from tests.copies import planned
from tests.team_lines import lines, typed
from tests.trial.cluster import TrialCluster
from tests.trial.copies import ENVIRONMENT, digests, run

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def test_a_killed_run_leaves_nothing_half_written(killed: Path) -> None:
    assert not list(killed.rglob("*.part"))
    assert planned(killed) == {}


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
    folder = tmp_path / "slurm"
    shutil.copytree(killed, folder, symlinks=True)
    for room in ("dags", "splits", "tokens", "sets"):
        shutil.rmtree(folder / "data" / room)
    table = folder / "pipeline/lab/rules/resources.csv"
    needs = pd.read_csv(table, keep_default_na=False)
    needs.loc[needs["rule"] == "dags", "mem_mb"] = 150  # it needs more than that
    needs.to_csv(table, index=False)
    options = ["--profile", "profiles/slurm", "--resources", "mem_mb=5500", "--seconds-between-status-checks", "1"]
    targets = ["data/sets/test_5.parquet", "data/tokens/tokens.parquet"]
    output = run(folder, "snakemake", *options, "--", *targets, environment=cluster.environment(ENVIRONMENT))
    remade, before = digests(folder, "data"), digests(killed, "data")
    assert set(targets) <= remade.keys() and remade.items() <= before.items()
    assert "Group job tables" in output
    assert output.count("Trying to restart") >= 1
