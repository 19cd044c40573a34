"""The page `devices`: its tables, figures and templates."""

from pipeline.lab.page.pages import Page

PAGE = Page(
    place=7,
    name="devices",
    short="devices",
    title="Computation graphs on several devices",
    question=(
        "Which method schedules the operations of neural networks on several devices best, on the proxy and on "
        "targets that differ from it, how near is it to the optimum, and do the results hold on a real machine?"
    ),
    experiments=(
        "devices",
        "devices_quick",
        "excluded_optimum",
    ),
    sections=("comparison", "reach"),
)
