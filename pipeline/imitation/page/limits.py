"""Bounds of imitators: equal blocks with different orders, wrong blocks, features that reveal the order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from pipeline.imitation.claims import GOALS
from pipeline.imitation.page.rows import MAIN, led, of
from pipeline.lab.claims import parsed
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import SETS, label, set_label, spelt, with_decoder
from pipeline.lab.page.numbers import cell, code, count, percent, share, with_interval
from pipeline.lab.page.tables import Cell, Column, Line, Table, columns, lines, ordered, records, table
from pipeline.lab.page.tables import of as place

_SETS = {"5": "test_5", "4-40": "test_4_40"}  # lengths of table `ceiling` -> the tested set of such blocks
_METRICS = {"all": "exact_match", "several": "exact_match_multi_order"}  # legal orders -> metric
_ORDERS = {"all": "all", "several": "several legal orders"}
_NOTIONS = {"exact": "nothing", "registers": "registers", "constants": "registers and constants"}
# Exact twins with the same order are one block of the corpus, so only occurrences say how often equal blocks differ.
_COUNTED = {"exact": "occurrences", "registers": "blocks", "constants": "blocks"}
MEANINGS = {  # of analysis.disagreement.CATEGORIES
    "symmetric": "the two instructions differ in names alone: exchanging them leaves the block unchanged",
    "memory_order": "both access memory by the same registers, at different displacements",
    "argument_moves": "both move a value into a register that calls take or return, for after the block",
    "constant_setup": "both put a constant, or a fixed address, into a register",
    "register_copies": "both copy a register to another register",
    "load_order": "both load, by different registers or none",
    "address_update": "one moves the stack pointer, or increments a register that is an address elsewhere",
    "store_placement": "one only stores, the other sets registers or flags",
    "cross_block": "no instruction of the block depends on either, and they depend on none",
    "latency": "their longest paths to the end of the block differ, which is GCC's own priority",
    "register_pressure": "one leaves more registers in use than the other",
    "other": "none of these",
}
_PLACES = {  # of analysis.errors.also_gcc
    "itself, exact": "in the same block: the instructions that changed places are equal",
    "itself, registers": "in the same block, after registers are renamed",
    "itself, constants": "in the same block, after registers and constants are renamed",
    "exact": "in another block with the same instructions",
    "registers": "in another block that is equal after registers are renamed",
    "constants": "in another block that is equal after registers and constants are renamed",
    "nowhere": "nowhere in the corpus",
}
_SEEN = {  # groups of table `audit` that a network sees
    "token": "instruction",
    "node": "position in the DAG",
    "pair": "pair of instructions",
    "step": "state while scheduling",
}
_UNSEEN = {"control": "control", "leak reference": "not seen: leak reference"}
_STRONGEST = 8  # number of features that are shown
_LEAST_PAIRS = 1e-3  # of the independent pairs; a feature that differs in fewer pairs is left out
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
    # `other` is true of all blocks, so its number says nothing.
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
    """The section's tables by name; they are empty if they were not published."""
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
        "audit": table(AUDIT, records(shown_features(audit)), right=2),
    }


def at_most(row: Mapping[str, float]) -> float:
    """Largest possible share of blocks with GCC's order, from a row of table `ceiling`.

    It counts all blocks without an equal, and of each group the majority. No function of the renamed block orders
    more of these blocks as GCC did.
    """
    if not row["total"]:
        return float("nan")
    majority = row["in_groups"] * row["majority"] if row["groups"] else 0.0
    return float((majority + row["alone"]) / row["total"])


def shown_features(audit: pd.DataFrame) -> pd.DataFrame:
    """Shown rows of table `audit`: the strongest features of a network, then controls and leak references.

    The strength of a feature is the distance of its interval from one half.
    """
    frequent = audit[(audit["pairs"] > 0) & (audit["pairs"] >= _LEAST_PAIRS * audit["pairs"].max())]
    sure = np.maximum(frequent["low"] - 0.5, 0.5 - frequent["high"])
    ranked = frequent.assign(sure=sure, value=frequent["agreement"])
    ranked = ranked.sort_values(["sure", "feature"], ascending=[False, True])
    visible = ranked[ranked["group"].isin(_SEEN)].head(_STRONGEST)
    return pd.concat([visible, *(ranked[ranked["group"] == group] for group in _UNSEEN)], ignore_index=True)


def _groups(ceiling: pd.DataFrame) -> list[Line]:
    """Blocks with several legal orders, by length and by what is renamed."""
    several = ceiling[ceiling["legal_orders"] == "several"]
    return ordered(
        several[several["members"] == several["notion"].map(_COUNTED)], {"lengths": _SETS, "notion": _NOTIONS}
    )


def _ceiling(ceiling: pd.DataFrame, results: pd.DataFrame) -> Table:
    """The upper bound under each notion of equality, the goal, and the reached share, by length and legal orders."""
    goals = {(goal.set, goal.metric): f"≥ {percent(parsed(goal.target)[1])}" for goal in GOALS}
    rows, trained = ceiling[ceiling["members"] == "blocks"], led(results[results["decoder"] != "none"])

    def bound(notion: str) -> Cell:
        return lambda line: next(percent(at_most(row)) for row in line.rows if row["notion"] == notion)

    def place_of(line: Line) -> dict[str, str]:
        return {"set": _SETS.get(line["lengths"], ""), "metric": _METRICS[line["legal_orders"]]}

    def reached(rows: list[dict[Any, Any]]) -> Cell:
        return lambda line: with_interval(next((row for row in rows if row.items() >= place_of(line).items()), None))

    shown: list[Column] = [INSTRUCTIONS, ("Blocks", place("legal_orders", _ORDERS.__getitem__))]
    shown += [(f"At most, {renamed} renamed", bound(notion)) for notion, renamed in _NOTIONS.items()]
    shown.append(("Goal", lambda line: goals.get((place_of(line)["set"], place_of(line)["metric"]), "-")))
    for (method, decoder), measured in trained.groupby(["method", "decoder"]):
        shown.append((f"Reached, {with_decoder(str(method), str(decoder))}", reached(measured.to_dict("records"))))
    return table(shown, lines(rows, ["lengths", "legal_orders"], {"lengths": _SETS, "legal_orders": _METRICS}), right=2)
