"""What bounds schedulers that imitate GCC: equal blocks of different orders, wrong blocks, features that tell."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pipeline.report import plots
from pipeline.report.imitation import goals as imitation_goals
from pipeline.report.imitation import limits_plots as imitation_limits_plots
from pipeline.report.imitation.rows import MAIN, in_order, of, set_label, sets
from pipeline.report.numbers import cell, count, percent, with_interval

_SETS = {"5": "test_5", "4-40": "test_4_40"}  # lengths of table `ceiling` -> the tested set of such blocks
_METRICS = {"all": "exact_match", "several": "exact_match_multi_order"}  # legal orders -> what is measured of them
_ORDERS = {"all": "all", "several": "several legal orders"}
_NOTIONS = {"exact": "nothing", "registers": "registers", "constants": "registers and constants"}
# Exact twins of one order are one block of the corpus, so that only occurrences say how often equal blocks differ.
_COUNTED = {"exact": "occurrences", "registers": "blocks", "constants": "blocks"}
MEANINGS = {  # of evidence.disagreement.CATEGORIES
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
_PLACES = {  # of evidence.errors.also_gcc
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


@dataclass(frozen=True)
class Section:
    """Heads and rows of the section's tables, as text; without rows where they were not published."""

    groups: list[list[str]] = field(default_factory=list)
    ceiling_head: list[str] = field(default_factory=list)
    ceiling: list[list[str]] = field(default_factory=list)
    twins: list[list[str]] = field(default_factory=list)
    run: dict[str, str] = field(default_factory=dict)  # whose wrong blocks: model, set, seed
    n_blocks: str = ""  # wrong blocks that were drawn
    errors: list[list[str]] = field(default_factory=list)
    places: list[list[str]] = field(default_factory=list)
    n_features: str = ""  # that a network sees and that tell instructions apart
    least_pairs: str = percent(_LEAST_PAIRS)
    audit: list[list[str]] = field(default_factory=list)


def section(
    results: pd.DataFrame,
    ceiling: pd.DataFrame,
    twins: pd.DataFrame,
    errors: pd.DataFrame,
    blocks: pd.DataFrame,
    audit: pd.DataFrame,
) -> Section:
    """`results`: the report's, of all experiments; the others: the frozen tables, any of them empty."""
    head, bounds = _ceiling(ceiling, of(results, MAIN)) if len(ceiling) else ([], [])
    categories = errors[errors["by"] == "category"]
    return Section(
        groups=_groups(ceiling),
        ceiling_head=head,
        ceiling=bounds,
        twins=_twins(twins),
        run=_run(errors),
        n_blocks=count(categories["n_blocks"].sum()),
        errors=[_category(row, blocks) for _, row in categories.iterrows()],
        places=_places(errors[errors["by"] == "also_gcc"]),
        n_features=count((audit["group"].isin(_SEEN) & (audit["pairs"] > 0)).sum()),
        audit=[
            [
                cell(_spelt(row["feature"])),
                (_SEEN | _UNSEEN)[row["group"]],
                count(row["pairs"]),
                with_interval("exact_match", row.rename({"agreement": "value"})),
                percent(row["same_opcode_agreement"]),
            ]
            for _, row in told(audit).iterrows()
        ],
    )


def figures(errors: pd.DataFrame, audit: pd.DataFrame) -> dict[str, Figure]:
    """The section's figures by name, those whose rows were published."""
    drawn: dict[str, Figure] = {}
    categories = errors[errors["by"] == "category"]
    if len(categories):
        spelt = categories.assign(name=categories["name"].map(_spelt))
        drawn["imitation_errors"] = imitation_limits_plots.errors(spelt)
    shown = told(audit)
    if len(shown):
        named = shown.assign(feature=shown["feature"].map(_spelt), group=shown["group"].map(_SEEN | _UNSEEN))
        drawn["imitation_audit"] = imitation_limits_plots.audit(named, list((_SEEN | _UNSEEN).values()))
    return drawn


def at_most(row: pd.Series) -> float:
    """Share of blocks with GCC's order, of a row of table `ceiling`: all that are alone, the majority of the others.

    No function of what is left after renaming orders more of these blocks as GCC did.
    """
    if not row["total"]:
        return float("nan")
    known = row["in_groups"] * row["majority"] if row["groups"] else 0.0
    return float((known + row["alone"]) / row["total"])


def told(audit: pd.DataFrame) -> pd.DataFrame:
    """Rows of table `audit` that are shown: the strongest features of a network, then controls and leak references.

    Strong is what agrees with GCC, or with its reverse, in more than half of the pairs by the whole interval.
    """
    frequent = audit[(audit["pairs"] > 0) & (audit["pairs"] >= _LEAST_PAIRS * audit["pairs"].max())]
    sure = np.maximum(frequent["ci_low"] - 0.5, 0.5 - frequent["ci_high"])
    ranked = frequent.assign(sure=sure).sort_values(["sure", "feature"], ascending=[False, True])
    seen = ranked[ranked["group"].isin(_SEEN)].head(_STRONGEST)
    return pd.concat([seen, *(ranked[ranked["group"] == group] for group in _UNSEEN)], ignore_index=True)


def _lengths(name: str) -> str:
    return name.replace("-", " to ")


def _rows(frame: pd.DataFrame, *keys: str) -> dict[tuple[str, ...], pd.Series]:
    """Values of the columns `keys` -> row."""
    return {tuple(str(row[key]) for key in keys): row for _, row in frame.iterrows()}


def _smallest(ceiling: pd.DataFrame) -> dict[tuple[str, ...], pd.Series]:
    """Lengths, legal orders, notion, members -> row that counts groups of two members and more."""
    pairs = ceiling[ceiling["least"] == ceiling["least"].min()]
    return _rows(pairs, "lengths", "legal_orders", "notion", "members")


def _groups(ceiling: pd.DataFrame) -> list[list[str]]:
    """Instructions, renamed, counted, their number, share with an equal, groups of several orders, left one out."""
    found, lines = _smallest(ceiling), []
    for lengths in in_order(ceiling["lengths"], _SETS):
        for notion, members in _COUNTED.items():
            row = found[lengths, "several", notion, members]
            inside = row["in_groups"] / row["total"] if row["total"] else float("nan")
            shares = [percent(share) for share in (inside, row["several_orders"], row["leave_one_out"])]
            lines.append([_lengths(lengths), _NOTIONS[notion], members, count(row["total"]), *shares])
    return lines


def _ceiling(ceiling: pd.DataFrame, results: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Head and rows: instructions, blocks, what is at most to be had under each notion, goal, and what was reached."""
    found, reached = _smallest(ceiling), imitation_goals.trained(results)
    goals = {(goal.split, goal.metric): goal.value for goal in imitation_goals.GOALS}
    head = ["Instructions", "Blocks", *(f"At most, {name} renamed" for name in _NOTIONS.values()), "Goal"]
    lines = []
    for lengths in in_order(ceiling["lengths"], _SETS):
        for orders, metric in _METRICS.items():
            bounds = [percent(at_most(found[lengths, orders, notion, "blocks"])) for notion in _NOTIONS]
            split = _SETS.get(lengths)
            goal = goals.get((split, metric))
            cells = ["-" if goal is None else f"≥ {percent(goal)}"]
            for rows in reached.values():
                own = rows[(rows["split"] == split) & (rows["metric"] == metric)]
                cells.append(with_interval(metric, None if own.empty else own.iloc[0]))
            lines.append([_lengths(lengths), _ORDERS[orders], *bounds, *cells])
    return [*head, *(f"Reached, {name}" for name in reached)], lines


def _twins(twins: pd.DataFrame) -> list[list[str]]:
    """Set, renamed, blocks, those that equal a training block, of its order, of another, right by copying."""
    own = twins[twins["legal_orders"] == "several"].rename(columns={"set": "split"})
    found, lines = _rows(own, "split", "notion"), []
    for split in sets(own, {}, MAIN):
        for notion, renamed in _NOTIONS.items():
            row = found[split, notion]
            shares = [percent(row[name]) for name in ("with_twin", "same_order", "different_order", "copied")]
            lines.append([set_label(split), renamed, count(row["n_blocks"]), *shares])
    return lines


def _run(errors: pd.DataFrame) -> dict[str, str]:
    """Whose wrong blocks they are, as the report writes it."""
    if errors.empty:
        return {}
    first = errors.iloc[0]
    return {"model": plots.label(first["model"]), "set": set_label(first["set"]), "seed": str(first["seed"])}


def _category(row: pd.Series, blocks: pd.DataFrame) -> list[str]:
    """Category, meaning, the first block's choice, share, blocks, all blocks of which it is true."""
    own = blocks[blocks["category"] == row["name"]]
    example = ""
    if len(own):
        example = f"`{cell(own['gcc_instruction'].iloc[0])}` before `{cell(own['predicted_instruction'].iloc[0])}`"
    share = with_interval("exact_match", row.rename({"share": "value"}))
    meaning = MEANINGS.get(row["name"], "")
    holds = "-" if row["name"] == "other" else count(row["n_holds"])  # none of the others, but true of all
    return [_spelt(row["name"]), meaning, example, share, count(row["n_blocks"]), holds]


def _places(rows: pd.DataFrame) -> list[list[str]]:
    """Where GCC has the order that was predicted, share, blocks; the nearest places first."""
    found = {name: row.rename({"share": "value"}) for (name,), row in _rows(rows, "name").items()}
    return [
        [_PLACES.get(name, name), with_interval("exact_match", found[name]), count(found[name]["n_blocks"])]
        for name in in_order(found, _PLACES)
    ]


def _spelt(name: str) -> str:
    """A category's or feature's name as tables and figures write it."""
    return name.replace("_", " ")
