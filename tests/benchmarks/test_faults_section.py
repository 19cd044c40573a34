"""The tally of injected faults on its page."""

import pandas as pd

from benchmarks.faults.fault_table import tally
from pipeline.lab import published
from pipeline.lab.page.evidence import Evidence
from pipeline.scale.page import faults
from pipeline.scale.tables import FAULTS

CASES = [("run", "full disk", "same bytes"), ("run", "full disk", "silent"), ("stage", "killed", "refused")]


def rows() -> pd.DataFrame:
    cases = published.empty(FAULTS)
    for number, (scope, kind, outcome) in enumerate(CASES):
        cases.loc[number] = {
            **{"date": "", "commit": "a", "seed": 1, "number": number, "scope": scope, "kind": kind, "target": "all"},
            **{"moment": "", "outcome": outcome, "commands": 1, "seconds": 1.0, "message": ""},
        }
    return tally(cases)


def test_every_kind_is_a_line_and_the_last_line_is_of_all() -> None:
    table = faults.section(Evidence({}, rows(), {}))["kinds"]
    assert table.head[2:6] == ["Cases", "Same bytes", "Refused", "Silent"]
    assert [line[:6] for line in table.lines] == [
        ["whole run", "full disk", "2", "1", "0", "1"],
        ["one stage", "killed", "1", "0", "1", "0"],
        ["**all**", "", "3", "1", "1", "1"],
    ]


def test_nothing_is_shown_where_nothing_was_injected() -> None:
    assert not faults.section(Evidence({}, rows().iloc[:0], {}))["kinds"]
