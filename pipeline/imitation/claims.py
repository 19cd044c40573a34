"""Claims about networks that imitate GCC, and the goals of which they are a part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.lab import paper
from pipeline.lab.claims import Claim, Row, row_of


@dataclass(frozen=True)
class Goal:
    """What imitators of GCC are to reach on a set, each of their sets where none is named; asked of every one of them.

    Goals and floors: issue 5 of this repository. Shares of 1, blocks per second.
    """

    question: str
    metric: str
    target: str  # of the claim
    set: str = ""
    paper: float | None = None  # Jain & Amarasinghe, 2019, Table 1: valid of POPOCS @150, the others of POPOCS @20
    floor: float | None = None
    floor_of: str = ""  # where the floor is of other blocks than the goal
    experiment: str = "imitation"

    @property
    def row(self) -> Row:
        """Columns of the rows that tell."""
        return {"metric": self.metric} | ({"set": self.set} if self.set else {})


SECOND = "imitation_second"  # the second round, on fresh blocks
_SHORT, _VALID = paper.TABLE_1["popocs_20"], paper.TABLE_1["popocs_150"]["valid_share"]
_TAU = "kendall_tau_distance"
GOALS = (
    Goal("Exact match, 5 instructions", "exact_match", ">= 0.9", "test_5", _SHORT["exact_match"], 0.82),
    Goal("Kendall tau distance, 5 instructions", _TAU, "<= 0.02", "test_5", _SHORT[_TAU], 0.034),
    Goal(
        "Exact match, 4 to 40 instructions, same programs", "exact_match", ">= 0.8", "test_4_40",
        floor=0.72, floor_of="4 to 20",
    ),
    Goal("Exact match, 4 to 40 instructions, other programs", "exact_match", ">= 0.65", "test_programs_4_40"),
    Goal("Valid schedules, each set", "valid_share", "== 1", paper=_VALID, floor=1.0),
    Goal(
        "Blocks per second, two cores, up to 40 instructions", "blocks_per_second", ">= 5000",
        experiment="imitation_speed",
    ),
)  # fmt: skip


def claims() -> Iterator[Claim]:
    """Networks that put blocks of all lengths in GCC's order."""
    for model in ("attention_pointer", "attention_pointer_following"):
        for decoder in ("greedy", "beam"):
            for goal in (goal for goal in GOALS if goal.experiment == "imitation"):
                name = "_".join(part for part in ("imitation", model, decoder, goal.set, goal.metric) if part)
                row = row_of(goal.experiment, method=model, decoder=decoder) | goal.row
                yield Claim(name, goal.target, row)
    for name, tested, metric, target in (
        ("imitation_5_exact", "fresh_5", "exact_match", ">= 0.9"),
        ("imitation_5_tau", "fresh_5", _TAU, "<= 0.02"),
        ("imitation_4_40_exact", "fresh_4_40", "exact_match", ">= 0.86"),
        ("imitation_programs_exact", "fresh_imitated_programs_4_40", "exact_match", ">= 0.72"),
    ):
        row = row_of(SECOND, set=tested, method="attention_pointer_second", decoder="greedy", metric=metric)
        yield Claim(name, target, row)
    alone = row_of(SECOND, set="fresh_5", method="attention_pointer_alone", decoder="greedy", metric="exact_match")
    yield Claim("imitation_5_exact_block_alone", ">= 0.87", alone)
    for name, metric, target in (
        ("reorder_blocks_per_second", "blocks_per_second", ">= 5000"),
        ("reorder_lost_lines", "lost_lines", "== 0"),
    ):
        row = row_of("imitation_speed", method="attention_pointer", decoder="greedy", metric=metric)
        yield Claim(name, target, row)
