"""Rows of imitations in the order and under the names that tables and figures share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from pipeline.config.ordering import Imitation
from pipeline.report.numbers import natural
from pipeline.report.operator import decoding_plots

EXPERIMENTS = MAIN, ABLATION, SCALING, TRANSFER, IDEAS, INPUT = (
    "imitation",
    "imitation_ablation",
    "imitation_scaling",
    "imitation_transfer",
    "imitation_ideas",
    "imitation_input",
)
SIZES = "training"  # split of the rows that say how large a network is and what it was trained on
_DECODERS = {
    "beam": "beam search",
    "greedy": "greedy",
    **decoding_plots.DECODERS,
    "sample": "one sample",
    "timed": "fastest drawn",
    "none": "-",
}
# Of a head the first decoder, by which its training and its confidence are measured; none of them is chosen by result.
_LEADING = ("greedy", "best", "topological", "expected_slots", "hungarian", "beam", "none")
_SETS = {
    "test_5": "5 instructions",
    "test_10_40": "10 to 40 instructions",
    "test_4_40": "4 to 40, same programs",
    "test_programs_4_40": "4 to 40, unseen programs",
    "development": "development, Qt 5.6",
    "development_programs": "development, ffprobe",
    "compiled_test": "GCC 7.3, order before scheduling",
    "shuffled_test": "GCC 7.3, random order",
}


def set_label(name: str) -> str:
    """A set's name as tables and figures write it: `only_qtgui` -> `qtgui alone`."""
    if name.startswith("only_"):
        return f"{name.removeprefix('only_')} alone"
    return _SETS.get(name, name.replace("_", " "))


def decoder_label(name: str) -> str:
    return _DECODERS.get(name, name.replace("_", " "))


def of(results: pd.DataFrame, experiment: str) -> pd.DataFrame:
    """The experiment's rows over all seeds, those on sizes left out."""
    rows = results[(results["experiment"] == experiment) & (results["seed"] == "all")]
    return rows[rows["split"] != SIZES]


def sizes(results: pd.DataFrame, experiment: str) -> pd.DataFrame:
    """Columns `parameters`, `weights_bytes` and `train_blocks`, a row for each model, where they were published."""
    rows = results[(results["experiment"] == experiment) & (results["split"] == SIZES)]
    return rows.pivot_table(index="scheduler", columns="metric", values="value", observed=True)


def sets(rows: pd.DataFrame, settings: Mapping[str, Imitation], experiment: str) -> list[str]:
    """The rows' sets, as the parameters list them, then others by name."""
    known = settings[experiment].tested if experiment in settings else []
    return in_order(rows["split"], known or _SETS)


def schedulers(rows: pd.DataFrame, settings: Mapping[str, Imitation], experiment: str) -> list[str]:
    """The rows' models as the parameters list them, then others by name, the untrained ones last."""
    chosen = settings.get(experiment)
    simple = list(chosen.baselines) if chosen else []
    own = in_order(set(rows["scheduler"]) - set(simple), chosen.models if chosen else [])
    trained = {name for name in own if set(rows.loc[rows["scheduler"] == name, "decoder"]) != {"none"}}
    first, last = ([name for name in own if (name in trained) == wanted] for wanted in (True, False))
    return [*first, *last, *in_order(set(rows["scheduler"]) & set(simple), simple)]


def decoders(rows: pd.DataFrame) -> list[str]:
    """The rows' decoders, `greedy` first, as a head goes from the simple to the thorough."""
    return in_order(rows["decoder"], ("greedy", "beam", *_DECODERS))


def leading(rows: pd.DataFrame) -> str:
    """The decoder that stands for a model where one number is shown, of those in the rows."""
    found = set(rows["decoder"])
    return next(name for name in (*_LEADING, *sorted(found)) if name in found)


def led(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of each scheduler's leading decoder alone."""
    if rows.empty:
        return rows
    return pd.concat([own[own["decoder"] == leading(own)] for _, own in rows.groupby("scheduler", sort=False)])


def in_order(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Each name once: the known ones in their order, then the others by name, 2 before 10."""
    found, first = set(names), list(known)
    return [name for name in dict.fromkeys(first) if name in found] + sorted(found - set(first), key=natural)
