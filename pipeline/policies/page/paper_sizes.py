"""The paper's condition on graphs of the paper's sizes, trained for longer, on targets of all strengths."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd

from pipeline.lab import paper_devices as paper
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import LIST, METHOD, OF_PAPER, of_set
from pipeline.lab.page.numbers import percent, spread
from pipeline.lab.page.plots import drawings
from pipeline.lab.page.tables import Column, Table, lines, metric, table
from pipeline.policies.page import gains, paper_tables, pictures, training
from pipeline.policies.page.shared import RULES, SIZES

SET, DEVELOPMENT = "paper_sizes", "development"
CHANGING = ("bandwidth", "latency")  # targets of several strengths
DRAWN = ("randomised_list", "brkga", "ppo", "gflownet", "gflownet_drawn")


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables and figures by name; they are empty if the experiment was not published."""
    rows, settings = of_set(evidence, SIZES, SET), evidence.settings(SIZES)
    order, peers = settings.get("methods", ()), settings.get("peers", ())
    of_paper = rows[rows["target"].isin(OF_PAPER)]
    by_rule = {text: gains.over_peers(of_paper, peers, order, rule) for rule, text in RULES.items()}
    trained = evidence.of(SIZES)
    strengths = evidence.table("parts", SIZES)
    strengths = strengths[strengths["metric"] == "strength"]
    frozen = dict(zip(strengths["part"].astype(str), strengths["value"].astype(float), strict=True))
    return {
        "proxy": paper_tables.on_proxy(rows, order),
        "targets": paper_tables.on_targets(of_paper, paper.TABLE_3, order),
        "gains": {text: of_rule for text, of_rule in by_rule.items() if of_rule},
        "flat": _flat(trained[trained["set"] == DEVELOPMENT]),
        "figures": drawings(
            policies_over_strength=(partial(pictures.over_strength, frozen=frozen), _by_strength(rows, frozen)),
            policies_training_gflownet_paper_sizes=(training.curves, evidence.table("policy_trainings", SIZES)),
        ),
    }


def _flat(rows: pd.DataFrame) -> Table:
    """A line for each network: what the second half of its training changed."""
    change = metric(partial(spread, write=partial(percent, digits=2)), "curve_change")
    shown: list[Column] = [METHOD, ("Change in the last doubling of the steps", change)]
    named = rows.assign(method=rows["method"].replace(training.MODELS))
    return table(shown, lines(named, ["method"], {"method": ()}), right=1)


def _by_strength(rows: pd.DataFrame, frozen: Mapping[str, float]) -> pd.DataFrame:
    """Ratios to list scheduling with columns `kind` and `strength`, if schedules on few devices are kept too."""
    ratios = rows[(rows["metric"] == "makespan") & (rows["comparison"] == "ratio") & (rows["baseline"] == LIST)]
    parts = ratios["target"].str.extract(rf"^({'|'.join(CHANGING)})(?:_([\d.]+))?$")
    strength = pd.to_numeric(parts[1]).fillna(parts[0].map(frozen))
    ratios = ratios.assign(kind=parts[0], strength=strength)
    return ratios[strength.notna() & (ratios["decoder"] == "spread") & ratios["method"].isin(DRAWN)]
