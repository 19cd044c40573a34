"""The whole pipeline on the tiny corpus: by Snakemake, killed and taken up, and by DVC, always with the same bytes."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest
import yaml

from pipeline.blocks.execution.native import Native
from pipeline.blocks.execution.oracle import OracleError
from pipeline.report.pages import FILES as PAGES
from pipeline.tables import SCHEMAS

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {
    **os.environ,
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    "GIT_AUTHOR_NAME": "test",
    "GIT_AUTHOR_EMAIL": "test@example.org",
    "GIT_COMMITTER_NAME": "test",
    "GIT_COMMITTER_EMAIL": "test@example.org",
    "MLFLOW_DISABLE_TELEMETRY": "true",
}
SCHEDULERS = ["sinkhorn", "popocs_20", "popocs_150", "random_legal", "critical_path", "gcc"]
BY_LEARNING = ("data/optima/", "data/scheduling/models/", "data/scheduling/policies/")
ON_PROCESSORS = ["list_scheduling", "search", "policy", "branch_and_bound", "imitator"]


def run(folder: Path, *command: str, fails: bool = False) -> str:
    """stdout and stderr of a command that must succeed, or fail."""
    done = subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert (done.returncode != 0) == fails, f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-4000:]}"
    return done.stdout


def copy_of_repository(folder: Path) -> Path:
    """What git would hold, as a repository of its own, with the tiny corpus, one seed and fewer schedulers."""
    listed = run(ROOT, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for name in filter(None, listed):
        made = name.startswith("reports/") and not name.startswith(("reports/published/", "reports/tuning/"))
        if (ROOT / name).is_file() and not made:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    for compiled in (ROOT / "pipeline").rglob("*.nb[ic]"):  # numba's; it knows sources by time and size
        (folder / compiled.relative_to(ROOT)).parent.mkdir(exist_ok=True)
        shutil.copy2(compiled, folder / compiled.relative_to(ROOT))
    params = yaml.safe_load((folder / "params.test.yaml").read_text())
    for experiment in params["experiments"].values():
        experiment["seeds"] = [0]
    params["imitations"]["imitation"] |= {"seeds": [0], "baselines": ["random_legal", "critical_path"]}
    compared = {name: params["scheduling"]["schedulers"][name] for name in ON_PROCESSORS}
    machines = {name: params["scheduling"]["machines"][name] for name in ("atom", "haswell")}
    params["scheduling"] |= {"seeds": [0], "schedulers": compared, "machines": machines}
    params["schedulers"] = {name: params["schedulers"][name] for name in SCHEDULERS}
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    run(folder, "git", "init", "-q")
    run(folder, "git", "add", "-A")
    run(folder, "git", "commit", "-q", "-m", "copy")
    return folder


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every table, weight and number that the pipeline makes."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for room in ("data", "reports")
        for path in sorted((folder / room).rglob("*"))
        if path.is_file() and path.suffix in (".parquet", ".safetensors", ".csv", ".json", ".md")
    }


def planned(folder: Path) -> dict[str, int]:
    """Jobs of each rule that Snakemake would run."""
    listing = run(folder, "snakemake", "-n")
    if "Nothing to be done" in listing:
        return {}
    table = re.search(r"Job stats:\njob +count\n[- ]+\n(.*?)\ntotal ", listing, re.DOTALL)
    assert table, listing
    return {name: int(count) for name, count in (line.split() for line in table[1].splitlines())}


@contextmanager
def changed(path: Path, old: str, new: str) -> Iterator[None]:
    before = path.read_text()
    assert before.count(old) >= 1
    path.write_text(before.replace(old, new, 1))
    try:
        yield
    finally:
        path.write_text(before)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_of_repository(tmp_path_factory.mktemp("undisturbed"))
    run(folder, "snakemake", "-j2")
    return folder


def test_every_table_is_there_and_has_rows(undisturbed: Path) -> None:
    tables = sorted((undisturbed / "data").rglob("*.parquet"))
    assert len(tables) > 30
    empty = [str(path) for path in tables if pd.read_parquet(path).empty and "skipped" not in str(path)]
    assert not empty
    results = pd.read_csv(undisturbed / "reports/results.csv")
    assert list(results.columns) == SCHEMAS["results"].names
    assert set(results.query("experiment == 'quick'").scheduler) == set(SCHEDULERS)
    assert (results.query("decoder == 'topological' and metric == 'valid_share'").value == 1).all()
    assert {path.name for kind in ("html", "md") for path in (undisturbed / "reports").glob(f"*.{kind}")} == set(PAGES)
    assert "data:image" in (undisturbed / "reports/index.html").read_text()


def test_every_rule_has_log_and_benchmark(undisturbed: Path) -> None:
    for rule in ("fetch", "ingest", "train", "schedule", "latency", "report"):
        assert list((undisturbed / "logs").glob(f"{rule}*")) and list(
            (undisturbed / "benchmarks/rules").glob(f"{rule}*")
        )


def test_second_run_does_nothing(undisturbed: Path) -> None:
    assert planned(undisturbed) == {}


EVALUATED = {"evaluate", "report", "track", "all"}
JUDGED = {"schedule", "latency"} | EVALUATED
LEARNED = {"train", "sweep", "examples"} | JUDGED


@pytest.mark.parametrize(
    ("path", "old", "new", "rules"),
    [
        ("README.md", "#", "# ", set()),
        ("params.yaml", "bootstrap_samples: 50", "bootstrap_samples: 51", EVALUATED),
        ("params.yaml", "example_blocks: 3", "example_blocks: 2", {"examples", "report", "track", "all"}),
        ("params.yaml", "cpu: atom", "cpu: silvermont", {"latency"} | EVALUATED),
        ("params.yaml", "steps: 30", "steps: 31", LEARNED - {"sweep"}),  # of the first model, sinkhorn
        ("params.yaml", "min_count: 2", "min_count: 3", {"tokens"} | LEARNED),
        ("pipeline/blocks/latency/llvm_mca.py", '"""', '"""\n', {"latency"} | EVALUATED),
        ("pipeline/blocks/schedulers/critical_path.py", '"""', '"""\n', JUDGED),
        ("pipeline/operators/sinkhorn.py", '"""', '"""\n', LEARNED),
        ("pipeline/stages/track.py", '"""', '"""\n', {"track", "track_published", "all"}),
    ],
)
def test_an_edit_re_runs_what_depends_on_it(undisturbed: Path, path: str, old: str, new: str, rules: set[str]) -> None:
    with changed(undisturbed / path, old, new):
        assert set(planned(undisturbed)) == rules


def test_an_edited_scheduler_alone_is_run_again(undisturbed: Path) -> None:
    with changed(undisturbed / "pipeline/blocks/schedulers/critical_path.py", '"""', '"""\n'):
        assert planned(undisturbed)["schedule"] == 2  # dependencies full and paper, of one scheduler


def test_edits_taken_back_re_run_nothing(undisturbed: Path) -> None:
    (undisturbed / "pipeline/tables.py").touch()  # newer, as all the files edited above, with the same bytes
    assert planned(undisturbed) == {}


def test_bad_parameters_are_named(undisturbed: Path) -> None:
    with changed(undisturbed / "params.yaml", "min_count: 2", "min_cuont: 2"):
        said = run(undisturbed, "snakemake", "-n", fails=True)
        assert "tokens.min_cuont: unknown key" in said and "tokens.min_count" in said


def test_code_is_run_only_when_asked_for_and_the_report_shows_what_came_of_it(
    undisturbed: Path, tmp_path: Path
) -> None:
    assert not (undisturbed / "data/verification").exists()
    folder = tmp_path / "verified"
    shutil.copytree(undisturbed, folder)
    for published in (folder / "reports/published").glob("dag_verification*.csv"):
        published.unlink()
    run(folder, "snakemake", "-j2", "data/published/dag_verification.done")
    verdicts = pd.read_parquet(folder / "data/verification/verification.parquet").set_index("dependencies")
    for mode in ("full", "conservative"):
        assert verdicts.state_runs[mode].sum() > 500 and verdicts.different[mode].sum() == 0
    assert verdicts.different["paper"].sum() > 0  # it leaves flags out, and running the code shows it
    made = digests(folder)
    (folder / "data/verification/verification.parquet").unlink()
    (folder / "data/published/dag_verification.done").unlink()
    run(folder, "snakemake", "-j1", "data/published/dag_verification.done")
    assert digests(folder) == made
    run(folder, "snakemake", "-j2", "reports/index.html")
    results = pd.read_csv(folder / "reports/results.csv").query("experiment == 'dag_verification'")
    assert {"state_runs", "different", "runnable_share", "sensitivity"} <= set(results.metric)


def test_imitators_are_trained_when_asked_for_and_the_report_shows_them(undisturbed: Path, tmp_path: Path) -> None:
    assert not (undisturbed / "data/imitations").exists()
    folder = tmp_path / "imitated"
    shutil.copytree(undisturbed, folder)
    for published in (folder / "reports/published").glob("imitation*.csv"):
        published.unlink()
    run(folder, "snakemake", "-j2", "data/published/imitation.done")
    made = digests(folder)
    (folder / "data/published/imitation.done").unlink()
    for name in ("imitations", "imitated", "sets", "instructions", "following"):
        shutil.rmtree(folder / "data" / name)
    run(folder, "snakemake", "-j1", "data/published/imitation.done")
    assert digests(folder) == made
    run(folder, "snakemake", "-j2", "reports/index.html")
    results = pd.read_csv(folder / "reports/results.csv").query("experiment == 'imitation'")
    assert set(results.split) == {"training", "test_5", "test_4_40", "test_programs_4_40"}
    assert {"attention_pointer", "attention_pointer_following", "random_legal", "critical_path"} <= set(
        results.scheduler
    )
    assert (results.query("metric == 'valid_share'").value == 1).all()


def test_schedulers_on_processors_are_compared_and_the_report_shows_them(undisturbed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "scheduled"
    shutil.copytree(undisturbed, folder)
    for committed in (folder / "reports/published").glob("latency*.csv"):
        committed.unlink()
    run(folder, "snakemake", "-j2", "data/published/latency.done")
    made = digests(folder)
    learned = [name for name in made if name.startswith(BY_LEARNING)]
    for name in learned:
        (folder / name).unlink()
    run(folder, "snakemake", "-j1", *learned)
    assert digests(folder) == made
    run(folder, "snakemake", "-j2", "reports/index.html")
    results = pd.read_csv(folder / "reports/results.csv").query("experiment == 'latency' and seed == 'all'")
    wanted = yaml.safe_load((folder / "params.yaml").read_text())["scheduling"]
    assert set(results.scheduler) == {*wanted["schedulers"], *wanted["models"], "gcc"}
    assert set(results.split) == {"test_5", "test_10_40"}
    ratio = results.query("metric == 'cycles_ratio_to_gcc_atom'")
    for split, own in ratio.groupby("split"):
        best = own[own.scheduler == "branch_and_bound"].value.item()
        assert (own.value >= best - 1e-6).all(), split
    assert "scheduling_pareto" not in (folder / "reports/processors.md").read_text()  # no time was measured
    assert "scheduling_length.png" in (folder / "reports/processors.md").read_text()
    assert not (folder / "data/hardware").exists()  # it runs machine code: only when asked for
    try:
        Native().close()
    except OracleError:
        assert "cannot be timed" in run(folder, "snakemake", "-j2", "data/published/hardware.done", fails=True)
        return
    run(folder, "snakemake", "-j2", "data/published/hardware.done", "reports/index.html")
    published = pd.read_csv(folder / "reports/published/latency_hardware.csv")
    timed = published.query("metric == 'hardware_timed_share'").set_index("split").value
    assert set(timed.index) == {"test_5", "test_10_40"} and (timed > 0.5).all()
    on_hardware = published[published.metric.str.startswith("cycles_ratio_to_gcc_hardware_")]
    assert set(on_hardware.scheduler) == {*wanted["schedulers"], *wanted["models"]}


def test_the_compiled_corpus_shows_the_order_before_scheduling(undisturbed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "compiled"
    shutil.copytree(undisturbed, folder)
    run(folder, "snakemake", "-j2", "data/sets/compiled_training.parquet", "data/sets/shuffled_training.parquet")
    stored = pd.read_parquet(folder / "data/compiled/input_orders.parquet").set_index("block_id").input_order
    true, shuffled = (
        pd.read_parquet(folder / f"data/sets/{name}_training.parquet") for name in ("compiled", "shuffled")
    )
    assert list(true.block_id) == list(shuffled.block_id)
    assert [list(order) for order in true.input_order] == [list(stored[name]) for name in true.block_id]
    assert any(list(a) != list(b) for a, b in zip(true.input_order, shuffled.input_order, strict=True))


def test_one_core_and_two_kills_give_the_same_bytes(undisturbed: Path, tmp_path: Path) -> None:
    folder = copy_of_repository(tmp_path / "killed")
    for moment in ("data/tokens/tokens.parquet", "data/models/quick/*/*/0/weights.safetensors"):
        process = subprocess.Popen(
            ["snakemake", "-j1"], cwd=folder, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while not list(folder.glob(moment)) and process.poll() is None:
            time.sleep(0.2)
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(1)  # into the next job
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert "Cleared the lock" in run(folder, sys.executable, "-m", "pipeline.recovery")
    run(folder, "snakemake", "-j1")
    assert digests(folder) == digests(undisturbed)
    assert not list(folder.rglob("*.part"))


def test_dvc_gives_the_same_bytes_and_agrees_with_snakemake(undisturbed: Path, tmp_path: Path) -> None:
    folder = copy_of_repository(tmp_path / "dvc")
    run(folder, "dvc", "repro")
    made = digests(folder)
    assert made == digests(undisturbed)
    assert "up to date" in run(folder, "dvc", "status")
    run(folder, "git", "add", "-A")
    run(folder, "git", "commit", "-q", "-m", "made")

    adopt(folder)
    assert planned(folder) == {}

    run(folder, "dvc", "push")
    shutil.rmtree(folder / "data")
    shutil.rmtree(folder / ".dvc/cache")
    run(folder, "dvc", "pull")
    assert digests(folder) == made

    # DVC has replaced the files: Snakemake must not take them for its own.
    assert "make adopt" in run(folder, "snakemake", "-n", fails=True)
    adopt(folder)
    assert planned(folder) == {}

    run(folder, "dvc", "exp", "run", "-S", "latency.machines.atom.iterations=2")
    assert "latency.machines.atom.iterations" in run(folder, "dvc", "params", "diff")
    assert "single_pass_cycles_atom" in run(folder, "dvc", "metrics", "diff")
    assert "exact_match" in run(folder, "dvc", "metrics", "show")
    run(folder, "dvc", "plots", "show")
    same = {name for name, digest in digests(folder).items() if made.get(name) == digest}
    assert "data/latency/quick/haswell.parquet" in same and "data/latency/quick/atom.parquet" not in same

    adopt(folder)  # now the other parameter is what the files are made of
    run(folder, "git", "checkout", "-q", "params.yaml")
    assert set(planned(folder)) == {"latency"} | EVALUATED


def adopt(folder: Path) -> None:
    """`make adopt`, without its set-up."""
    assert "up to date" in run(folder, "dvc", "status")
    run(folder, "snakemake", "--touch", "--forceall", "--quiet", "all")
