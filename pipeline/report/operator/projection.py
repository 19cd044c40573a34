"""The projection operator: violations against iterations, and speed beside the peers of benchmarks/operator."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd

from pipeline.analysis.operator_results import ALONE, OURS, exponents
from pipeline.report.evidence import Evidence
from pipeline.report.numbers import cell, count, number, percent
from pipeline.report.operator import projection_plots as plots
from pipeline.report.operator.projection_plots import name
from pipeline.report.plots import Drawing
from pipeline.report.tables import Cell, Table, of, records, table

METHODS = ["cyclic", ALONE, "nearest"]


def small(size: float) -> str:
    """A residual: one digit and its power of ten, or two digits behind the point."""
    return "-" if pd.isna(size) else f"{size:.1e}" if size < 0.01 else f"{size:.2f}"


def two(size: float) -> str:
    """Two significant digits, or the whole number."""
    return f"{size:.2g}" if size < 10 else count(size)


def or_dash(iterations: float) -> str:
    """A number of iterations; a dash for a method that has none."""
    return count(iterations) if iterations else "-"


BLOCKS = [
    ("Instructions", of("n_instructions")),
    ("Blocks", of("n_blocks", count)),
    ("Dependencies per block", of("edges_mean", lambda mean: number(mean, 1))),
]
RESIDUALS = [
    ("Instructions", of("n_instructions")),
    ("Proposal", of("proposal")),
    ("Method", of("method", name)),
    ("Iterations", of("iterations", or_dash)),
    ("Median residual", of("residual_median", small)),
    ("99th percentile", of("residual_p99", small)),
    ("Maximum", of("residual_max", small)),
    ("Within tolerance", of("within_share", lambda share: percent(share, 2))),
    ("Stragglers", of("straggler_share", lambda share: percent(share, 2))),
    ("Maximum, stragglers finished", lambda line: small(line["finished"]) if line["method"] == ALONE else "-"),
]
SPEED: list[tuple[str, Cell]] = [
    ("Instructions", of("n_instructions")),
    ("Method or peer", of("peer", name)),
    ("Seconds", of("seconds_per_batch", two)),
    *((f"slower than `{peer}`", of(peer, lambda times: "-" if pd.isna(times) else two(times))) for peer in OURS),
    ("Median residual", of("residual_median", small)),
    ("Maximum", of("residual_max", small)),
    ("Peak memory, MB", of("peak_memory_mb", two)),
    ("Items at once", of("items", count)),
    ("Iterations", of("iterations", or_dash)),
]
FAILURES = [
    ("Method or peer", of("peer", name)),
    ("Instructions", of("n_instructions")),
    ("Reason", of("reason", cell)),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables by name, and the settings of what was drawn."""
    residuals, settings = evidence.table("residuals"), evidence.params["residuals"]
    peers = evidence.table("peers")
    timed, failed = (
        (peers[peers["seconds_per_batch"].notna()], peers[peers["seconds_per_batch"].isna()])
        if len(peers)
        else (peers, peers)
    )
    lengths = residuals.drop_duplicates("n_instructions").sort_values("n_instructions") if len(residuals) else residuals
    return {
        "settings": settings,
        "blocks": table(BLOCKS, records(lengths)),
        "residuals": table(RESIDUALS, records(_shown(residuals, settings)), right=3),
        "speed": table(SPEED, records(_slower(timed)), right=2),
        "growth": _growth(peers),
        "failures": table(FAILURES, records(failed)),
    }


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """The section's figures, where there is something to draw."""
    residuals, peers = evidence.table("residuals"), evidence.table("peers")
    drawn: dict[str, Drawing] = {}
    if len(residuals):
        drawn["operator_residuals"] = partial(plots.residuals, residuals, evidence.params["residuals"]["tolerance"])
    if len(peers) and peers["seconds_per_batch"].notna().any():
        drawn["operator_speed"] = partial(plots.speed, peers)
    return drawn


def _shown(table: pd.DataFrame, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Methods at the numbers of iterations that are shown; what `extrapolated` gives in the end as `finished`."""
    if table.empty:
        return table
    keys = ["n_instructions", "proposal", "iterations"]
    whole = table[table["method"] == "extrapolated"].set_index(keys)["residual_max"]
    own = table[table["iterations"].isin([*settings["shown"], 0]) & table["method"].isin(METHODS)]
    own = own.assign(rank=own["method"].map(METHODS.index), logits=own["proposal"] != "softmax")
    own = own.join(whole.rename("finished"), on=keys)
    return own.sort_values(["n_instructions", "logits", "rank", "iterations"])


def _slower(timed: pd.DataFrame) -> pd.DataFrame:
    """Cases on the corpus, with a column for each of OURS: seconds over its seconds; NaN for itself."""
    if timed.empty:
        return timed
    corpus = timed[timed["dags"] == "corpus"].sort_values("n_instructions", kind="stable")
    seconds = {peer: own.set_index("n_instructions")["seconds_per_batch"] for peer, own in corpus.groupby("peer")}
    for peer in OURS:
        times = corpus["seconds_per_batch"] / corpus["n_instructions"].map(seconds.get(peer, {}))
        corpus = corpus.assign(**{peer: times.where(corpus["peer"] != peer)})
    return corpus


def _growth(peers: pd.DataFrame) -> Table:
    """Exponents: of ours on random DAGs up to the largest, of all on those of the corpus from 10 instructions on."""
    head = ["Method or peer", "Exponent, corpus", "Exponent, random DAGs"]
    if peers.empty:
        return Table(head)
    random = exponents(peers[peers["dags"] == "random"])
    corpus = exponents(peers[peers["dags"] == "corpus"], smallest=10)
    cells = [[name(peer), *(number(of.get(peer), 2) for of in (corpus, random))] for peer in {**corpus, **random}]
    return Table(head, cells, right=1)
