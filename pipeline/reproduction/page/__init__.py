"""Tables, figures and templates of the page `reproduction`."""

from pipeline.lab.page.numbers import points
from pipeline.lab.page.pages import Page, Sentence

PAGE = Page(
    place=1,
    name="reproduction",
    short="reproduction",
    title="POCSNet's tables, reproduced on real GCC 4.9 code",
    question="Do the paper's Table 1, Table 2 and Figure 3 hold on real machine code?",
    experiments=("quick", "paper", "processor_kinds"),
    sections=("paper_tables",),
    fresh=("sweep", "examples"),
    answer=(
        Sentence(
            "quick_test_5_popocs_20_exact_match_minus_sinkhorn_as_in_paper",
            "If both are trained by Adam, the share of exact orders is, with POPOCS beside Sinkhorn, {}",
            points,
        ),
        Sentence(
            "quick_test_5_paper_popocs_20_exact_match_minus_sinkhorn_as_in_paper",
            "On the paper's dependencies it is {}",
            points,
        ),
        Sentence(
            "paper_test_5_paper_popocs_20_exact_match_minus_sinkhorn_as_in_paper",
            "Where POPOCS is trained by SGD and Sinkhorn by Adam, one seed each, it is {}, which compares optimisers",
            points,
        ),
        Sentence(
            "quick_test_5_popocs_150_valid_share_minus_sinkhorn_as_in_paper",
            "The share of legal orders is, beside Sinkhorn's, {}",
            points,
        ),
    ),
)
