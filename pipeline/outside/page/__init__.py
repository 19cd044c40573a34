"""The page `outside`: its tables, figures and templates."""

from pipeline.lab.page.pages import Page

PAGE = Page(
    place=14,
    name="outside",
    short="instances of others",
    title="Instances of others",
    question="How far are our methods from the best makespans known of instances of others?",
    experiments=("outside_instances", "saga_peers", "mutated_instances", "newcomer_trials"),
    sections=("gaps", "saga", "mutated"),
)
