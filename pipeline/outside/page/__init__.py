"""The page `outside`: its tables, figures and templates."""

from pipeline.lab.page.numbers import two
from pipeline.lab.page.pages import Page, Sentence

PAGE = Page(
    place=14,
    name="outside",
    short="instances of others",
    title="Instances of others",
    question="How far are our methods from the best makespans known of instances of others?",
    experiments=("outside_instances", "saga_peers", "mutated_instances", "newcomer_trials"),
    sections=("gaps", "saga", "mutated"),
    answer=(
        Sentence(
            "jobshop_gap_greedy", "On Taillard's job-shops a learned policy's first schedule is {} above the best known"
        ),
        Sentence("jobshop_gap_512", "The best of its 512 schedules is {} above it"),
        Sentence(
            "outside_minutes_to_own_method",
            "Newcomers, sessions of a language model, had a method of their own beside ours after {} minutes",
            two,
        ),
    ),
)
