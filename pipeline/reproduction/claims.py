"""Claims of the paper's tables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from pipeline.lab import paper
from pipeline.lab.claims import Claim, row_of
from pipeline.lab.page.names import decoder_label, label
from pipeline.lab.page.numbers import hundredths, more, points, signed
from pipeline.reproduction.numbers import OPERATORS, OPTIMISERS

# Metric -> the sign of the paper's difference, the question, how it is printed.
_BETTER = {
    "exact_match": (">", "Is accuracy (exact match) higher than Sinkhorn's?", "points"),
    "valid_share": (">", "Are more orders valid than Sinkhorn's?", "points"),
    "kendall_tau_distance": ("<", "Is the Kendall tau distance smaller than Sinkhorn's?", "signed"),
    "violations_per_block": ("<", "Are fewer dependencies violated than by Sinkhorn's?", "signed"),
}
_BLOCKS = "8,579 blocks of 5 instructions"
_FRONT = {  # claims of the front page -> the question
    "quick_test_5_popocs_20_exact_match": f"{_BLOCKS}, both trained by Adam, 3 seeds: are as many more orders exact "
    "than with Sinkhorn?",
    "quick_test_5_popocs_150_valid_share": f"{_BLOCKS}: are as many more orders legal, with 150 iterations?",
    "quick_test_5_paper_popocs_20_exact_match": "On the paper's dependencies, no flags: are as many more orders exact?",
}
_FACTORIAL_FRONT = {  # method of the factorial -> the question of the front page
    "popocs_sgd": "20,000 steps, each with its best learning rate, 3 seeds, no flags: are more orders exact by POPOCS "
    "than by Sinkhorn, both by SGD?",
    "popocs_adam": "The same by Adam: are more orders exact by POPOCS than by Sinkhorn?",
}
_LATENCY = {  # judge -> the question, and the paper's number
    "haswell_100": (
        "Is latency on Haswell on par with GCC's, POPOCS @20?",
        hundredths(paper.TABLE_2["popocs_20"] / paper.TABLE_2["gcc"] - 1),
    ),
    "atom": ("Is it on par on Atom, where order matters more?", ""),
}


def claims() -> Iterator[Claim]:
    """The paper's tables 1 and 2: its differences between POPOCS and Sinkhorn, as signs and as sizes."""
    more_iterations = ("popocs_40", "popocs_60", "popocs_150")
    for experiment, tested in (("quick", "test_5"), ("quick", "test_5_paper"), ("paper", "test_5_paper")):
        comparisons = [(metric, method, "sinkhorn") for metric in _BETTER for method in ("popocs_20", *more_iterations)]
        comparisons += [("valid_share", method, "popocs_20") for method in more_iterations]
        place = {"set": tested, "decoder": "hungarian"}
        for metric, method, baseline in comparisons:
            row = row_of(experiment, **place, method=method, metric=metric)
            row |= {"comparison": "difference", "baseline": baseline}
            name = f"{experiment}_{tested}_{method}_{metric}"
            sign, question, write = _BETTER[metric]
            if baseline == "popocs_20":
                question = "Are more orders valid than with 20 iterations?"
            size = paper.difference(method, baseline, metric)
            papers = points(size) if write == "points" else signed(size)
            claim = Claim(f"{name}_minus_{baseline}", f"{sign} 0", row)
            yield claim.as_question(f"{question} {label(method)}", write, papers)
            claim = Claim(f"{name}_minus_{baseline}_as_in_paper", f"{sign}= {size:.4g}", row)
            if name in _FRONT and baseline == "sinkhorn":
                yield claim.as_question(_FRONT[name], "more", more(size), "reproduction")
            else:
                yield claim.as_question("By as much as in the paper?", write, papers)
        for judge, (question, papers) in _LATENCY.items():  # the paper's judge is the first
            cost = {"metric": "cycles", "judge": judge}
            row = row_of(experiment, **place, method="popocs_20", **cost)
            row |= {"comparison": "difference", "baseline": "gcc"}
            gcc = row_of(experiment, set=tested, method="gcc", **cost)
            target = f"< {paper.ON_PAR_SHARE:.4g}"
            claim = Claim(f"{experiment}_{tested}_gap_to_gcc_{judge}", target, row, "share", gcc)
            yield claim.as_question(question, "hundredths", papers)
        for decoder in ("topological", "expected_slots", "best"):
            row = row_of(experiment, set=tested, decoder=decoder, metric="valid_share")
            claim = Claim(f"{experiment}_{tested}_valid_share_{decoder}", "== 1", row)
            yield claim.as_question(f"Is every order of decoder `{decoder}`, legal by construction, valid?")
    yield from _factorial()
    # The kind of processor, and the table that it made otherwise, are in the source.
    differing = {"experiment": "processor_kinds", "metric": "values_that_differ"}
    question = "How many values of the tiny corpus's tables differ between kinds of processors?"
    yield Claim("values_that_differ_between_processors", "== 0", differing).as_question(question, "count")


def _factorial() -> Iterator[Claim]:
    """What an operator changes by the same optimiser, and an optimiser by the same operator."""
    of_operators = [(f"{name}_{by}", f"sinkhorn_{by}") for name in OPERATORS[1:] for by in OPTIMISERS]
    of_optimisers = [(f"{name}_adam", f"{name}_sgd") for name in OPERATORS]
    for (method, baseline), decoder in product([*of_operators, *of_optimisers], ("hungarian", "best")):
        place = {"set": "test_5_paper", "decoder": decoder, "method": method, "metric": "exact_match"}
        row = row_of("factorial", **place, comparison="difference", baseline=baseline)
        claim = Claim(f"factorial_{method}_minus_{baseline}_{decoder}", "> 0", row)
        question = f"Are more orders exact by {label(method)} than by {label(baseline)} ({decoder_label(decoder)})?"
        if method in _FACTORIAL_FRONT and decoder == "hungarian" and baseline.startswith("sinkhorn"):
            yield claim.as_question(_FACTORIAL_FRONT[method], "more", front="reproduction")
        else:
            yield claim.as_question(question, "points")
