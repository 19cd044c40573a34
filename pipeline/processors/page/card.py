"""The lines of the front page's figure about the orders of blocks."""

from __future__ import annotations

from pipeline.lab.page.cards import Picture, Worth

_BLOCKS = {"experiment": "first_guess", "set": "fresh_guess_10_40", "metric": "cycles", "comparison": "ratio"}
_METHODS = {
    "heuristic": {"method": "list_scheduling_critical_path"},
    "learned": {"method": "first_guess"},
    "searched": {"method": "search"},
}
WORTH = tuple(
    Worth(
        f"Instructions of a block,\n{name}; over GCC's order",
        {**_BLOCKS, "baseline": "gcc", "judge": judge},
        **_METHODS,
    )
    for judge, name in (("atom", "in-order Atom"), ("haswell", "out-of-order Haswell"))
)
PICTURE = Picture(
    "opening_processors",
    "Cycles over GCC's on the in-order Atom, the first guess beside rules and searches",
    "Cycles over GCC's, Atom, blocks of 10 to 40",
    ("first_guess", "first_guess_10", "search", "search_10", "list_scheduling", "random_legal"),
    2,
    {**_BLOCKS, "baseline": "gcc", "judge": "atom"},
    level=1.0,
)
