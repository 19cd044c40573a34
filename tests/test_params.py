"""params.yaml and params.test.yaml are valid, and say what their entries and files are based on."""

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from learned_schedulers.section import ConfigError
from pipeline.lab.config.bases import lookup, resolve
from pipeline.lab.config.files import complete, read
from pipeline.lab.config.params import load

ROOT = Path(__file__).parents[1]


def test_both_files_are_valid() -> None:
    """Whether the tiny ones have all methods and experiments need not be compared: they are changes of the others."""
    real, tiny = (load(ROOT / name) for name in ("params.yaml", "params.test.yaml"))
    assert list(tiny.corpus.sources) == ["tiny"] and len(real.corpus.sources) > 1
    assert {*tiny.methods, *tiny.graph_methods} == {*real.methods, *real.graph_methods}
    left_out = {name for name in real.experiments if name.startswith("imitation_")}
    assert set(tiny.experiments) == set(real.experiments) - left_out


def test_files_are_joined_and_a_file_changes_another(tmp_path: Path) -> None:
    chapter = tmp_path / "chapter"
    chapter.mkdir()
    (chapter / "more.yaml").write_text("methods: {b: {base: a, x: 2}}\nsets: {s: {size: 1, parts: {p: 1}}}\n")
    (tmp_path / "params.yaml").write_text("include: '*/more.yaml'\nmethods: {a: {x: 1, list: [1, 2]}}\n")
    whole = {"methods": {"a": {"x": 1, "list": [1, 2]}, "b": {"base": "a", "x": 2}}}
    assert read(tmp_path / "params.yaml") == whole | {"sets": {"s": {"size": 1, "parts": {"p": 1}}}}
    changes = {"base": "params.yaml", "methods": {"a": {"x": None, "list": [3]}}, "sets": {"base": None, "t": {"n": 1}}}
    assert resolve(complete(changes, tmp_path / "tiny.yaml")) == {
        "methods": {"a": {"list": [3]}, "b": {"list": [3], "x": 2}},
        "sets": {"t": {"n": 1}},
    }
    assert complete({"methods": {"c": {}}}, tmp_path / "params.yaml") == {"methods": {"c": {}}}
    (tmp_path / "again.yaml").write_text("base: again.yaml\n")
    with pytest.raises(ConfigError, match=r"again.yaml changes a file itself"):
        read(tmp_path / "again.yaml")
    (chapter / "more.yaml").write_text("methods: {a: {x: 2}}\n")
    with pytest.raises(ConfigError, match=r"methods\.a is in .*/params\.yaml and in .*/chapter/more\.yaml"):
        read(tmp_path / "params.yaml")


def test_an_entry_takes_over_what_it_is_based_on() -> None:
    params = {
        "bases": {"a": {"x": 1, "deep": {"y": 2, "z": 3}}, "b": {"base": "a", "x": 5}},
        "models": {"b": {"base": "b", "deep": {"z": 4}}, "c": {"base": "b", "w": 0}, "plain": {"x": 0}},
    }
    assert resolve(params) == {
        "models": {
            "b": {"x": 5, "deep": {"y": 2, "z": 4}},  # its own name means the section `bases`
            "c": {"x": 5, "deep": {"y": 2, "z": 4}, "w": 0},  # an entry beside it comes first
            "plain": {"x": 0},
        }
    }
    assert lookup(params, "models.c.deep.z") == 4


def test_a_base_that_leads_nowhere_is_named() -> None:
    with pytest.raises(ConfigError, match=r"models\.a\.base is 'nobody'.*beside it are \['a'\]"):
        resolve({"models": {"a": {"base": "nobody"}}})
    with pytest.raises(ConfigError, match=r"break the circle"):
        resolve({"models": {"a": {"base": "b"}, "b": {"base": "a"}}})


def test_a_command_prints_the_resolved_form_of_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    import typer

    from pipeline.lab.config.__main__ import main

    monkeypatch.chdir(ROOT)
    app = typer.Typer()
    app.command()(main)
    result = CliRunner().invoke(app, ["experiments.quick.models.popocs"])
    assert result.exit_code == 0 and yaml.safe_load(result.stdout)["operator"] == "popocs"
    assert yaml.safe_load(result.stdout)["hidden"] == 256
    wrong = CliRunner().invoke(app, ["experiments.quick.models.nobody"])
    assert wrong.exit_code == 1


def faulty(tmp_path: Path, key: str, value: object) -> str:
    """The message for the tiny parameters with one key changed."""
    params = read(ROOT / "params.test.yaml")
    *sections, last = key.split("/")
    place = params
    for part in sections:
        place = place[part]
    place[last] = value
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params))
    with pytest.raises(ConfigError) as error:
        load(tmp_path / "params.yaml")
    return str(error.value)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("tokens/min_cuont", 2, r"tokens.min_cuont: unknown key"),
        ("experiments/quick/methods", ["nobody"], "experiments.quick.methods names ['nobody']; there are"),
        ("experiments/quick/sets", ["nowhere"], "experiments.quick.sets names ['nowhere']"),
        ("experiments/imitation/other_seeds", {"nobody": [5]}, "other_seeds names ['nobody']"),
        ("experiments/imitation/shipped", "nobody", "shipped is 'nobody'"),
        ("experiments/schedulers/judges", ["z80"], "experiments.schedulers.judges names ['z80']"),
        ("experiments/first_guess/guesses/guess/training", "nowhere", "first_guess.guesses names ['nowhere']"),
        ("experiments/imitation/models/attention_pointer/machines", ["atom"], "machines: List should have at most 0"),
        ("methods/search/evaluatoins", 3, "evaluatoins"),
        ("methods/popocs_20/model", "nobody", "methods.popocs_20.model is 'nobody'"),
        ("experiments/gflownet_large/networks", "nothing", "experiments.gflownet_large.networks names ['nothing']"),
        (
            "experiments/gflownet_large/networks",
            "devices",
            "experiments.gflownet_large.methods names ['gflownet', 'ppo', 'robust']",
        ),
        ("experiments/placement/experts", ["nobody"], "experts names ['nobody']"),
        (
            "experiments/placement/shown",
            {"set": "placement_tiny", "graph": "g", "link": "x", "methods": ["go"]},
            "shown.link",
        ),
        ("experiments/fusion/machine", "nothing", "experiments.fusion.machine names ['nothing']"),
        ("report/experiments", ["nothing"], "report.experiments names ['nothing']"),
    ],
)
def test_a_wrong_key_is_named_with_its_remedy(tmp_path: Path, key: str, value: object, message: str) -> None:
    assert message in faulty(tmp_path, key, value)


def test_networks_and_seeds_of_methods() -> None:
    params = load(ROOT / "params.test.yaml")
    assert params.trained_by("gflownet", "robust") == params.trained_by("gflownet_large", "robust") == "gflownet"
    assert params.trained_by("gflownet_uniform", "uniform") == "gflownet_uniform"
    assert params.seeds("imitation", "attention_pointer") == [0, 1, 2]
    assert params.seeds("imitation", "attention_pointer_following") == [0]
    assert params.seeds("imitation", "critical_path") == [0] and params.seeds("quick", "critical_path") == [0, 1]
    network = params.network("first_guess", "first_guess")
    assert network is not None and (network.experiment, network.model) == ("first_guess", "guess")
    assert params.serves("schedulers", "cp_sat", "atom") and not params.serves("schedulers", "cp_sat", "haswell")
