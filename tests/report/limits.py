"""Made-up tables of the bounds of imitators, and results of GCC 7.3's experiment."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

from pipeline.imitation.disagreement import CATEGORIES
from pipeline.imitation.tables import CEILING, TWINS
from tests.report import imitations, made

_AUDIT = ["feature", "group", "pairs", "agreement", "low", "high", "same_opcode_pairs", "same_opcode_agreement"]
NOTIONS = ("exact", "registers", "constants")
FEATURES = {  # feature -> (group, pairs, agreement)
    "depth": ("node", 60_000, 0.86),
    "frees": ("step", 26_000, 0.29),
    "has op0=mem": ("token", 25_000, 0.70),
    "address, right next": ("pair", 4_700, 0.66),
    "op2=imm": ("token", 4, 1.0),  # strong by chance
    "ready": ("step", 0, np.nan),
    "random number": ("control", 108_000, 0.499),
    "slot in another random legal order": ("control", 108_000, 0.652),
    "byte offset": ("leak reference", 108_000, 1.0),
    "rip displacement": ("leak reference", 430, 0.46),
    **{f"op{k}=reg": ("token", 60_000, 0.5 + 0.01 * k) for k in range(9)},
}


def ceiling() -> pd.DataFrame:
    """A thousand blocks of each length and kind; half of them, or a tenth with nothing renamed, in pairs."""
    rows = []
    for notion, lengths, orders, members, least in product(
        NOTIONS, ("5", "4-40"), ("all", "several"), ("blocks", "occurrences"), (2, 5)
    ):
        exact = notion == "exact"
        inside = (100 if exact else 500) if least == 2 else 0
        several = (1.0 if exact and members == "blocks" else 0.2) if inside else np.nan
        majority = 1 - several / 2  # of a pair of two orders one is right
        left_out = 1 - several
        alone = 900 if exact else 500
        rows.append(
            (notion, lengths, orders, members, least, inside // 2, inside, 1000, alone, several, majority, left_out)
        )
    return pd.DataFrame(rows, columns=CEILING.schema.names)


def twins() -> pd.DataFrame:
    rows = [
        (split, notion, orders, n, 0.1 + 0.2 * k, 0.15 * k, 0.05 * (k + 1), np.nan if k == 0 else 0.8 + 0.02 * k)
        for split, n in {"development": 12_087, **imitations.TESTED}.items()
        for k, notion in enumerate(NOTIONS)
        for orders in ("all", "several")
    ]
    return pd.DataFrame(rows, columns=TWINS.schema.names)


def wrong_blocks() -> pd.DataFrame:
    """One block of each category."""
    instructions = {"gcc_instruction": "mov rax, [rdi+0]", "predicted_instruction": "add rbx, 1"}
    return pd.DataFrame([{"category": name} | instructions for name in CATEGORIES])


def error_shares() -> pd.DataFrame:
    """Two hundred wrong blocks: 25, 23, 21 ... of the categories, and the remaining ones of `other`."""
    numbers = {name: 25 - 2 * k for k, name in enumerate(CATEGORIES)}
    numbers["other"] = 200 - sum(n for name, n in numbers.items() if name != "other")
    rows = [("category", name, n, n + 30 * (name == "cross_block")) for name, n in numbers.items()]
    rows += [("also_gcc", name, n, n) for name, n in (("nowhere", 70), ("registers", 65), ("itself, constants", 65))]
    frame = pd.DataFrame(rows, columns=["by", "name", "n_blocks", "n_holds"])
    share = frame["n_blocks"] / 200
    frame = frame.assign(share=share, low=share - 0.04, high=share + 0.04)
    return frame.assign(model="attention_pointer", set="test_4_40", seed="0")


def audit() -> pd.DataFrame:
    rows = []
    for feature, (group, pairs, agreement) in FEATURES.items():
        half = 1 / np.sqrt(pairs) if pairs and agreement < 1 else 0.0
        same = (pairs // 10, agreement / 2)
        rows.append((feature, group, pairs, agreement, agreement - half, agreement + half, *same))
    return pd.DataFrame(rows, columns=_AUDIT)


def input_results() -> pd.DataFrame:
    """Results of `imitation_input`: 0.7 with the order before scheduling, 0.6 with a random one, 0.1 otherwise."""
    rows = []
    for split, trained_alike in (("compiled_test", "from_input"), ("shuffled_test", "from_shuffled")):
        for model, exact in (("from_input", 0.7), ("from_shuffled", 0.6)):
            for decoder in ("greedy", "beam"):
                value = exact if model == trained_alike else 0.1
                rows += imitations.measured("imitation_input", split, model, decoder, value, ("0", "1", "2"), 900)
        for k, baseline in enumerate(imitations.BASELINES):
            rows += imitations.measured("imitation_input", split, baseline, "none", 0.2 + 0.05 * k, ("0",), 900)
    return made.results(rows)
