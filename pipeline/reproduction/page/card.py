"""The card of POCSNet on the front page."""

from __future__ import annotations

from pipeline.lab import paper
from pipeline.lab.page.asked import Question
from pipeline.lab.page.cards import Card, Picture, more

_BLOCKS = "8,579 blocks of 5 instructions"
_EXACT = more(paper.difference("popocs_20", "sinkhorn", "exact_match"))
_VALID = more(paper.difference("popocs_150", "sinkhorn", "valid_share"))
CARD = Card(
    "[POCSNet, 2019](reproduction.md)",
    "A network puts the instructions of a basic block into GCC's order. POPOCS projects its output onto the block's "
    "dependencies. By Jain and Amarasinghe.",
    Picture(
        "front_pocsnet",
        "Exact match of the paper's methods and of simple schedulers on blocks of five instructions",
        "Blocks of 5 in GCC's exact order (experiment quick)",
        ("sinkhorn", "popocs_20", "popocs_150", "critical_path", "random_legal"),
        3,
        {"experiment": "quick", "set": "test_5", "metric": "exact_match", "comparison": "value"},
        {name: row["exact_match"] for name, row in paper.TABLE_1.items()},
    ),
    {
        "quick_test_5_popocs_20_exact_match_minus_sinkhorn_as_in_paper": Question(
            f"{_BLOCKS}, both trained by Adam, 3 seeds: are as many more orders exact than with Sinkhorn?", more, _EXACT
        ),
        "quick_test_5_paper_popocs_20_exact_match_minus_sinkhorn_as_in_paper": Question(
            "The same on the paper's dependencies, without flags?", more, _EXACT
        ),
        "quick_test_5_popocs_150_valid_share_minus_sinkhorn_as_in_paper": Question(
            f"{_BLOCKS}: are as many more orders legal, with 150 iterations?", more, _VALID
        ),
        "paper_test_5_paper_popocs_20_exact_match_minus_sinkhorn_as_in_paper": Question(
            "A row about optimisers: POPOCS by SGD beside Sinkhorn by Adam, one seed, another draw of blocks",
            more,
            _EXACT,
        ),
    },
)
