"""Tables, figures and templates of the page `reproduction`."""

from pipeline.lab.page.pages import Page

PAGE = Page(
    place=1,
    name="reproduction",
    short="reproduction",
    title="POCSNet's tables, reproduced on real GCC 4.9 code",
    question="Do the paper's Table 1, Table 2 and Figure 3 hold on real machine code?",
    experiments=("quick", "paper", "processor_kinds"),
    sections=("paper_tables",),
    fresh=("sweep", "examples"),
)
