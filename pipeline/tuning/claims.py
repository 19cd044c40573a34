"""Claims about tuned programs of others, and about the judge that chooses versions in them."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, row_of

_GAINS = (
    ("clang", "tuned", "clang", ">= 0.1", "What does tuning save of the time of clang's builds?"),
    ("better_compiler", "tuned", "better_compiler", ">= 0.05", "And beside the best of GCC and clang, aligned or not?"),
    ("pgo", "tuned_upon_pgo", "pgo", "> 0", "Upon clang with a profile (PGO): what does tuning save of its time?"),
)
_OTHERS = (
    ("slower_programs", "<= 0", "count", "How many programs are slower than the project's own build?"),
    ("tests_failing", "<= 0", "count", "How many versions made a program's own tests fail?"),
    ("rank_correlation", ">= 0.98", "two", "How alike do two runs of the judge rank orders of a function?"),
    ("candidates_per_minute", ">= 300", "count", "How many versions are compiled and judged in a minute?"),
    ("minutes", "<= 10", "digits", "How many minutes does the tuning of a program take, building included?"),
)


def claims() -> Iterator[Claim]:
    """Programs get faster than any compiler makes them, none gets slower, and the judge is exact and quick."""
    of_tuned = {"method": "tuned", "target": "this_machine", "set": "all"}
    for name, way, over, target, question in _GAINS:
        row = row_of("tuning", **of_tuned | {"method": way}, metric="time", comparison="ratio", baseline=over)
        yield Claim(f"tune_gain_over_{name}", target, row, "gain").as_question(question)
    row = row_of("tuning", set="all", method="learned", target="this_machine", metric="time", comparison="ratio")
    for over, name in (("unlearned", "the same search with unlearned weights"), ("random", "random legal orders")):
        question = f"After one minute, what do learned weights save over {name}?"
        claim = Claim(f"tune_learned_over_{over}_1_minute", "> 0", row | {"baseline": over}, "gain")
        yield claim.as_question(question)
    for metric, target, write, question in _OTHERS:
        yield Claim(f"tune_{metric}", target, row_of("tuning", **of_tuned, metric=metric)).as_question(question, write)
