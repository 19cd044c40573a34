"""What bounds schedulers that imitate GCC: equal blocks of different orders, wrong blocks, features that tell."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pipeline.report.evidence import Evidence
from pipeline.report.imitation import goals
from pipeline.report.imitation import limits_plots as plots
from pipeline.report.imitation.rows import MAIN, of
from pipeline.report.names import SETS, in_order, label, set_label, spelt
from pipeline.report.numbers import cell, code, count, percent, share, with_interval
from pipeline.report.plots import Drawing
from pipeline.report.tables import Column, Line, Table, lines, records, table
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
_STRONGEST = 8  # features that are shown
_LEAST_PAIRS = 1e-3  # of the independent pairs: a feature that tells fewer apart is left out


Rows = dict[tuple[str, ...], dict[str, Any]]  # values of some columns -> row
GROUPS: list[Column] = [
    ("Instructions", place("lengths", lambda name: _lengths(name))),
    ("Renamed", place("notion", _NOTIONS.__getitem__)),
    ("Counted", place("members")),
    ("Number", place("total", count)),
    ("With an equal", lambda line: percent(line["in_groups"] / line["total"] if line["total"] else float("nan"))),
    ("Groups of several orders", place("several_orders", percent)),
    ("Guessed from its equals", place("leave_one_out", percent)),
]
TWINS: list[Column] = [
    ("Blocks", place("set", set_label)),
    ("Renamed", place("notion", _NOTIONS.__getitem__)),
    ("Number", place("n_blocks", count)),
    ("With an equal", place("with_twin", percent)),
    ("of its order", place("same_order", percent)),
    ("of another order", place("different_order", percent)),
    ("Right by copying", place("copied", percent)),
]
ERRORS: list[Column] = [
    ("Category", place("name", spelt)),
    ("What it is", place("name", lambda name: MEANINGS.get(name, ""))),
    ("GCC's choice, for example", place("example")),
    ("Share", lambda line: share(line.rows[0])),
    ("Blocks", place("n_blocks", count)),
    # None of the other categories is true of `other`, but it is true of all blocks.
    ("True of", lambda line: "-" if line["name"] == "other" else count(line["n_holds"])),
]
PLACES: list[Column] = [
    ("Where", place("name", lambda name: _PLACES.get(name, name))),
    ("Share", lambda line: share(line.rows[0])),
    ("Blocks", place("n_blocks", count)),
]
AUDIT: list[Column] = [
    ("Feature", place("feature", lambda name: cell(spelt(name)))),
    ("Kind", place("group", (_SEEN | _UNSEEN).__getitem__)),
    ("Pairs", place("pairs", count)),
    ("Ascending", lambda line: share(line.rows[0])),
    ("Ascending, same opcode", place("same_opcode_agreement", percent)),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables by name; without lines where they were not published."""
    ceiling, audit, errors = evidence.table("ceiling"), evidence.table("audit"), evidence.table("error_shares")
    valued = errors.assign(value=errors["share"]) if len(errors) else errors
    categories, places = (valued[valued["by"] == by] if len(valued) else valued for by in ("category", "also_gcc"))
    examples = _examples(evidence.table("wrong_blocks"))
    named = categories.assign(example=[examples.get(name, "") for name in categories.get("name", [])])
    order = {"name": _PLACES}
    return {
        "groups": table(GROUPS, _groups(ceiling), right=3),
        "ceiling": _ceiling(ceiling, of(evidence, MAIN)),
        "twins": table(TWINS, _twins(evidence), right=2),
        "run": _run(errors),
        "n_blocks": count(categories["n_blocks"].sum()) if len(categories) else "",
        "errors": table(ERRORS, records(named), right=3),
        "places": table(PLACES, [line for part in lines(places, ["name"], order) for line in _rows(part)], right=1),
        "n_features": count((audit["group"].isin(_SEEN) & (audit["pairs"] > 0)).sum()) if len(audit) else "",
        "least_pairs": percent(_LEAST_PAIRS),
        "audit": table(AUDIT, records(told(audit)), right=2),
    }


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """The section's figures by name, those whose rows were published."""
    errors, shown = evidence.table("error_shares"), told(evidence.table("audit"))
    drawn: dict[str, Drawing] = {}
    if len(errors) and len(categories := errors[errors["by"] == "category"]):
        drawn["imitation_errors"] = partial(plots.errors, categories.assign(name=categories["name"].map(spelt)))
    if len(shown):
        kinds = _SEEN | _UNSEEN
        named = shown.assign(feature=shown["feature"].map(spelt), group=shown["group"].map(kinds))
        drawn["imitation_audit"] = partial(plots.audit, named, list(kinds.values()))
    return drawn


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
    if audit.empty:
        return audit
    frequent = audit[(audit["pairs"] > 0) & (audit["pairs"] >= _LEAST_PAIRS * audit["pairs"].max())]
    sure = np.maximum(frequent["low"] - 0.5, 0.5 - frequent["high"])
    ranked = frequent.assign(sure=sure, value=frequent["agreement"])
    ranked = ranked.sort_values(["sure", "feature"], ascending=[False, True])
    seen = ranked[ranked["group"].isin(_SEEN)].head(_STRONGEST)
    return pd.concat([seen, *(ranked[ranked["group"] == group] for group in _UNSEEN)], ignore_index=True)


def _rows(line: Line) -> list[Line]:
    return [Line(dict(row), [row]) for row in line.rows]


def _lengths(name: str) -> str:
    return name.replace("-", " to ")


def _smallest(ceiling: pd.DataFrame) -> Rows:
    """Lengths, legal orders, notion, members -> row that counts groups of two members and more."""
    pairs = ceiling[ceiling["least"] == ceiling["least"].min()]
    keys = ("lengths", "legal_orders", "notion", "members")
    return {tuple(str(row[key]) for key in keys): row for row in pairs.to_dict("records")}


def _groups(ceiling: pd.DataFrame) -> list[Line]:
    """Blocks of several legal orders by length and by what is renamed."""
    if ceiling.empty:
        return []
    smallest = _smallest(ceiling)
    places = [(lengths, *counted) for lengths in in_order(ceiling["lengths"], _SETS) for counted in _COUNTED.items()]
    return [Line(smallest[lengths, "several", notion, members], []) for lengths, notion, members in places]


def _ceiling(ceiling: pd.DataFrame, results: pd.DataFrame) -> Table:
    """Instructions, blocks, what is at most to be had under each notion, goal, and what was reached."""
    if ceiling.empty:
        return Table()
    smallest, reached = _smallest(ceiling), goals.trained(results)
    wanted = {(goal.set, goal.metric): goal.value for goal in goals.GOALS}
    head = ["Instructions", "Blocks", *(f"At most, {name} renamed" for name in _NOTIONS.values()), "Goal"]
    cells = []
    for lengths in in_order(ceiling["lengths"], _SETS):
        for orders, metric in _METRICS.items():
            bounds = [percent(at_most(smallest[lengths, orders, notion, "blocks"])) for notion in _NOTIONS]
            name = _SETS.get(lengths)
            goal = wanted.get((name, metric))
            ours = [rows[(rows["set"] == name) & (rows["metric"] == metric)] for rows in reached.values()]
            shown = [with_interval(None if rows.empty else rows.iloc[0].to_dict()) for rows in ours]
            aim = "-" if goal is None else f"≥ {percent(goal)}"
            cells.append([_lengths(lengths), _ORDERS[orders], *bounds, aim, *shown])
    return Table([*head, *(f"Reached, {name}" for name in reached)], cells, right=2)


def _twins(evidence: Evidence) -> list[Line]:
    """Blocks of several legal orders, by set and by what is renamed."""
    twins = evidence.table("twins")
    if twins.empty:
        return []
    own = twins[twins["legal_orders"] == "several"]
    order = {"set": in_order(own["set"], SETS), "notion": list(_NOTIONS)}
    return [row for line in lines(own, ["set", "notion"], order) for row in _rows(line)]


def _run(errors: pd.DataFrame) -> dict[str, str]:
    """Whose wrong blocks they are, as the report writes it."""
    if errors.empty:
        return {}
    first = errors.iloc[0]
    return {"model": label(first["model"]), "set": set_label(first["set"]), "seed": str(first["seed"])}


def _examples(blocks: pd.DataFrame) -> dict[str, str]:
    """Category -> GCC's choice and the network's in its first block."""
    if blocks.empty:
        return {}
    return {
        str(row["category"]): f"{code(row['gcc_instruction'])} before {code(row['predicted_instruction'])}"
        for row in blocks.drop_duplicates("category").to_dict("records")
    }
