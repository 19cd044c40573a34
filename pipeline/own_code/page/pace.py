"""The command as a user experiences it: blocks per second, start-up, lines, memory (frozen)."""

from __future__ import annotations

from functools import partial
from typing import Any

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import mode
from pipeline.lab.page.numbers import count, number, spread, two
from pipeline.lab.page.tables import Column, lines, metric, of, table, value

EXPERIMENT, STREAMED, DISTINCT, SECTIONS = "own_speed", "streamed", "distinct", "sections"
TIMED: list[Column] = [
    ("Method", of("method", mode)),
    ("Processor", of("target")),
    ("Blocks per second", metric(partial(spread, write=count), "blocks_per_second")),
    ("Seconds to start", metric(partial(spread, write=two), "start_up_seconds")),
    ("Seconds in total", metric(partial(spread, write=partial(number, digits=1)), "command_seconds")),
    ("Lines", value(count, "lost_lines", "n")),
    ("Lost", value(count, "lost_lines")),
]
LARGE: list[Column] = [
    *TIMED[:2],
    ("Lines", value(count, "peak_memory_gb", "n")),
    ("Largest memory, GB", value(two, "peak_memory_gb")),
    ("Seconds in total", value(count, "command_seconds")),
    ("Lost", value(count, "lost_lines")),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables; they are empty if the benchmark was not run."""
    rows = evidence.of(EXPERIMENT)
    by = ["method", "target"]
    of_set = {name: rows[rows["set"] == name] for name in ("all", SECTIONS, DISTINCT, STREAMED)}
    order = {"method": ["policy", "learned", "search"]}
    return {
        "timed": table(TIMED, lines(of_set["all"], by, order), right=2),
        "distinct": table(TIMED, lines(of_set[DISTINCT], by, order), right=2),
        "sections": [value(two, "read_seconds")(line) for line in lines(of_set[SECTIONS], ["set"])],
        "large": table(LARGE, lines(of_set[STREAMED], by), right=2),
    }
