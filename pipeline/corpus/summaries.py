"""Published tables from the oracle's tables: totals, strata, reasons, sensitivity.

Sensitivity counts swaps of neighbours that share an edge. Raw sensitivity is the share of swaps that change the final
state. After classification it is the same share among observable swaps. Experiments show which ones are not: `dead
value` (the states differ right after the pair, and the rest of the block hides it) and `value coincidence` (the pair
alone differs with other values than the block gives it). The remaining outcomes beside `changed` are edges without a
demonstrated need (`over-conservative edge`, with a reason), and `unexplained`.
"""

from __future__ import annotations

import pandas as pd

from learned_schedulers.blocks.dag.dependencies import Kind
from learned_schedulers.blocks.run.strata import CLASSES, LENGTHS, length_class
from pipeline.corpus.composition import words
from pipeline.lab.rows import results as table_of
from pipeline.lab.rows import row

EXPERIMENT = "dag_verification"
KINDS = ("verification", "sensitivity")  # tables that are summarised
MODES = ["full", "conservative", "paper"]
HIDDEN = ["dead value", "value coincidence"]
OUTCOMES = ["changed", *HIDDEN, "over-conservative edge", "unexplained"]
_FACTS = ["blocks", "runnable", "orders", "state_runs", "different"]
_COUNTS = ["blocks", "orders", "state_runs", "different", "states", "aliased_states", "undefined_flags_differ"]


def summaries(verification: pd.DataFrame, sensitivity: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Name of a published table -> its rows."""
    return {
        "results": results(verification, sensitivity),
        "strata": strata(verification),
        "reasons": reasons(verification),
        "swap_outcomes": kinds(sensitivity),
        "explanations": explanations(sensitivity),
    }


def _counted(verification: pd.DataFrame) -> pd.DataFrame:
    """The table with the columns _FACTS, whose sums are published."""
    runnable = (verification["outcome"] != "not runnable").astype(int)
    return verification.assign(blocks=1, runnable=runnable, orders=verification["orders_tried"])


def results(verification: pd.DataFrame, sensitivity: pd.DataFrame) -> pd.DataFrame:
    """Rows of table `results`: per mode, of all sources (`all`) and of each source."""
    rows = []
    counted = _counted(verification)
    for mode in sorted(verification["dependencies"].unique()):
        for source in ["all", *sorted(verification["source"].unique())]:
            blocks, swaps = (
                frame[(frame["dependencies"] == mode) & ((frame["source"] == source) | (source == "all"))]
                for frame in (counted, sensitivity)
            )
            place = {"experiment": EXPERIMENT, "set": source, "dependencies": mode, "seed": "all"}
            metrics: dict[str, float] = blocks[_COUNTS].sum().to_dict()
            if len(blocks):
                metrics["runnable_share"] = blocks["runnable"].mean()
            rows += [row(place, metric, value, n=len(blocks)) for metric, value in metrics.items()]
            if len(swaps):
                changed, observable = swaps["outcome"] == "changed", ~swaps["outcome"].isin(HIDDEN)
                metrics = {"swaps": len(swaps), "sensitivity_raw": changed.mean()}
                if observable.any():
                    metrics["sensitivity"] = changed.sum() / observable.sum()
                n = swaps["block_id"].nunique()
                rows += [row(place, metric, value, n=n) for metric, value in metrics.items()]
    return table_of(rows)


def strata(verification: pd.DataFrame) -> pd.DataFrame:
    """Sums by source, instruction class and length, per mode."""
    frame = _counted(verification).rename(columns={"instruction_class": "class"})
    frame["length"] = frame["n_instructions"].map(length_class)
    of = ["source", "class", "length"]
    long = frame.melt(["dependencies", *_FACTS], of, "by", "name")
    sums = long.groupby(["dependencies", "by", "name"], as_index=False)[_FACTS].sum()
    ranks = [*MODES, *of, *sorted(frame["source"].unique()), *CLASSES, *LENGTHS]
    return sums.sort_values(["dependencies", "by", "name"], key=lambda names: names.map(ranks.index), ignore_index=True)


def reasons(verification: pd.DataFrame) -> pd.DataFrame:
    """Reasons of blocks that did not run, most frequent first."""
    lost = verification[verification["outcome"] == "not runnable"]
    return _most_frequent(lost, ["dependencies", "reason"], "blocks")


def kinds(sensitivity: pd.DataFrame) -> pd.DataFrame:
    """Swaps by kind of edge and outcome, `all` kinds first."""
    texts = [" + ".join(words(kind) for kind in Kind if kind & kinds) for kinds in sensitivity["kinds"]]
    both = pd.concat([sensitivity.assign(kind="all"), sensitivity.assign(kind=texts)])
    swaps = both.groupby(["dependencies", "kind", "outcome"], as_index=False).agg(swaps=("block_id", "size"))
    swaps["less"] = -swaps.groupby(["dependencies", "kind"])["swaps"].transform("sum")
    swaps = swaps.assign(later=swaps["kind"] != "all", rank=swaps["outcome"].map(OUTCOMES.index))
    swaps = swaps.sort_values(["dependencies", "later", "less", "kind", "rank"], ignore_index=True)
    return swaps[["dependencies", "kind", "outcome", "swaps"]]


def explanations(sensitivity: pd.DataFrame) -> pd.DataFrame:
    """Explanations of swaps without a changed state, with an example of each."""
    missed = sensitivity[sensitivity["outcome"] != "changed"]
    missed = missed.assign(example=missed["first"] + "; " + missed["second"])
    return _most_frequent(missed, ["dependencies", "outcome", "explanation"], "swaps")


def _most_frequent(rows: pd.DataFrame, by: list[str], count: str) -> pd.DataFrame:
    """Number of rows of each group and an example, in each mode the most frequent first."""
    groups = rows.groupby(by, as_index=False).agg(**{count: ("block_id", "size")}, example=("example", "first"))
    return groups.sort_values([by[0], count, by[-1]], ascending=[True, False, True], ignore_index=True)
