"""Made-up tables of what bounds imitators, as their stages leave them, and results of GCC 7.3's experiment."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline import tables
from pipeline.analysis import tidy
from pipeline.analysis.disagreement import CATEGORIES
from pipeline.analysis.errors import shares
from pipeline.schemas import SCHEMAS
from tests.analysis import imitations

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
    return pd.DataFrame(rows, columns=SCHEMAS["ceiling"].names)


def twins() -> pd.DataFrame:
    rows = [
        (split, notion, orders, n, 0.1 + 0.2 * k, 0.15 * k, 0.05 * (k + 1), np.nan if k == 0 else 0.8 + 0.02 * k)
        for split, n in {"development": 12_087, **imitations.TESTED}.items()
        for k, notion in enumerate(NOTIONS)
        for orders in ("all", "several")
    ]
    return pd.DataFrame(rows, columns=SCHEMAS["twins"].names)


def errors() -> pd.DataFrame:
    """Two hundred wrong blocks: of the categories 25, 23, 21 ... and what is left of `other`."""
    numbers = {name: 25 - 2 * k for k, name in enumerate(CATEGORIES)}
    numbers["other"] = 200 - sum(n for name, n in numbers.items() if name != "other")
    places = ("nowhere", "registers", "itself, constants")
    rows = []
    for category, n in numbers.items():
        for k in range(n):
            holds = [category, *(["cross_block"] if k % 2 else []), "other"]
            rows.append(
                {
                    "block_id": f"{len(rows):032x}",
                    "n_instructions": 4,
                    "category": category,
                    "holds": list(dict.fromkeys(holds)),
                    "detail": "GCC ascending" if category == "memory_order" else "",
                    "also_gcc": places[k % 3],
                    "slot": 1,
                    "gcc_instruction": f"mov rax, [rdi+{k}]",
                    "predicted_instruction": "add rbx, 1",
                    "gcc_order": "push rbp; mov rax, [rdi]; add rbx, 1; ret",
                    "predicted_order": "push rbp; add rbx, 1; mov rax, [rdi]; ret",
                    "confidence": 0.123456789 if k else np.nan,
                }
            )
    return pd.DataFrame(rows, columns=SCHEMAS["errors"].names)


def error_shares() -> pd.DataFrame:
    return shares(errors(), 0.95)


def audit() -> pd.DataFrame:
    rows = []
    for feature, (group, pairs, agreement) in FEATURES.items():
        half = 1 / np.sqrt(pairs) if pairs and agreement < 1 else 0.0
        same = (pairs // 10, agreement / 2)
        rows.append((feature, group, pairs, agreement, agreement - half, agreement + half, *same))
    return pd.DataFrame(rows, columns=SCHEMAS["audit"].names)


def of_run(frame: pd.DataFrame) -> pd.DataFrame:
    """With the columns that publishing adds."""
    return frame.assign(model="attention_pointer", set="test_4_40", seed="0")


def measured(root: Path) -> dict[str, Path]:
    """Write the tables where the rules leave them; option of the stage -> path."""
    data = root / "data/imitations"
    found = {
        "ceiling": (ceiling(), "ceiling", "imitation/ceiling.parquet"),
        "twins": (twins(), "twins", "imitation/twins.parquet"),
        "audit": (audit(), "audit", "audit.parquet"),
        "errors": (errors(), "errors", "imitation/errors/attention_pointer/test_4_40/0.parquet"),
        "shares": (error_shares(), "error_shares", "imitation/error_shares/attention_pointer/test_4_40/0.parquet"),
    }
    for table, kind, path in found.values():
        tables.write(table, kind, data / path)
    return {name: data / path for name, (_, _, path) in found.items()}


def input_results() -> pd.DataFrame:
    """Of experiment `imitation_input`: 0.7 from the order before scheduling, 0.6 from a random one; 0.1 elsewhere."""
    rows = []
    for split, own in (("compiled_test", "from_input"), ("shuffled_test", "from_shuffled")):
        for model, exact in (("from_input", 0.7), ("from_shuffled", 0.6)):
            for decoder in ("greedy", "beam"):
                value = exact if model == own else 0.1
                rows += imitations.measured("imitation_input", split, model, decoder, value, ("0", "1", "2"), 900)
        for k, baseline in enumerate(imitations.BASELINES):
            rows += imitations.measured("imitation_input", split, baseline, "none", 0.2 + 0.05 * k, ("0",), 900)
    return pd.DataFrame(rows, columns=tidy.COLUMNS)
