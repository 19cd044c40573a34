"""What bounds schedulers that imitate GCC: equal blocks of different orders, wrong blocks, features that tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from pipeline.analysis.claimed import GOALS
from pipeline.analysis.claims import parsed
from pipeline.report.evidence import Evidence
from pipeline.report.imitation import goals
from pipeline.report.imitation.rows import MAIN, of
from pipeline.report.names import SETS, label, set_label, spelt
from pipeline.report.numbers import cell, code, count, percent, share, with_interval
from pipeline.report.plots import downwards, drawings, key, legend, shares, subplots
from pipeline.report.tables import Cell, Column, Line, Table, columns, lines, ordered, records, table
from pipeline.report.tables import of as place

_SETS = {"5": "test_5", "4-40": "test_4_40"}  # lengths of table `ceiling` -> the tested set of such blocks
_METRICS = {"all": "exact_match", "several": "exact_match_multi_order"}  # legal orders -> what is measured of them
_ORDERS = {"all": "all", "several": "several legal orders"}
_NOTIONS = {"exact": "nothing", "registers": "registers", "constants": "registers and constants"}
# Exact twins of one order are one block of the corpus, so that only occurrences say how often equal blocks differ.
_COUNTED = {"exact": "occurrences", "registers": "blocks", "constants": "blocks"}
MEANINGS = {  # of analysis.disagreement.CATEGORIES
    "symmetric": "only names tell the two instructions apart: exchanging them leaves the block as it is",
    "memory_order": "both access memory by the same registers, at different displacements",
    "argument_moves": "both move a value into a register that calls take or return, for after the block",
    "constant_setup": "both put a constant, or a fixed address, into a register",
    "register_copies": "both copy a register to another",
    "load_order": "both load, by different registers or none",
    "address_update": "one moves the stack pointer, or steps a register that others address memory by",
    "store_placement": "one stores and does nothing else, the other sets registers or flags",
    "cross_block": "nothing in the block depends on either, nor they on anything",
    "latency": "their longest paths to the end of the block differ, which is GCC's own priority",
    "register_pressure": "one leaves more registers in use than the other",
    "other": "none of these",
}
_PLACES = {  # of analysis.errors.also_gcc
    "itself, exact": "in this very block: the instructions that changed places are equal",
    "itself, registers": "in this very block, once registers are renamed",
    "itself, constants": "in this very block, once registers and constants are renamed",
    "exact": "in another block with the same instructions",
    "registers": "in another block that is equal once registers are renamed",
    "constants": "in another block that is equal once registers and constants are renamed",
    "nowhere": "nowhere in the corpus",
}
_SEEN = {  # groups of table `audit` that a network sees
    "token": "instruction",
    "node": "place in the DAG",
    "pair": "pair of instructions",
    "step": "state while scheduling",
}
_UNSEEN = {"control": "control", "leak reference": "not seen: leak reference"}
_FIRST, _ALSO = "#0072b2", "#cfe3f1"
_COLOURS = ("#0072b2", "#009e73", "#cc79a7", "#e69f00", "#8a8a8a", "#222222")  # Okabe & Ito, 2008; greys not seen
_STRONGEST = 8  # features that are shown
_LEAST_PAIRS = 1e-3  # of the independent pairs: a feature that tells fewer apart is left out
INSTRUCTIONS: Column = ("Instructions", place("lengths", lambda name: name.replace("-", " to ")))
GROUPS: list[Column] = [
    INSTRUCTIONS,
    *columns(_NOTIONS.__getitem__, notion="Renamed"),
    *columns(members="Counted"),
    *columns(count, total="Number"),
    ("With an equal", lambda line: percent(line["in_groups"] / line["total"] if line["total"] else float("nan"))),
    *columns(percent, several_orders="Groups of several orders", leave_one_out="Guessed from its equals"),
]
TWINS = [
    *columns(set_label, set="Blocks"),
    *columns(_NOTIONS.__getitem__, notion="Renamed"),
    *columns(count, n_blocks="Number"),
    *columns(percent, with_twin="With an equal", same_order="of its order", different_order="of another order"),
    *columns(percent, copied="Right by copying"),
]
SHARE: Column = ("Share", lambda line: share(line.rows[0]))
ERRORS: list[Column] = [
    *columns(spelt, name="Category"),
    *columns(lambda name: MEANINGS.get(name, ""), name="What it is"),
    *columns(example="GCC's choice, for example"),
    SHARE,
    *columns(count, n_blocks="Blocks"),
    # None of the other categories is true of `other`, but it is true of all blocks.
    ("True of", lambda line: "-" if line["name"] == "other" else count(line["n_holds"])),
]
PLACES = [*columns(lambda name: _PLACES.get(name, name), name="Where"), SHARE, *columns(count, n_blocks="Blocks")]
AUDIT: list[Column] = [
    *columns(lambda name: cell(spelt(name)), feature="Feature"),
    *columns((_SEEN | _UNSEEN).__getitem__, group="Kind"),
    *columns(count, pairs="Pairs"),
    ("Ascending", SHARE[1]),
    *columns(percent, same_opcode_agreement="Ascending, same opcode"),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables and figures by name; without lines where they were not published."""
    ceiling, audit, errors = evidence.table("ceiling"), evidence.table("audit"), evidence.table("error_shares")
    ceiling = ceiling[ceiling["least"] == ceiling["least"].min()]  # groups of two members and more
    twins = evidence.table("twins").query("legal_orders == 'several'")
    errors = errors.assign(value=errors["share"])
    categories, places = (errors[errors["by"] == by] for by in ("category", "also_gcc"))
    examples = {
        row["category"]: f"{code(row['gcc_instruction'])} before {code(row['predicted_instruction'])}"
        for row in evidence.table("wrong_blocks").drop_duplicates("category").to_dict("records")
    }
    named = categories.assign(example=[examples.get(name, "") for name in categories["name"]])
    run = [
        {"model": label(row["model"]), "set": set_label(row["set"]), "seed": str(row["seed"])}
        for row in errors.head(1).to_dict("records")
    ]
    strongest = told(audit)
    return {
        "groups": table(GROUPS, _groups(ceiling), right=3),
        "ceiling": _ceiling(ceiling, of(evidence, MAIN)),
        "twins": table(TWINS, ordered(twins, {"set": SETS, "notion": _NOTIONS}), right=2),
        "run": run[0] if run else {},
        "n_blocks": count(categories["n_blocks"].sum()),
        "errors": table(ERRORS, records(named), right=3),
        "places": table(PLACES, ordered(places, {"name": _PLACES}), right=1),
        "n_features": count((audit["group"].isin(_SEEN) & (audit["pairs"] > 0)).sum()),
        "least_pairs": percent(_LEAST_PAIRS),
        "audit": table(AUDIT, records(strongest), right=2),
        "figures": drawings(
            imitation_errors=(draw_errors, categories), imitation_audit=(draw_audit, strongest, _SEEN | _UNSEEN)
        ),
    }


def at_most(row: Mapping[str, float]) -> float:
    """Share of blocks with GCC's order, of a row of table `ceiling`: all that are alone, the majority of the others.

    No function of what is left after renaming orders more of these blocks as GCC did.
    """
    if not row["total"]:
        return float("nan")
    majority = row["in_groups"] * row["majority"] if row["groups"] else 0.0
    return float((majority + row["alone"]) / row["total"])


def told(audit: pd.DataFrame) -> pd.DataFrame:
    """Rows of table `audit` that are shown: the strongest features of a network, then controls and leak references.

    Strong is what agrees with GCC, or with its reverse, in more than half of the pairs by the whole interval.
    """
    frequent = audit[(audit["pairs"] > 0) & (audit["pairs"] >= _LEAST_PAIRS * audit["pairs"].max())]
    sure = np.maximum(frequent["low"] - 0.5, 0.5 - frequent["high"])
    ranked = frequent.assign(sure=sure, value=frequent["agreement"])
    ranked = ranked.sort_values(["sure", "feature"], ascending=[False, True])
    seen = ranked[ranked["group"].isin(_SEEN)].head(_STRONGEST)
    return pd.concat([seen, *(ranked[ranked["group"] == group] for group in _UNSEEN)], ignore_index=True)


def _groups(ceiling: pd.DataFrame) -> list[Line]:
    """Blocks of several legal orders by length and by what is renamed."""
    several = ceiling[ceiling["legal_orders"] == "several"]
    return ordered(
        several[several["members"] == several["notion"].map(_COUNTED)], {"lengths": _SETS, "notion": _NOTIONS}
    )


def _ceiling(ceiling: pd.DataFrame, results: pd.DataFrame) -> Table:
    """Instructions, blocks, what is at most to be had under each notion, goal, and what was reached."""
    wanted = {(goal.set, goal.metric): f"≥ {percent(parsed(goal.target)[1])}" for goal in GOALS}
    rows, reached = ceiling[ceiling["members"] == "blocks"], goals.trained(results)

    def bound(notion: str) -> Cell:
        return lambda line: next(percent(at_most(row)) for row in line.rows if row["notion"] == notion)

    def asked(line: Line) -> dict[str, str]:
        return {"set": _SETS.get(line["lengths"], ""), "metric": _METRICS[line["legal_orders"]]}

    def ours(rows: list[dict[Any, Any]]) -> Cell:
        return lambda line: with_interval(next((row for row in rows if row.items() >= asked(line).items()), None))

    shown: list[Column] = [INSTRUCTIONS, ("Blocks", place("legal_orders", _ORDERS.__getitem__))]
    shown += [(f"At most, {renamed} renamed", bound(notion)) for notion, renamed in _NOTIONS.items()]
    shown.append(("Goal", lambda line: wanted.get((asked(line)["set"], asked(line)["metric"]), "-")))
    shown += [(f"Reached, {name}", ours(of_model.to_dict("records"))) for name, of_model in reached.items()]
    return table(shown, lines(rows, ["lengths", "legal_orders"], {"lengths": _SETS, "legal_orders": _METRICS}), right=2)


def draw_errors(categories: pd.DataFrame) -> Figure:
    """Bars of the share of wrong blocks that count for a category, with intervals, the largest on top, `other` last.

    `categories`: table `error_shares`, rows of categories. Pale: the share of which the category is true.
    """
    total = max(categories["n_blocks"].sum(), 1)
    rows = categories.assign(last=categories["name"] == "other", name=categories["name"].map(spelt))
    rows = rows.sort_values(["last", "share", "name"], ascending=[True, False, True])
    y = -np.arange(len(rows))
    with subplots(8, 0.36 * len(rows) + 1.5) as (figure, axes):
        ax = axes[0, 0]
        also = rows["n_holds"].where(~rows["last"], 0) / total  # `other` is true of all
        ax.barh(y, also, 0.72, color=_ALSO)
        ax.barh(y, rows["share"], 0.72, color=_FIRST)
        ax.hlines(y, rows["low"], rows["high"], color="#222222", linewidth=1.3)
        downwards(ax, rows["name"].tolist(), 0.6)
        ax.tick_params(axis="y", length=0)
        ax.set_xlim(left=0)
        shares(ax.xaxis)
        ax.set_xlabel("wrong blocks")
        bars = {_FIRST: "counts for the category", _ALSO: "the category is true of it"}
        keys = [Patch(color=tint, label=text) for tint, text in bars.items()]
        legend(figure, [*keys, key("interval", color="#222222", linewidth=1.3)], 3)
    return figure


def draw_audit(features: pd.DataFrame, kinds: Mapping[str, str]) -> Figure:
    """How often GCC left independent instructions in ascending order of a feature, with intervals, from top to bottom.

    `features`: rows of table `audit`, `group` one of `kinds`. On the dashed line a feature says nothing.
    """
    y = -np.arange(len(features))
    tints = dict(zip(kinds, _COLOURS, strict=True))
    with subplots(8, 0.3 * len(features) + 1.6) as (figure, axes):
        ax = axes[0, 0]
        ax.axvline(0.5, color="#8a8a8a", linestyle="--", linewidth=1)
        colours = features["group"].map(tints).tolist()
        ax.hlines(y, features["low"], features["high"], color=colours, linewidth=1.8)
        ax.scatter(features["agreement"], y, s=28, color=colours, zorder=3)
        downwards(ax, [spelt(name) for name in features["feature"]], 0.6)
        ax.tick_params(axis="y", length=0)
        shares(ax.xaxis, whole=True)
        ax.set_xlabel("pairs that GCC left in ascending order")
        present = [group for group in kinds if group in set(features["group"])]
        legend(figure, [key(kinds[group], marker="o", color=tints[group]) for group in present], 3)
    return figure
