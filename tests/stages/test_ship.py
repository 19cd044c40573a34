"""The best training of each network goes into the package with its card; what cannot be shipped leaves nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from learned_schedulers.blocks.methods.on_machine import choice, guessing
from learned_schedulers.blocks.methods.on_machine.guessing import Weights
from learned_schedulers.blocks.models.inputs import Vocabulary
from learned_schedulers.blocks.models.ordering_network import OrderingNetwork
from learned_schedulers.blocks.order.targets import TARGETS
from learned_schedulers.graphs.models import policy
from learned_schedulers.graphs.models.whole_graph import network as whole_graph
from learned_schedulers.graphs.models.whole_graph.settings import Generalised, WholeGraph
from learned_schedulers.learning.weights import DIGESTS, digests
from learned_schedulers.projects.models import candidate_network
from learned_schedulers.projects.models.settings import CandidatePolicy
from pipeline.corpus.tables import SETS
from pipeline.lab import chapters, places, tables
from pipeline.lab.page.model_cards import SHIPPED
from pipeline.lab.rows import Quantity, results, row
from pipeline.lab.shared_tables import HISTORY, RESULTS
from pipeline.lab.stages import ship
from pipeline.outside.tables import JOB_SHOP_HISTORY
from pipeline.processors.tables import GUESS_HISTORY
from tests.blocks.models import imitated
from tests.graphs.models import small_policies

KINDS = ["imitator", "schedulers", "policy", "whole_graph", "job_shop"]
SMALL = WholeGraph(width=8, graph_layers=1, attention_layers=1, heads=2, segment=4)
# Of seed 0, 1, 2: rows (counter, split, number that counts); seed 1 is the best.
LOSSES = [[0.4, 0.3, 0.5], [0.25, 0.2, 0.9], [1.0]]
AT_END = [(0.5, 0.9), (1.0, 0.7), (0.8, 0.8)]  # the lowest at its end, though not before


def place(folder: Path, kind: str, **of: object) -> Path:
    names = {"experiment": "e", "dependencies": "full", "model": "m"} | of
    path = folder / places.pattern(kind).format(**names)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def train_orders(folder: Path) -> None:
    """Three trainings that imitate GCC."""
    settings = imitated.settings()
    for seed, losses in enumerate(LOSSES):
        torch.manual_seed(seed)
        OrderingNetwork(Vocabulary(["mov", "add"]), settings).save(place(folder, "weights", seed=seed))
        rows = [(100 * (k + 1), "development", loss, 0.5 + k / 10) for k, loss in enumerate(losses)]
        frame = pd.DataFrame([*rows, (100, "training", 0.0, 0.0)], columns=["step", "split", "loss", "exact_match"])
        tables.write(frame.assign(valid_share=1.0, learning_rate=0.1), HISTORY, place(folder, "history", seed=seed))


def train_guesses(folder: Path) -> None:
    """Three trainings of the first guess; the last round counts."""
    shapes = ((len(choice.FEATURES), 3), 3, (3, 2), 2, 2)
    for seed, (before, after) in enumerate(AT_END):
        guessing.save(
            Weights(*(np.full(shape, seed, np.float32) for shape in shapes)), place(folder, "weights", seed=seed)
        )
        rows = [(0, "development", before), (1, "training", np.nan), (1, "development", after)]
        frame = pd.DataFrame(rows, columns=["round", "split", "gap"]).assign(step=9, loss=0.5, learning_rate=0.1)
        tables.write(frame[::-1], GUESS_HISTORY, place(folder, "guess_history", seed=seed))


def list_blocks(folder: Path) -> None:
    """The table of the blocks of a training."""
    sets = pd.DataFrame({"block_id": [f"{k:032x}" for k in range(7)], "input_order": [[0, 1]] * 7})
    tables.write(sets, SETS, folder / "data/sets/training.parquet")


def train_graphs(folder: Path, kind: str) -> None:
    """Three trainings on graphs; their histories are in reverse."""
    for seed, (before, after) in enumerate(AT_END):
        torch.manual_seed(seed)
        weights = place(folder, "network_weights", seed=seed)
        if kind == "policy":
            policy.save(policy.make(small_policies.settings()), weights)
            rows = [(1, "development", 1 - before), (2, "development", 1 - after), (2, "training", 1.0)]
            frame = pd.DataFrame(rows, columns=["step", "split", "best"])
            frame = frame.assign(loss=0.1 * (seed == 2), gradient=1.0, mean=0.5, learning_rate=0.1)
        else:
            whole_graph.save(whole_graph.WholeGraph(SMALL), weights)
            rows = [(1, "development", before), (2, "training", 0.01), (2, "development", after)]
            frame = pd.DataFrame(rows, columns=["update", "split", "value"])
        tables.write(
            frame[::-1], chapters.tables()[SHIPPED[kind].history], place(folder, SHIPPED[kind].history, seed=seed)
        )


def train_job_shops(folder: Path) -> None:
    """Three trainings of the policy for job-shops; the last measurement counts."""
    for seed, (before, after) in enumerate(AT_END):
        torch.manual_seed(seed)
        candidate_network.save(candidate_network.CandidateNetwork(3), place(folder, "network_weights", seed=seed))
        rows = [(1, "development", before), (2, "training", 0.01), (2, "development", after)]
        frame = pd.DataFrame(rows, columns=["step", "split", "ratio"]).assign(loss=0.5, learning_rate=0.1)
        tables.write(frame[::-1], JOB_SHOP_HISTORY, place(folder, "job_shop_history", seed=seed))


def measured(kind: str) -> pd.DataFrame:
    """Results of the method `uses` and of another."""
    if kind == "imitator":
        of = {"experiment": "e", "set": "test_5", "method": "m", "decoder": "greedy"}
        shares = {"0": 0.123, "1": 0.456, "all": 0.9}
        metrics = ("exact_match", "kendall_tau_distance", "valid_share")
        return results([row(of, name, share, n=9, seed=seed) for seed, share in shares.items() for name in metrics])
    decoder, target, baseline = ("best", "proxy", "list_scheduling") if kind == "policy" else ("none", "all", "best")
    ratio = Quantity("makespan", "ratio", baseline, "simulator")
    of = {"experiment": "e", "set": "s", "decoder": decoder}
    values = [("uses", target, 0.87), ("uses", "pcie", 1.5), ("other", target, 0.55)]
    return results([row(of | {"method": name, "target": on}, ratio, value, seed="all") for name, on, value in values])


def prepare(folder: Path, kind: str) -> dict[str, Any]:
    """Trainings of a kind, and the stage's arguments for them."""
    arguments: dict[str, Any] = {"kind": kind, "out": folder / "package"}
    if kind in ("imitator", "schedulers"):
        (train_orders if kind == "imitator" else train_guesses)(folder)
        list_blocks(folder)
        arguments |= {"training": folder / "data/sets/training.parquet"}
        guess = {"hidden": [3, 2], "machines": TARGETS[:2], "blocks": 5, "training": "some"}
        arguments |= {"facts": json.dumps({"sources": ["qt56", "gcc"], "guess": guess})}
    elif kind == "job_shop":
        train_job_shops(folder)
        trained_network = CandidatePolicy(sizes=[(4, 3), (5, 4)], development=[(5, 4)], width=3, steps=7)
        arguments |= {"facts": json.dumps({"trained": trained_network.model_dump()})}
        return arguments
    else:
        train_graphs(folder, kind)
        trained = Generalised(training=["some_graphs"], development="d", links=["pcie"], updates=7)
        arguments |= {"methods": ["uses"], "facts": json.dumps({"trained": trained.model_dump()})}
    if kind != "schedulers":
        arguments["results"] = place(folder, "results")
        tables.write(measured(kind), RESULTS, arguments["results"])
    return arguments


def run(folder: Path, arguments: dict[str, Any]) -> None:
    """Ship whatever trainings there are now."""
    history = sorted(folder.rglob(Path(places.pattern(SHIPPED[arguments["kind"]].history)).name))
    ship.main(weights=sorted(folder.rglob("weights.safetensors")), history=history, **arguments)


SAYS = {
    "imitator": [
        "| 1 | 200 | 0.2000 | 60.0% | yes |", "| 0 | 200 | 0.3000 | 60.0% | |", "7 distinct blocks of qt56 and gcc",
        "45.6%", "2 tokens",
    ],
    "schedulers": ["| 1 | 70.00% | yes |", "5 blocks of qt56", "which has 7"],
    "policy": ["0.87", "| 30.0% | yes |"],
    "whole_graph": ["| 1 | 0.700 | yes |", "some_graphs", "-13.0%"],
    "job_shop": ["| 1 | 0.700 | yes |", "4 x 3, 5 x 4, 7 steps", "of width 3", "shortest of 64 schedules"],
}  # fmt: skip
KEEPS_TO_ITSELF = {"imitator": ["12.3%", "one sample"], "policy": ["0.55"], "whole_graph": ["50.0%", "-45.0%"]}


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_training_is_shipped_with_its_card(kind: str, tmp_path: Path) -> None:
    arguments = prepare(tmp_path, kind)
    run(tmp_path, arguments)
    out = tmp_path / "package"
    content = place(tmp_path, SHIPPED[kind].weights, seed=1).read_bytes()
    assert (out / SHIPPED[kind].file.name).read_bytes() == content
    in_package = {path.name: path.read_bytes() for path in out.glob("*.safetensors")}
    assert (out / DIGESTS).read_text() == digests(in_package) and SHIPPED[kind].load(out / SHIPPED[kind].file.name)
    card = re.sub(r" +", " ", (out / "README.md").read_text())
    assert "from 3 trainings" in card and card.count("yes |") == 1
    assert [text for text in SAYS[kind] if text not in card] == []
    assert [text for text in KEEPS_TO_ITSELF.get(kind, []) if text in card] == []


def test_among_equal_trainings_the_first_seed_is_the_best() -> None:
    frame = pd.DataFrame([(1, "development", 0.2)], columns=["step", "split", "loss"])
    assert list(SHIPPED["imitator"].best({"10": frame, "2": frame, "1": frame.assign(loss=0.1)})) == ["1", "2", "10"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_shipped_leaves_nothing(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = prepare(tmp_path, kind)
    best = place(tmp_path, SHIPPED[kind].weights, seed=1)
    content = best.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(ship, "LARGEST", len(content) - 1)
        with pytest.raises(ValueError, match=f"{len(content)} bytes of weights, at most {len(content) - 1} are"):
            run(tmp_path, arguments)
    best.write_bytes(content[:-10])
    with pytest.raises(ValueError, match=re.escape(f"{best} is not a file of weights")):
        run(tmp_path, arguments)
    table = SHIPPED[kind].history
    history = place(tmp_path, table, seed=2)
    rows = tables.read(chapters.tables()[table], history)
    tables.write(rows[rows["split"] == "training"].reset_index(drop=True), chapters.tables()[table], history)
    with pytest.raises(ValueError, match="seed 2 was not measured on development graphs or blocks"):
        run(tmp_path, arguments)
    history.unlink()
    with pytest.raises(ValueError, match="seeds 2 have weights or a history alone"):
        run(tmp_path, arguments)
    place(tmp_path, SHIPPED[kind].weights, seed=2).rename(place(tmp_path, SHIPPED[kind].weights, model="other", seed=2))
    with pytest.raises(ValueError, match=r"weights of several networks \(m, other\)"):
        run(tmp_path, arguments)
    assert not (tmp_path / "package").exists()
