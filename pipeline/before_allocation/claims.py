"""Claims about orders before register allocation: cycles saved, by search and at once, and that nothing differs."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, row_of

_EXPERIMENT = "before_allocation"
_OF_DEFAULT = {"metric": "cycles", "comparison": "ratio", "baseline": "llvm default"}


def claims() -> Iterator[Claim]:
    """Search and the learned first guess save cycles, learning helps the search, nothing differs or gets slower."""
    searched = row_of(
        _EXPERIMENT, set="test", method="learned_evolution_or_default", decoder="candidates_1000", **_OF_DEFAULT
    )
    yield Claim("before_allocation_gain_search", ">= 0.06", searched, "gain")
    guessed = row_of(_EXPERIMENT, set="test", method="learned", decoder="candidates_1", **_OF_DEFAULT)
    yield Claim("before_allocation_gain_first_guess", ">= 0.03", guessed, "gain")
    for candidates in (10, 100):
        columns = {"metric": "cycles", "comparison": "ratio", "baseline": "evolution"}
        decoder = f"candidates_{candidates}"
        learned = row_of(_EXPERIMENT, set="test", method="learned_evolution", decoder=decoder, **columns)
        yield Claim(f"before_allocation_learned_over_search_{candidates}", "> 0", learned, "gain")
    slower = row_of(
        _EXPERIMENT, set="test", method="chosen", metric="slower", comparison="difference", baseline="control"
    )
    yield Claim("before_allocation_slower_than_default", "<= 0", slower)
    different = row_of("before_allocation_states", set="all", method="every", metric="different")
    yield Claim("before_allocation_different", "== 0", different)
