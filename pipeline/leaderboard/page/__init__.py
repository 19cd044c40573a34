"""The page `leaderboard`: its tables, made from files alone."""

from pipeline.lab.page.pages import Page

PAGE = Page(
    place=14,
    name="leaderboard",
    short="leaderboard",
    title="Leaderboard of methods that were handed in",
    question="Which of all methods that were ever handed in is the best, on each set and target?",
    experiments=(),  # every line has its own provenance
    sections=("boards",),
    fresh=("hand_ins",),
)
