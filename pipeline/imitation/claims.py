"""Claims about networks that imitate GCC, and the goals of which they are a part."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab import paper
from pipeline.lab.claims import Claim, row_of
from pipeline.lab.page.numbers import number, percent

SECOND = "imitation_second"  # the second round, on fresh blocks
_SHORT, _VALID = paper.TABLE_1["popocs_20"], paper.TABLE_1["popocs_150"]["valid_share"]
_TAU = "kendall_tau_distance"
# Set (none: each of them), metric, target, question, how it is printed, the paper's number on its own blocks of 5.
_GOALS = (
    ("test_5", "exact_match", ">= 0.9", "Exact match, 5 instructions", "percent", percent(_SHORT["exact_match"])),
    ("test_5", _TAU, "<= 0.02", "Kendall tau distance, 5 instructions", "number", number(_SHORT[_TAU])),
    ("test_4_40", "exact_match", ">= 0.8", "Exact match, 4 to 40 instructions, same programs", "percent", ""),
    ("test_programs_4_40", "exact_match", ">= 0.65", "Exact match, 4 to 40, other programs", "percent", ""),
    ("", "valid_share", "== 1", "Valid schedules, each set", "percent", percent(_VALID)),
)
_ON_FRESH = (
    (
        "imitation_5_exact", "fresh_5", "exact_match", ">= 0.9",
        "Fresh blocks of 5: how many orders of a network that also sees the four instructions that follow are exact?",
    ),
    ("imitation_5_tau", "fresh_5", _TAU, "<= 0.02", "Their Kendall tau distance"),
    ("imitation_4_40_exact", "fresh_4_40", "exact_match", ">= 0.86", "Exact on fresh blocks of 4 to 40"),
    ("imitation_programs_exact", "fresh_imitated_programs_4_40", "exact_match", ">= 0.72", "The same, other programs"),
)  # fmt: skip


def claims() -> Iterator[Claim]:
    """Networks that put blocks of all lengths in GCC's order."""
    for model, network in (("attention_pointer", "block alone"), ("attention_pointer_following", "following")):
        for decoder in ("greedy", "beam"):
            for tested, metric, target, question, write, papers in _GOALS:
                name = "_".join(part for part in ("imitation", model, decoder, tested, metric) if part)
                row = row_of("imitation", method=model, decoder=decoder, metric=metric)
                row |= {"set": tested} if tested else {}
                yield Claim(name, target, row).asked(f"{question} ({network}, {decoder})", write, papers)
    for name, tested, metric, target, question in _ON_FRESH:
        row = row_of(SECOND, set=tested, method="attention_pointer_second", decoder="greedy", metric=metric)
        front = "reproduction" if name == "imitation_5_exact" else ""
        yield Claim(name, target, row).asked(question, "number" if metric == _TAU else "percent", front=front)
    alone = row_of(SECOND, set="fresh_5", method="attention_pointer_alone", decoder="greedy", metric="exact_match")
    question = "Exact on fresh blocks of 5, by the network that sees the block alone"
    yield Claim("imitation_5_exact_block_alone", ">= 0.87", alone).asked(question)
    for name, metric, target, question in (
        ("reorder_blocks_per_second", "blocks_per_second", ">= 5000", "Blocks per second of the command, two cores"),
        ("reorder_lost_lines", "lost_lines", "== 0", "Lines of the command's input without a row"),
    ):
        row = row_of("imitation_speed", method="attention_pointer", decoder="greedy", metric=metric)
        yield Claim(name, target, row).asked(question, "count")
