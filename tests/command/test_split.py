"""The verb `split` as a user types it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from learned_schedulers.command import split
from learned_schedulers.command.main import app
from tests.graphs.plans.splits.oracle import judged
from tests.graphs.plans.splits.test_splits import CHAIN, EXPERT


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["split", *map(str, words)])


def refused(*words: str | Path) -> str:
    """The error message: one line, no traceback."""
    result = run(*words)
    assert result.exit_code == 1 and isinstance(result.exception, SystemExit), result.output
    assert result.stderr.startswith("error: ") and len(result.stderr.splitlines()) == 1
    return result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["load", "latency"])
@pytest.mark.parametrize("by", ["programme", "go", "untaught"])
def test_a_split_is_written_and_holds_the_rules(by: str, objective: str, tmp_path: Path) -> None:
    out = tmp_path / "new/split.json"
    result = run(CHAIN, "--by", by, "--objective", objective, "--evaluations", "21", "--out", out)
    assert result.exit_code == 0, result.output
    split = json.loads(out.read_text())
    took, valid = judged(json.loads(CHAIN.read_text()), split, objective)
    assert valid and took == pytest.approx(split["maxLoad" if objective == "load" else "totalLatency"])
    assert f"{took:,.6g} ms" in result.stdout
    again = run(CHAIN, "--objective", objective, "--judge", out)
    assert again.exit_code == 0 and f"{took:,.6g} ms" in again.stdout


@pytest.mark.slow
def test_without_time_the_answer_is_go_s_or_better_and_says_how_far_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split, "_FEW", 2)
    result = run(CHAIN, "--seconds", "0", "--evaluations", "21")
    assert result.exit_code == 0 and "GO searches" in result.stdout
    assert re.search(
        r"programme and go \(up to 21 evaluations, seed 0\); at most [\d.]+% above the least", result.stdout
    )
    proven = run(CHAIN, "--evaluations", "21")
    assert "exact" in proven.stdout and proven.stdout.splitlines()[3:] == run(CHAIN).stdout.splitlines()[3:]


def test_an_expert_is_judged(tmp_path: Path) -> None:
    result = run(CHAIN, "--judge", EXPERT)
    assert result.exit_code == 0 and "largest load: 6.5 ms" in result.stdout and "latency: 11.625 ms" in result.stdout
    split = json.loads(EXPERT.read_text())
    split["fpgas"][0]["nodes"].remove(50)
    split["fpgas"][1]["nodes"].append(50)
    (tmp_path / "split.json").write_text(json.dumps(split))
    message = refused(CHAIN, "--judge", tmp_path / "split.json")
    assert "split.json: colour class 7: node 50 is not on accelerator 0" in message


def test_what_cannot_be(tmp_path: Path) -> None:
    file = json.loads(CHAIN.read_text())
    (tmp_path / "mine.json").write_text(json.dumps(file | {"maxCPUs": 0}))
    for by in ("programme", "go"):
        message = refused(tmp_path / "mine.json", "--by", by, "--evaluations", "5", "--out", tmp_path / "split.json")
        assert "mine.json: " in message and "found no split that respects the rules; raise maxSizePerFPGA" in message
    assert "name another file" in refused(CHAIN, "--out", CHAIN)
    assert "judging writes nothing; leave out --out" in refused(
        CHAIN, "--judge", EXPERT, "--out", tmp_path / "split.json"
    )
    del file["nodes"][1]["fpgaLatency"]
    (tmp_path / "mine.json").write_text(json.dumps(file))
    assert "mine.json: nodes.1.fpgaLatency (id 20): Field required" in refused(tmp_path / "mine.json")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.json"]
