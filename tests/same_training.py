"""Published numbers stay current through an edit of trainings that trains the same networks: digests are taken over.

`python -m tests.same_training COMMIT_BEFORE`, in a clean checkout of the commit with the edit; ten minutes. It trains
the networks of the experiments on the tiny corpus (params.test.yaml), with one process, from both commits: those of
every stage that depends on a source that differs. A stage is the same if all of its networks have the same weights and
histories, byte by byte. A source's digest in a provenance.json is replaced where the source was current before and

- every training stage that depends on the source is the same, and
- no other stage depends on it, whose numbers nothing here would compare.

Any other source keeps its digest, and its numbers stay marked.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

from pipeline import digests, wiring
from pipeline.analysis.provenance import Provenance
from pipeline.config.experiments import Fusion, Imitation, OnGraphs, Placement, Processors, Reproduction
from pipeline.config.params import Params, load
from pipeline.config.policy import Policy
from pipeline.places import path
from pipeline.stages.__main__ import STAGES
from tests.renaming import ROOT, checkout, run_tiny, taken_over

_RESUMED = "pipeline/stages/training.py"  # every stage that trains by gradients imports it


def closures() -> dict[str, set[str]]:
    """Every stage -> the sources that it depends on."""
    return {stage: set(wiring.closure(f"pipeline.stages.{stage}")) for stage in STAGES}


def networks(parameters: Params) -> dict[str, list[str]]:
    """Training stage -> weights and histories of its networks in all experiments, each with its first seed."""
    files: dict[str, list[str]] = {}
    for experiment, chosen in parameters.experiments.items():
        for model, settings in getattr(chosen, "models", {}).items():
            names = {"experiment": experiment, "model": model, "seed": str(chosen.seeds_of(model)[0])}
            match chosen:
                case Reproduction():
                    stage, kinds = "train", ("weights", "history")
                case Imitation() | Processors():
                    stage, kinds = "train_ordering", ("weights", "history")
                case Placement():
                    stage, kinds = "train_whole_graph", ("network_weights", "whole_graph_history")
                case Fusion():
                    stage, kinds = "train_fusing", ("network_weights", "whole_graph_history")
                case OnGraphs() if isinstance(settings, Policy):
                    stage, kinds = "train_policy", ("network_weights", "policy_history")
                case _:
                    stage, kinds = "train_slot_network", ("network_weights", "slot_history")
            if kinds[0] == "weights":
                names["dependencies"] = chosen.dependencies[0]
            files.setdefault(stage, []).extend(path(kind, **names) for kind in kinds)
    return files


def proven(differing: set[str], same: set[str], sources: dict[str, set[str]]) -> set[str]:
    """The sources that differ, but only stages that are the `same` depend on them; sources: of every stage."""
    others = set().union(*(of_stage for stage, of_stage in sources.items() if stage not in same))
    return (differing - others) & set().union(*(sources[stage] for stage in same))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", help="the commit before the edit of trainings")
    arguments = parser.parse_args()
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    status = ["git", "status", "--porcelain", "--", "pipeline", "benchmarks", "rules", "params.test.yaml"]
    if subprocess.run(status, cwd=ROOT, check=True, capture_output=True).stdout:
        parser.error("sources differ from the commit: commit the edit first, so that it can be named")
    records = {path: Provenance.read(path) for path in sorted(ROOT.glob("reports/published/*/provenance.json"))}
    names = {name for record in records.values() if isinstance(record.sources, dict) for name in record.sources}
    sources, trained = closures(), networks(load(ROOT / "params.test.yaml"))
    if missing := {stage for stage in STAGES if _RESUMED in sources[stage]} - set(trained):
        parser.error(f"no experiment of params.test.yaml trains by {sorted(missing)}: it would stay unproven")
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        old, new = checkout(arguments.before, Path(first)), checkout("HEAD", Path(second))
        every = names | set().union(*(sources[stage] for stage in trained))
        before, now = digests.of_sources(every, old), digests.of_sources(every, new)
        differing = {name for name in every if before.get(name) != now.get(name)}
        affected = {stage: files for stage, files in trained.items() if sources[stage] & differing}
        targets = [file for files in affected.values() for file in files]
        print(f"{len(differing)} sources differ; training {len(targets) // 2} networks by {sorted(affected)} twice ...")
        for folder in (old, new):
            run_tiny(folder, targets)
        same = {
            stage
            for stage, files in affected.items()
            if all((old / file).read_bytes() == (new / file).read_bytes() for file in files)
        }
    if different := sorted(set(affected) - same):
        print(f"the weights or histories of {different} differ: their sources are not taken over")
    evidence = (
        f"{sum(len(affected[stage]) for stage in same) // 2} networks trained on the tiny corpus by "
        f"{', '.join(sorted(same))} have the weights and histories of commit {arguments.before[:9]}, byte by byte"
    )
    equal = proven(differing, same, sources)
    for file, record in records.items():
        renewed = taken_over(record, before, now, equal, head[:9], "code for trainings", evidence)
        if renewed is not record:
            file.write_text(renewed.text())
            print(f"{file.parent.name}: {renewed.notes[-1]}")
    unproven = sorted(differing & names & set(before) - equal)
    print(f"{len(unproven)} are not proven, so that numbers made of them are older now: {unproven}")


if __name__ == "__main__":
    main()
