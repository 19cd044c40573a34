"""A random sample of a scheduler's wrong blocks: the slot at which each leaves GCC's order, and its category."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
from iced_x86 import Decoder
from scipy.stats import binomtest

from learned_schedulers.blocks.problems.relations import relations
from learned_schedulers.blocks.problems.store import BlockStore
from learned_schedulers.blocks.read.assembly import intel, split
from pipeline.imitation.canonical import canonical
from pipeline.imitation.disagreement import CATEGORIES, Case, classify
from pipeline.imitation.naming import Shapes
from pipeline.imitation.tables import ERROR_SHARES, ERRORS


def wrong(schedules: pd.DataFrame, blocks: int, seed: int) -> pd.DataFrame:
    """`blocks` rows of table `schedules` (of one decoder) that are legal and not GCC's, or all if there are fewer."""
    exact = np.array([(order == np.arange(len(order))).all() for order in schedules["order"]], bool)
    candidates = schedules[(schedules["status"] == "ok").to_numpy() & ~exact].sort_values("block_id", ignore_index=True)
    chosen = np.random.default_rng(seed).permutation(len(candidates))[:blocks]
    return candidates.iloc[np.sort(chosen)].reset_index(drop=True)


def also_gcc(store: BlockStore, rows: np.ndarray, orders: list[np.ndarray], shapes: dict[str, Shapes]) -> list[str]:
    """Blocks in which GCC has the predicted orders, by the narrowest notion of equal blocks, (B,).

    `exact`, `registers`, `constants`: another block of the store that is equal up to renaming these. `itself,
    registers`: the same block, after renaming its registers (or constants as well). Else `nowhere`.
    """
    places = np.full(len(rows), "nowhere", object)
    predicted = np.concatenate(orders)
    for notion, shape in shapes.items():
        everywhere = canonical(store, np.arange(len(store.lengths)), shape).order
        certificates = canonical(store, rows, shape, predicted).order
        itself = certificates == everywhere[rows]
        in_notion = np.where(
            itself, f"itself, {notion}", np.where(np.isin(certificates, everywhere), notion, "nowhere")
        )
        places = np.where(places == "nowhere", in_notion, places)
    return [str(name) for name in places]


def errors(
    drawn: pd.DataFrame,
    code: pd.Series,
    store: BlockStore,
    compared: np.ndarray,
    shapes: dict[str, Shapes],
    confidence: pd.Series,
) -> pd.DataFrame:
    """Table `errors` of wrong blocks.

    drawn: from `wrong`; code: block_id -> masked code; compared: from Encodings; confidence: block_id -> probability.
    """
    rows = store.rows(pa.array(drawn["block_id"], pa.string()))
    slots = np.array([np.flatnonzero(order != np.arange(len(order)))[0] for order in drawn["order"]])
    colours = canonical(store, rows, shapes["registers"], issued=slots).colours
    start = np.r_[0, np.cumsum(store.lengths[rows])]
    elsewhere = also_gcc(store, rows, drawn["order"].tolist(), shapes)
    rows_of_errors = []
    for number, (block_id, order) in enumerate(zip(drawn["block_id"], drawn["order"], strict=True)):
        slot, predicted, text = slots[number], order[slots[number]], intel(code[block_id])
        problems = store.as_emitted(rows[[number]])
        case = Case(
            instructions=[Decoder(64, instruction).decode() for instruction in split(code[block_id])],
            conflicts=problems.conflicts[0],
            heights=relations(problems, compared).heights[0],
            slot=int(slot),
            predicted=int(predicted),
            interchangeable=bool(colours[start[number] + slot] == colours[start[number] + predicted]),
        )
        holds, detail = classify(case)
        gcc_order, predicted_order = "; ".join(text), "; ".join(text[k] for k in order)
        where = (elsewhere[number], slot, text[slot], text[predicted], gcc_order, predicted_order)
        probability = float(confidence.get(block_id, np.nan))
        rows_of_errors.append((block_id, len(order), holds[0], holds, detail, *where, probability))
    return pd.DataFrame(rows_of_errors, columns=ERRORS.schema.names)


def shares(table: pd.DataFrame, level: float) -> pd.DataFrame:
    """Table `error_shares`: categories and places with Wilson's intervals (1927)."""
    holds = table["holds"].explode().value_counts()
    named = [("category", name, int(holds.get(name, 0))) for name in CATEGORIES]
    named += [("also_gcc", name, 0) for name in sorted(table["also_gcc"].unique())]
    rows = []
    for by, name, n_holds in named:
        count = int((table[by] == name).sum())
        test = binomtest(count, max(len(table), 1))
        interval = test.proportion_ci(level, "wilson")
        rows.append((by, name, count, test.statistic, interval.low, interval.high, n_holds))
    return pd.DataFrame(rows, columns=ERROR_SHARES.schema.names)
