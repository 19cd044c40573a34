"""What opens the page."""

from __future__ import annotations

from pipeline.lab.page.cards import Drawn

PICTURE = Drawn("leaderboard", "The best method of each board: its cost over the baseline's, with its interval")
