"""What opens the page."""

from __future__ import annotations

from pipeline.lab.page.cards import Picture

PICTURE = Picture(
    "opening_own_code",
    "Cycles over GCC's on the in-order Atom by each way to order, with the order of memory that x86 allows",
    "Cycles over GCC's, Atom, memory in order",
    ("learned", "policy", "search", "cp_sat", "list", "imitator"),
    2,
    {"experiment": "own_cycles", "set": "test_10_40", "dependencies": "tso", "target": "atom", "judge": "atom"}
    | {"metric": "cycles", "comparison": "ratio", "baseline": "gcc"},
    level=1.0,
)
