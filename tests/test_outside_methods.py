"""Methods of other packages are found by their reference or entry point, and what is wrong with them is named."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from learned_schedulers import outside_methods
from learned_schedulers.graphs.method_settings import GraphEntry
from learned_schedulers.graphs.methods import Budget, make
from learned_schedulers.method_settings import entry, modules
from learned_schedulers.section import ConfigError, section
from tests.graphs.problems import drawn

SOURCE = """
from learned_schedulers.graphs.methods import Proposals
from learned_schedulers.method_settings import MethodSettings
import numpy as np

class OnOne:
    class Settings(MethodSettings):
        device: int = 0

    def __init__(self, settings):
        self._device = settings.device

    def propose(self, problem, rng, budget):
        n = len(problem)
        return Proposals(np.arange(n, dtype=np.int32)[None], np.full((1, n), self._device, np.int32))

class Plain:
    def __init__(self, settings):
        pass
    def solve(self, problems, rng, budget):
        raise NotImplementedError

class Bare:
    def solve(self, problems, rng, budget):
        return np.zeros(len(problems))[99]

class Nothing:
    pass

class Both(OnOne, Plain):
    pass

class Wrong(OnOne):
    Settings = dict

def function():
    pass
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package `their_methods` that offers two methods."""
    (tmp_path / "their_methods.py").write_text(SOURCE)
    (tmp_path / "their_broken_methods.py").write_text("import a_package_that_is_missing\n")
    (tmp_path / "their_mistyped_methods.py").write_text("import sys\nclass OnOne\n    pass\n")
    (tmp_path / "their_failing_methods.py").write_text("import sys\n\nsys.no_such_name\n")
    metadata = tmp_path / "their_package-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    (metadata / "top_level.txt").write_text("their_methods\n")
    lines = ["[learned_schedulers.methods]", "on_one = their_methods:OnOne", "plain = their_methods:Plain"]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for function in (outside_methods.offered, outside_methods.load):
        function.cache_clear()
    yield
    for function in (outside_methods.offered, outside_methods.load):
        function.cache_clear()
    sys.modules.pop("their_methods", None)


@pytest.mark.parametrize("name", ["on_one", "their_methods:OnOne"])
def test_a_method_of_another_package_is_made(package: None, name: str) -> None:
    settings = section(GraphEntry, f'{{"method": "{name}", "device": 1}}')
    assert modules("graph", settings) == [] and entry("graph", **settings.model_dump()) == settings
    problem = drawn.problem(np.random.default_rng(0), 5, 2)
    proposals = make(settings).propose(problem, np.random.default_rng(0), Budget())
    assert (proposals.placements == 1).all()


@pytest.mark.slow
def test_what_a_package_offers(package: None) -> None:
    both = {"on_one": "their_methods:OnOne", "plain": "their_methods:Plain"}
    assert outside_methods.offered() == both
    for name in ("their_methods", "their-package", "their_package"):
        assert outside_methods.offered_by(name) == both
    assert outside_methods.offered_by("numpy") == {}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("their_methods:OnTwo", "no attribute 'OnTwo'; name a class of the module their_methods"),
        ("their_methods:function", "this is no class"),
        ("no_such_package:OnOne", "there is no module no_such_package; install its package, or correct the name"),
        ("their_methods.inner:OnOne", "there is no module their_methods.inner"),
        ("their_broken_methods:OnOne", "a_package_that_is_missing.*; install what it needs"),
        ("./their_methods.py:OnOne", r"'\./their_methods\.py' is no name of a module; go to the folder of the file"),
        ("their_methods.py:OnOne", r"'their_methods\.py' is no name of a module"),
        ("/tmp/their methods:OnOne", "is no name of a module"),
        ("their_mistyped_methods:OnOne", r"their_mistyped_methods\.py:2: expected ':'"),
        ("their_failing_methods:OnOne", r"AttributeError: .*'no_such_name'.* \(their_failing_methods\.py:3\)"),
        ("their_methods:Wrong", "its class Settings must be derived from MethodSettings"),
        ("hefty", r"no method 'hefty'; there are .*, 'on_one' of their_methods:OnOne, .*; name that of another"),
    ],
)
def test_what_is_wrong_is_named(package: None, name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        section(GraphEntry, f'{{"method": "{name}"}}')


def test_a_constructor_that_takes_no_settings_is_named(package: None) -> None:
    with pytest.raises(ValueError, match=r"their_methods:Bare: .*too many.*def __init__\(self, settings, target\)"):
        outside_methods.check_constructor("their_methods:Bare", {"target"})
    with pytest.raises(ValueError, match=r"their_methods:Plain: .*'target'"):
        outside_methods.check_constructor("their_methods:Plain", {"target"})
    for name, resources in (("their_methods:Plain", ()), ("heft", ("target",))):
        outside_methods.check_constructor(name, resources)


def test_an_error_has_the_line_of_the_method_that_it_came_through(package: None) -> None:
    bare = outside_methods.load("their_methods:Bare")()
    with pytest.raises(IndexError) as raised:
        bare.solve([1], None, None)
    frames = raised.value.with_traceback(raised.tb.tb_next)
    line = SOURCE.splitlines().index("        return np.zeros(len(problems))[99]") + 1
    assert outside_methods.described(frames).endswith(f" (their_methods.py:{line})")
    assert outside_methods.described(ValueError("no place")) == "ValueError: no place"


def test_a_wrong_setting_is_told_in_one_line(package: None) -> None:
    for name, keys in (("their_methods:OnOne", {"device": "none"}), ("hefty", {})):
        with pytest.raises(ValueError, match=r"^(device: Input should be a valid integer|no method 'hefty')") as raised:
            entry("graph", name, **keys)
        assert "validation error" not in str(raised.value) and "\n" not in str(raised.value)
    with pytest.raises(ValueError, match=r"^width: Extra inputs are not permitted; 'their_methods:Plain' has"):
        entry("block", "their_methods:Plain", width=1)


def test_a_method_has_one_kind(package: None) -> None:
    with pytest.raises(ValueError, match="is for a block, not for a graph"):
        make(entry("graph", "their_methods:OnOne").model_copy(update={"method": "plain"}))
    for name, count in (("Nothing", 0), ("Both", 2)):
        with pytest.raises(ValueError, match=f"offers {count} of the functions propose"):
            outside_methods.kind_of(outside_methods.load(f"their_methods:{name}"))


def test_two_packages_with_one_name_are_refused(package: None, tmp_path: Path) -> None:
    metadata = tmp_path / "second-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: second\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[learned_schedulers.methods]\non_one = second:Other\n")
    with pytest.raises(ValueError, match=r"two packages offer a method 'on_one'.*name it by its reference"):
        outside_methods.offered()
    assert entry("graph", "their_methods:OnOne").method == "their_methods:OnOne"


def test_our_names_come_first(package: None, tmp_path: Path) -> None:
    points = tmp_path / "their_package-1.0.dist-info/entry_points.txt"
    points.write_text("[learned_schedulers.methods]\nheft = their_methods:OnOne\n")
    with pytest.raises(ValueError, match="'heft' is not given what it needs: target"):
        make(entry("graph", "heft"))
