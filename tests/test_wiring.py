"""Imports point downwards, and every job depends on the sources it is made of."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import get_type_hints

import pytest
from snakemake.api import SnakemakeApi
from snakemake.settings.enums import Quietness
from snakemake.settings.types import ConfigSettings, DAGSettings, OutputSettings, ResourceSettings

from pipeline.lab import chapters
from pipeline.lab.wiring import RANKS, ROOT, closure, describe, imports, may_import, room

SOURCES = sorted(path for part in ("learned_schedulers", "pipeline") for path in (ROOT / part).rglob("*.py"))


def name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_imports_point_downwards() -> None:
    """In the library; its wings never meet, it never imports the laboratory, and chapters share nothing but tables."""
    in_no_room = {room(name(path)) for path in SOURCES if name(path).startswith("learned_schedulers")} - {*RANKS}
    assert in_no_room <= {"", "blocks", "graphs", "projects"}, "wiring.RANKS has the rooms"
    upwards = [
        (name(path), module)
        for path in SOURCES
        for module in sorted(imports(path))
        if not may_import(name(path), module)
    ]
    assert not upwards


@pytest.mark.parametrize(
    ("importer", "imported", "allowed"),
    [
        ("learned_schedulers.blocks.models.beam", "learned_schedulers.graphs.problems.problem", False),
        ("learned_schedulers.graphs.methods.go", "learned_schedulers.blocks.dag.effects", False),
        ("learned_schedulers.projects.methods.cp_sat", "learned_schedulers.graphs.problems.problem", False),
        ("learned_schedulers.blocks.models.beam", "learned_schedulers.learning.weights", True),
        ("learned_schedulers.command.order", "pipeline.lab.tables", False),
        ("pipeline.fusion.numbers", "pipeline.lab.rows", True),
        ("pipeline.fusion.numbers", "pipeline.placement.tables", True),
        ("pipeline.fusion.numbers", "pipeline.placement.numbers", False),
        ("pipeline.lab.inputs", "pipeline.corpus.tables", True),
        ("pipeline.lab.inputs", "pipeline.corpus.sets", False),
    ],
)
def test_rooms_that_may_import_each_other(importer: str, imported: str, allowed: bool) -> None:
    assert may_import(importer, imported) == allowed


def test_tests_and_benchmarks_import_each_other_nowhere() -> None:
    """Only the tests of benchmarks import benchmarks; a benchmark imports nothing of tests but `tests.trial`."""
    for folder, other in (("benchmarks", r"tests(?!\.trial\b)"), ("tests", "benchmarks")):
        paths = [path for path in (ROOT / folder).rglob("*.py") if ROOT / "tests/benchmarks" not in path.parents]
        assert paths
        for path in paths:
            assert not re.search(rf"^ *(?:from|import) {other}\b", path.read_text(), re.MULTILINE), path


def test_the_map_is_made_from_the_ranks() -> None:
    assert describe() in (ROOT / "pipeline/README.md").read_text(), "python -m pipeline.lab.wiring prints it"


def test_nothing_but_the_tracker_imports_mlflow() -> None:
    users = [name(path) for path in SOURCES if re.search(r"^\s*(import|from) mlflow", path.read_text(), re.MULTILINE)]
    assert users == ["pipeline.lab.stages.run_store"]
    callers = [name(path) for path in SOURCES if {*users} & {*imports(path)}]
    assert callers == ["pipeline.lab.stages.dashboard", "pipeline.lab.stages.track"]


def test_imports_are_ones_that_the_closure_sees() -> None:
    """Relative imports would be missed."""
    relative = [
        (path, node.lineno)
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert not relative


def test_a_closure_follows_imports_to_the_end() -> None:
    paths = closure("pipeline.lab.stages.judge")
    assert {
        "pipeline/lab/stages/judge.py",
        "learned_schedulers/blocks/processors/llvm_mca.py",
        "pipeline/lab/tables.py",
    } <= set(paths)
    assert paths == sorted(paths)
    assert not any("models" in path for path in paths)


def has_code(path: Path) -> bool:
    """More than a docstring."""
    body = ast.parse(path.read_text()).body
    return any(not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) for node in body)


@pytest.mark.parametrize("stage", ["ingest", "train"])
def test_a_closure_holds_all_that_python_loads(stage: str) -> None:
    loaded_files = "print(*(m.__file__ for name, m in sys.modules.items() if name.startswith('pipeline')))"
    module = chapters.stages()[stage]
    script = f"import sys, {module}; {loaded_files}"
    output = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    loaded = {Path(path) for path in output.split()}
    assert len(loaded) > 3
    names = {str(path.relative_to(ROOT)) for path in loaded if has_code(path)}
    assert names <= set(closure(module))


def rule_bodies() -> dict[str, str]:
    text = "\n".join(path.read_text() for path in sorted((ROOT / "pipeline").rglob("*.smk")))
    return dict(re.findall(r"^rule (\w+):\n(.*?)(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL))


def test_every_rule_depends_on_the_stage_it_runs() -> None:
    bodies = rule_bodies()
    assert len(bodies) > 30
    for rule, body in bodies.items():
        run = re.search(r'^    shell:\s+stage\("(\w+)"', body, re.MULTILINE)
        assert run, f"rule {rule} runs no stage"
        assert run[1] in chapters.stages() and f'src("{run[1]}"' in body, rule
        assert "    message:" in body, f"rule {rule} has no message"


def test_every_rule_has_options_a_log_and_a_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    """pipeline/lab/rules/common.smk gives options to each rule that has none of its own."""
    monkeypatch.chdir(ROOT)
    with SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api:
        settings = ResourceSettings(), ConfigSettings(configfiles=[Path("params.test.yaml")])
        api.workflow(*settings, snakefile=Path("Snakefile")).dag(DAGSettings(targets=["all_fetch"]))
        rules = {rule.name: rule for rule in api._workflow_api._workflow.rules}
    for name in rule_bodies():
        rule = rules[name]
        assert "options" in rule.params.keys() and f"logs/{name}" in str(rule.log), name  # noqa: SIM118 - no mapping
        assert f"benchmarks/rules/{name}" in str(rule.benchmark), name


def options_of(stage: str) -> set[str]:
    """Names of the options of a stage's `main`, as it declares them."""
    declared = get_type_hints(import_module(chapters.stages()[stage]).main, include_extras=True)
    words = {name: hint.__metadata__[0].default for name, hint in declared.items() if name != "return"}
    return {word.removeprefix("--") if isinstance(word, str) else name for name, word in words.items()}


def test_what_a_rule_names_is_an_option_of_its_stage() -> None:
    """Named inputs and outputs of a rule, and what it gives its stage besides, become options (rules/common.smk)."""
    for rule, body in rule_bodies().items():
        parts = dict(re.findall(r"^    (input|output):\n(.*?)(?=^    \w|\Z)", body, re.MULTILINE | re.DOTALL))
        call = re.search(r'^    shell:\s+stage\("(\w+)"(.*)\)$', body, re.MULTILINE)
        assert call
        read = parts["input"] + ("" if re.search(r"reading\b", body) else parts["output"])
        named = set(re.findall(r"^        (\w+)=", read, re.MULTILINE)) - {"src", "files"}
        named |= set(re.findall(r'"(\w+)"', re.sub(r"\w+=\"[^\"]*\"", "", call[2]))) | set(
            re.findall(r"(\w+)=", call[2])
        )
        assert named and named <= options_of(call[1]), (rule, sorted(named - options_of(call[1])))
