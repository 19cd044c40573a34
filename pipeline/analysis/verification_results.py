"""What the report says of the oracle's tables: totals, strata, reasons, sensitivity.

Sensitivity counts swaps of neighbours that share an edge. Raw: the share after which the final state differs. After
classification: the same share of those that can be observed at all, which leaves out `dead value` (the states differ
right after the pair, and the rest of the block hides it) and `value coincidence` (the pair by itself differs, from
other values than the block gives it), both found by experiment; what remains beside `changed` is edges that nothing
showed to be needed (`over-conservative edge`, with a reason) and what is `unexplained`.
"""

from __future__ import annotations

import pandas as pd

from pipeline.analysis.rows import results as table_of
from pipeline.analysis.rows import row
from pipeline.blocks.dag.dependencies import Kind
from pipeline.blocks.execution.strata import CLASSES, LENGTHS, length_class

EXPERIMENT = "dag_verification"
MODES = ["full", "conservative", "paper"]
HIDDEN = ["dead value", "value coincidence"]
OUTCOMES = ["changed", *HIDDEN, "over-conservative edge", "unexplained"]
_FACTS = ["blocks", "runnable", "orders", "state_runs", "different"]


def kind_text(kinds: int) -> str:
    """Kinds of an edge in words: `register RAW + memory WAW`."""
    parts = (kind.name.split("_") for kind in Kind if kind & kinds and kind.name)
    return " + ".join(f"{what.lower()} {how}" for what, how in parts)


def _facts(rows: pd.DataFrame) -> dict[str, int]:
    return {
        "blocks": len(rows),
        "runnable": int((rows["outcome"] != "not runnable").sum()),
        "orders": int(rows["orders_tried"].sum()),
        "state_runs": int(rows["state_runs"].sum()),
        "different": int(rows["different"].sum()),
    }


def results(verification: pd.DataFrame, sensitivity: pd.DataFrame) -> pd.DataFrame:
    """Rows of table `results`: per mode, of all sources (`all`) and of each."""
    rows = []
    for mode in [mode for mode in MODES if (verification["dependencies"] == mode).any()]:
        for source in ["all", *sorted(verification["source"].unique())]:
            blocks, pairs = (
                frame[(frame["dependencies"] == mode) & ((frame["source"] == source) | (source == "all"))]
                for frame in (verification, sensitivity)
            )
            facts = _facts(blocks)
            n = facts["blocks"]
            metrics: dict[str, tuple[float, int]] = {name: (facts[name], n) for name in _FACTS if name != "runnable"}
            metrics["states"] = (int(blocks["states"].sum()), n)
            metrics["aliased_states"] = (int(blocks["aliased_states"].sum()), n)
            metrics["undefined_flags_differ"] = (int(blocks["undefined_flags_differ"].sum()), n)
            if n:
                metrics["runnable_share"] = (facts["runnable"] / n, n)
            if len(pairs):
                changed, seen = (pairs["outcome"] == "changed").sum(), pairs["block_id"].nunique()
                observable = (~pairs["outcome"].isin(HIDDEN)).sum()
                metrics["swaps"] = (len(pairs), seen)
                metrics["sensitivity_raw"] = (changed / len(pairs), seen)
                if observable:
                    metrics["sensitivity"] = (changed / observable, seen)
            place = {"experiment": EXPERIMENT, "set": source, "dependencies": mode, "seed": "all"}
            rows += [row(place, metric, value, n=n) for metric, (value, n) in metrics.items()]
    return table_of(rows)


def strata(verification: pd.DataFrame) -> pd.DataFrame:
    """What ran by source, instruction class and length, per mode."""
    frame = verification.assign(length=[length_class(n) for n in verification["n_instructions"]])
    groups = {"source": sorted(frame["source"].unique()), "instruction_class": CLASSES, "length": LENGTHS}
    rows = []
    for mode in MODES:
        for column, names in groups.items():
            for name in names:
                part = frame[(frame["dependencies"] == mode) & (frame[column] == name)]
                if len(part):
                    by = "class" if column == "instruction_class" else column
                    rows.append({"dependencies": mode, "by": by, "name": name, **_facts(part)})
    return pd.DataFrame(rows, columns=["dependencies", "by", "name", *_FACTS])


def reasons(verification: pd.DataFrame) -> pd.DataFrame:
    """Why blocks did not run, most frequent reason first."""
    lost = verification[verification["outcome"] == "not runnable"]
    found = lost.groupby(["dependencies", "reason"], as_index=False).agg(
        blocks=("block_id", "size"), example=("example", "first")
    )
    return found.sort_values(["dependencies", "blocks", "reason"], ascending=[True, False, True], ignore_index=True)


def kinds(sensitivity: pd.DataFrame) -> pd.DataFrame:
    """Swaps by kind of edge and outcome, `all` kinds first."""
    frame = sensitivity.assign(kind=[kind_text(kinds) for kinds in sensitivity["kinds"]])
    both = pd.concat([frame.assign(kind="all"), frame])
    found = both.groupby(["dependencies", "kind", "outcome"], as_index=False).agg(swaps=("block_id", "size"))
    total = found.groupby(["dependencies", "kind"])["swaps"].transform("sum")
    rank = found["outcome"].map({name: i for i, name in enumerate(OUTCOMES)})
    found = found.assign(first=found["kind"] != "all", total=-total, rank=rank)
    found = found.sort_values(["dependencies", "first", "total", "kind", "rank"], ignore_index=True)
    return found[["dependencies", "kind", "outcome", "swaps"]]


def explanations(sensitivity: pd.DataFrame) -> pd.DataFrame:
    """Why swaps went unseen, with an example of each."""
    missed = sensitivity[sensitivity["outcome"] != "changed"]
    missed = missed.assign(example=missed["first"] + "; " + missed["second"])
    found = missed.groupby(["dependencies", "outcome", "explanation"], as_index=False).agg(
        swaps=("block_id", "size"), example=("example", "first")
    )
    return found.sort_values(["dependencies", "swaps", "explanation"], ascending=[True, False, True], ignore_index=True)
