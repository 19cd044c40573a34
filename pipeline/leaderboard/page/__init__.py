"""The page `leaderboard`: its tables, made from files alone."""

from pipeline.lab.page.pages import Page

PAGE = Page(
    place=14,
    name="leaderboard",
    short="leaderboard",
    title="Leaderboard of schedulers of computation graphs",
    question="Which of all methods that were ever handed in has the shortest schedules, on each set and target?",
    experiments=(),  # every line has its own provenance
    sections=("boards",),
    fresh=("hand_ins",),
)
