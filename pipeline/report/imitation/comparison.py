"""Schedulers that imitate GCC for blocks of all lengths: goals, comparisons, what they cost and where they fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd
from matplotlib.figure import Figure

from pipeline.config.ordering import Imitation
from pipeline.report import plots
from pipeline.report.imitation import goals as imitation_goals
from pipeline.report.imitation import plots as imitation_plots
from pipeline.report.imitation.rows import (
    ABLATION,
    MAIN,
    SCALING,
    TRANSFER,
    decoder_label,
    decoders,
    led,
    of,
    schedulers,
    set_label,
    sets,
    sizes,
)
from pipeline.report.numbers import count, natural, percent, with_interval

METRICS = ("exact_match", "exact_match_multi_order", "slot_accuracy", "kendall_tau_distance", "valid_share")
_HEADS = ("pointer", "pairwise", "popocs", "sinkhorn")
_ENCODERS = {
    "attention": "attention that sees the dependencies",
    "plain": "attention, no dependencies",
    "lstm": "LSTM",
}
_AXES = {"blocks": "train_blocks", "width": "parameters"}  # of names of models -> what varies
Settings = Mapping[str, Imitation]  # section `imitations` of the parameters
Found = dict[tuple[str, str, str, str], pd.Series]  # set, scheduler, decoder, metric -> row


@dataclass(frozen=True)
class Section:
    """Heads and rows of the section's tables, as text; without rows where an experiment was not published."""

    goals_head: list[str] = field(default_factory=list)
    goals: list[list[str]] = field(default_factory=list)
    main: list[list[str]] = field(default_factory=list)
    seeds_head: list[str] = field(default_factory=list)
    by_seed: list[list[str]] = field(default_factory=list)
    sizes: list[list[str]] = field(default_factory=list)
    ablation: list[list[str]] = field(default_factory=list)
    scaling: list[list[str]] = field(default_factory=list)
    left_out: list[list[str]] = field(default_factory=list)
    steps: dict[str, int] = field(default_factory=dict)  # of the longest training of each experiment
    figures: set[str] = field(default_factory=set)  # names of those that are drawn


def section(results: pd.DataFrame, parts: pd.DataFrame, history: pd.DataFrame, settings: Settings) -> Section:
    """`results`, `parts`, `history`: the report's, of all experiments; `settings` give models and sets their order."""
    rows = of(results, MAIN)
    head, goals = imitation_goals.table(rows) if len(rows) else ([], [])
    tested, transfer = sets(rows, settings, MAIN), of(results, TRANSFER)
    return Section(
        goals_head=head,
        goals=goals,
        main=_main(rows, settings),
        seeds_head=["Scheduler", "Decoder", "Seed", *map(set_label, tested)],
        by_seed=_by_seed(results, rows, tested),
        sizes=_sizes(results),
        ablation=_ablation(results),
        scaling=_scaling(results),
        left_out=_left_out(transfer, settings),
        steps={str(name): int(step) for name, step in history.groupby("experiment")["step"].max().items()},
        figures=set(_drawn(results, parts, history)),
    )


def figures(results: pd.DataFrame, parts: pd.DataFrame, history: pd.DataFrame, settings: Settings) -> dict[str, Figure]:
    """The section's figures by name, those whose rows were published."""
    drawn: dict[str, Figure] = {}
    for name, rows in _drawn(results, parts, history).items():
        if name == "imitation_training":
            drawn[name] = imitation_plots.training(rows)
        elif name == "imitation_scaling":
            drawn[name] = imitation_plots.scaling(rows)
        elif name == "imitation_transfer":
            matrix = rows.pivot_table(index="scheduler", columns="split", values="value")
            shown = schedulers(rows, settings, TRANSFER), sets(rows, settings, TRANSFER)
            drawn[name] = imitation_plots.transfer(matrix.loc[shown])
        else:
            tested, shown_schedulers = sets(rows, settings, MAIN), schedulers(rows, settings, MAIN)
            if name == "imitation_class":
                drawn[name] = imitation_plots.by_class(rows, tested, shown_schedulers)
            elif name == "imitation_reliability":
                drawn[name] = imitation_plots.reliability(rows, tested)
            else:
                drawn[name] = imitation_plots.by_range(rows, str(rows["by"].iloc[0]), tested, shown_schedulers)
    return drawn


def _drawn(results: pd.DataFrame, parts: pd.DataFrame, history: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Names of the figures that there are rows for, with these rows."""
    own = parts[parts["experiment"] == MAIN]
    kinds = {by: led(own[own["by"] == by]) for by in ("length", "legal_orders", "instruction_class")}
    several = kinds["length"].groupby("split")["part"].nunique() > 1  # a set of one length says nothing by length
    beliefs = own[own["by"] == "confidence"]
    transfer = led(of(results, TRANSFER))
    found = {
        "imitation_length": kinds["length"][kinds["length"]["split"].isin(several[several].index)],
        "imitation_legal_orders": kinds["legal_orders"],
        "imitation_class": kinds["instruction_class"],
        "imitation_reliability": beliefs[beliefs["scheduler"] == beliefs["scheduler"].min()],
        "imitation_scaling": _points(results),
        "imitation_transfer": transfer[transfer["metric"] == "exact_match"],
        "imitation_training": history[history["experiment"] == MAIN],
    }
    return {name: rows for name, rows in found.items() if len(rows)}


def _index(rows: pd.DataFrame) -> Found:
    keys = ("split", "scheduler", "decoder", "metric")
    return {(*(row[key] for key in keys),): row for _, row in rows.iterrows()}


def _speed(row: pd.Series | None) -> str:
    """Blocks per second with the interval."""
    if row is None:
        return "-"
    return f"{count(row['value'])}<br><small>{count(row['ci_low'])} to {count(row['ci_high'])}</small>"


def _main(rows: pd.DataFrame, settings: Settings) -> list[list[str]]:
    """Set, scheduler, decoder, METRICS, blocks per second, blocks: every model and baseline on every set."""
    found, table = _index(rows), []
    for split in sets(rows, settings, MAIN):
        on_set = rows[rows["split"] == split]
        for scheduler in schedulers(on_set, settings, MAIN):
            for decoder in decoders(on_set[on_set["scheduler"] == scheduler]):
                own = {metric: found.get((split, scheduler, decoder, metric)) for metric in METRICS}
                exact = own["exact_match"]
                if exact is None:
                    continue
                cells = [with_interval(metric, row) for metric, row in own.items()]
                speed = _speed(found.get((split, scheduler, decoder, "blocks_per_second")))
                place = [set_label(split), plots.label(scheduler), decoder_label(decoder)]
                table.append([*place, *cells, speed, count(exact["n_blocks"])])
    return table


def _by_seed(results: pd.DataFrame, rows: pd.DataFrame, tested: list[str]) -> list[list[str]]:
    """Scheduler, decoder, seed, exact match on each set: of trained networks with their leading decoder."""
    leading = led(rows[rows["decoder"] != "none"])
    pairs = dict.fromkeys(zip(leading["scheduler"], leading["decoder"], strict=True))
    exact = results[(results["experiment"] == MAIN) & (results["metric"] == "exact_match") & (results["seed"] != "all")]
    found = {(row["scheduler"], row["decoder"], row["seed"], row["split"]): row["value"] for _, row in exact.iterrows()}
    return [
        [plots.label(scheduler), decoder_label(decoder), seed]
        + [percent(found.get((scheduler, decoder, seed, split), float("nan"))) for split in tested]
        for scheduler, decoder in pairs
        for seed in sorted({key[2] for key in found if key[:2] == (scheduler, decoder)}, key=natural)
    ]


def _sizes(results: pd.DataFrame) -> list[list[str]]:
    """Model, parameters, megabytes of its file, training blocks."""
    return [
        [
            plots.label(str(model)),
            count(row["parameters"]),
            f"{row['weights_bytes'] / 1e6:.1f}",
            count(row["train_blocks"]),
        ]
        for model, row in sizes(results, MAIN).iterrows()
    ]


def _ablation(results: pd.DataFrame) -> list[list[str]]:
    """Encoder, head, decoder, exact match (and multi-order), tau, valid, parameters; the best exact match first."""
    rows, known = of(results, ABLATION), sizes(results, ABLATION)
    found = _index(rows)
    lines = []
    for (split, scheduler, decoder, metric), row in found.items():
        if metric != "exact_match":
            continue
        encoder, _, head = scheduler.rpartition("_")
        own = [found.get((split, scheduler, decoder, metric)) for metric in METRICS]
        cells = [
            with_interval(metric, value)
            for metric, value in zip(METRICS, own, strict=True)
            if metric != "slot_accuracy"
        ]
        named = [_ENCODERS.get(encoder, encoder), head] if head in _HEADS else ["-", plots.label(scheduler)]
        size = count(known["parameters"].get(scheduler, float("nan"))) if len(known) else "-"
        lines.append((-row["value"], [*named, decoder_label(decoder), *cells, size]))
    return [line for _, line in sorted(lines, key=lambda pair: (pair[0], pair[1][:3]))]


def _points(results: pd.DataFrame) -> pd.DataFrame:
    """Columns axis, x, value, ci_low, ci_high, scheduler: models that are named after what varies."""
    rows, known = led(of(results, SCALING)), sizes(results, SCALING)
    exact = rows[rows["metric"] == "exact_match"]
    exact = exact.assign(axis=exact["scheduler"].str.partition("_")[0] if len(exact) else None)
    exact = exact[exact["axis"].isin(_AXES) & exact["scheduler"].isin(known.index)]
    x = [known.loc[row["scheduler"], _AXES[row["axis"]]] for _, row in exact.iterrows()]
    return exact.assign(x=x)[["axis", "x", "value", "ci_low", "ci_high", "scheduler"]].sort_values(["axis", "x"])


def _scaling(results: pd.DataFrame) -> list[list[str]]:
    """What varies, training blocks, parameters, exact match."""
    known = sizes(results, SCALING)
    return [
        [
            {"blocks": "training blocks", "width": "width"}[row["axis"]],
            count(known.loc[row["scheduler"], "train_blocks"]),
            count(known.loc[row["scheduler"], "parameters"]),
            with_interval("exact_match", row),
        ]
        for _, row in _points(results).iterrows()
    ]


def _left_out(rows: pd.DataFrame, settings: Settings) -> list[list[str]]:
    """Library, exact match on its blocks of a network that saw the library and of one that did not, points lost."""
    exact = led(rows[rows["metric"] == "exact_match"])
    found = {(row["scheduler"], row["split"]): row for _, row in exact.iterrows()}
    table = []
    for split in sets(rows, settings, TRANSFER):
        library = split.removeprefix("only_")
        seen, unseen = found.get(("all", split)), found.get((f"without_{library}", split))
        if seen is not None and unseen is not None and library != split:
            cells = [with_interval("exact_match", row) for row in (seen, unseen)]
            table.append([library, *cells, f"{100 * (unseen['value'] - seen['value']):+.1f}"])
    return table
