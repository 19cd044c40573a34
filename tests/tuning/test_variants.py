"""Builds of a project are exchanged file by file."""

from __future__ import annotations

import subprocess
from pathlib import Path

from learned_schedulers.tuning.benchmark import Benchmark, BenchmarkError
from learned_schedulers.tuning.variants import Variants


def test_builds_are_exchanged(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "source").write_text("source")
    (tree / "program").write_text("first")
    variants = Variants(tree, tmp_path / "store")
    (tree / "program").write_text("second build")
    (tree / "sub/library").write_text("one")
    variants.add("second")
    (tree / "program").write_text("3")
    (tree / "sub/library").write_text("three")
    variants.add("third")
    builds = {"second": ("second build", "one"), "third": ("3", "three")}
    for name in ("second", "third", "second"):
        variants.turn_to(name)
        assert ((tree / "program").read_text(), (tree / "sub/library").read_text()) == builds[name]
    assert not (tmp_path / "store/second/source").exists()
    assert sorted(path.name for path in tree.rglob("*") if path.is_file()) == ["library", "program", "source"]
    benchmark = Benchmark("cat program; echo written > output", tree)
    try:  # at the same time; what a benchmark writes stays out of the tree
        benchmark.together([variants.apart(name) for name in builds])
    except BenchmarkError:
        assert subprocess.run(["unshare", "-Urm", "true"], check=False).returncode  # it is forbidden here
    else:
        programs = [subprocess.check_output([*variants.apart(name), "cat program"], text=True) for name in builds]
        assert programs == ["second build", "3"] and not (tree / "output").exists()
    variants.turn_back()
    assert (tree / "program").read_text() == "3"
    variants.clear()
    assert not (tmp_path / "store").exists()
