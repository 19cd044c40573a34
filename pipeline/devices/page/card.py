"""What opens the page."""

from __future__ import annotations

from pipeline.lab.page.cards import MAKESPANS, Picture

PICTURE = Picture(
    "opening_devices",
    "Makespan over list scheduling's on the target bandwidth, every kind of method",
    "Makespan over list scheduling's, slow links",
    ("heft", "metis", "annealing_on_target", "randomised_list", "annealing", "cp_sat", "brkga"),
    0,
    {"experiment": "devices", "set": "unseen_real", "target": "bandwidth", "baseline": "list_scheduling"} | MAKESPANS,
    level=1.0,
    decoders=("best",),
)
