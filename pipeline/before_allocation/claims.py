"""Claims about orders before register allocation: cycles saved, by search and at once, and that nothing differs."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, row_of

_OF_DEFAULT = {"metric": "cycles", "comparison": "ratio", "baseline": "llvm default"}


def claims() -> Iterator[Claim]:
    """Search and the learned first guess save cycles, learning helps the search, nothing differs or gets slower."""
    test = row_of("before_allocation", set="test")
    searched = test | _OF_DEFAULT | {"method": "learned_evolution_or_default", "decoder": "candidates_1000"}
    question = "What do a thousand measured orders save, or LLVM's default where that is not slower?"
    yield Claim("before_allocation_gain_search", ">= 0.06", searched, "gain").asked(question)
    guessed = test | _OF_DEFAULT | {"method": "learned", "decoder": "candidates_1"}
    question = "What does the learned order save, at once?"
    yield Claim("before_allocation_gain_first_guess", ">= 0.03", guessed, "gain").asked(question)
    for candidates in (10, 100):
        columns = {"metric": "cycles", "comparison": "ratio", "baseline": "evolution"}
        learned = test | columns | {"method": "learned_evolution", "decoder": f"candidates_{candidates}"}
        question = f"What do learned weights save over the same search without learning, of {candidates} orders?"
        claim = Claim(f"before_allocation_learned_over_search_{candidates}", "> 0", learned, "gain")
        yield claim.asked(question)
    slower = test | {"method": "chosen", "metric": "slower", "comparison": "difference", "baseline": "control"}
    question = "How many functions are slower than LLVM's default, less those of the control?"
    yield Claim("before_allocation_slower_than_default", "<= 0", slower).asked(question, "count")
    different = row_of("before_allocation_states", set="all", method="every", metric="different")
    question = "How many runs compute something else?"
    yield Claim("before_allocation_different", "== 0", different).asked(question, "count")
