"""Sorting by single features: known answers, and a detected leak."""

import numpy as np
import pandas as pd
import pytest

from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.blocks.problems.instructions import Encodings
from pipeline.imitation.audit import audit
from pipeline.imitation.features import leaks, of_tokens, parsed
from pipeline.imitation.tables import AUDIT
from tests.analysis.coded import NEXT_RAX
from tests.blocks.models.imitated import INSTRUCTIONS, corpus


@pytest.mark.parametrize(
    ("token", "kind", "value"),
    [
        ("disp:-24", "disp", -24),
        ("disp~-5", "disp~", -5),
        ("op1=imm:7", "op1=imm", 7),
        ("op1=imm~+3", "op1=imm~", 3),
        ("op0=mem:16", "op0=mem", 16),
    ],
)
def test_a_token_is_kind_and_value(token: str, kind: str, value: float) -> None:
    assert parsed(token) == (kind, value)


def test_names_are_numbers() -> None:
    assert parsed("reg:rax")[1] < parsed("reg:rbx")[1]
    assert parsed("base:rax")[0] == "base"
    assert parsed("base:rbx+-8")[0] == "base+disp"
    assert parsed("base:rax+64")[1] < parsed("base:rbx+-8")[1] < parsed("base:rbx+0")[1]
    assert parsed("index:rdx*4")[0] == "index*scale"
    assert parsed("code:add_rm8_r8")[0] == "code"
    with pytest.raises(ValueError):
        parsed("something")


def test_the_first_token_of_a_kind_counts() -> None:
    compared = np.zeros((2, 7), np.int64)
    encodings = Encodings(["disp:1", "disp:5"], np.array([1, 0], np.int32), np.array([0, 2, 2]), compared)
    features = of_tokens(encodings)
    assert features["disp"][0] == 5
    assert np.isnan(features["disp"][1])
    assert features["has disp"].tolist() == [1, 0]


def test_every_token_has_a_value() -> None:
    _, encodings, _ = corpus(20)
    assert {parsed(token)[0] for token in encodings.tokens} >= {"code", "mnemonic", "op0=reg", "disp", "op1=imm"}


def audited(size: int = 300) -> pd.DataFrame:
    store, encodings, sample = corpus(size)
    rows = store.instructions  # the corpus' distinct instructions are INSTRUCTIONS, sorted by their bytes
    names = sorted(INSTRUCTIONS)

    parts = [rows[store.first[i] : store.first[i + 1]] for i in range(len(store.lengths))]
    found_at = [(b"".join(names[row] for row in part), 4096) for part in parts]
    return audit(store, encodings, sample, found_at, random_ready, 0.95, 0)


def test_features_are_sorted_by() -> None:
    """The synthetic compiler loads from low addresses first."""
    table = audited()
    assert list(table.columns) == AUDIT.schema.names
    features = table.set_index("feature")
    offset = features.loc["byte offset"]
    assert (offset.agreement, offset.low, offset.high) == (1, 1, 1)
    chance = features.loc["random number"]
    assert chance.low < 0.5 < chance.high
    assert offset.pairs == chance.pairs == features.loc["shown slot"].pairs
    loads = features.loc["address, right next"]
    assert loads.pairs > 0
    assert loads.agreement == 1
    assert features.loc["ready"].pairs == 0
    assert np.isnan(features.loc["ready"].agreement)
    shown, redrawn = features.loc["shown slot"], features.loc["slot in another random legal order"]
    assert shown.low < redrawn.agreement < shown.high


def test_leak_references_are_of_the_code_as_found() -> None:
    code = bytes.fromhex("488b0510000000488b0d09000000" + NEXT_RAX)  # two loads of one place
    features = leaks(code, 4096)
    assert features["byte offset"].tolist() == [0, 7, 14]
    assert features["rip displacement"][:2].tolist() == [16, 9]
    assert features["rip target"][0] == features["rip target"][1] == 4096 + 7 + 16
    assert np.isnan(features["rip target"][2])
    assert features["bytes of the instruction"].tolist() == [7, 7, 4]
