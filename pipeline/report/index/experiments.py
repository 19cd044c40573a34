"""Tables of one experiment: accuracy, latency, claims, examples."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from pipeline.analysis import paper
from pipeline.analysis.claims import Claim, check
from pipeline.config.params import Params
from pipeline.report import plots
from pipeline.report.numbers import count, interval, is_share, natural, number, shown, signed, with_interval

TABLE_1_METRICS = [
    "exact_match",
    "exact_match_multi_order",
    "slot_accuracy",
    "kendall_tau_distance",
    "violations_per_block",
    "valid_share",
]
TABLE_2_METRICS = ["cycles_per_iteration_haswell", "single_pass_cycles_atom"]
DECODERS = ["hungarian", "topological", "expected_slots", "best", "none"]
BASELINES = ["random_legal", "input_order", "critical_path", "gcc"]


@dataclass(frozen=True)
class Part:
    """One experiment with one kind of dependencies, as the template shows it."""

    experiment: str
    dependencies: str
    fresh: bool
    seeds: list[str]
    n_test_blocks: int
    n_train_blocks: int | None
    table_1: list[list[str]]
    by_seed: list[list[str]]
    table_2: list[list[str]]
    claims: list[Claim]
    examples: list[tuple[str, str]]  # figure name, dependencies in words
    figures: dict[str, str]  # what -> figure name, where there is one

    @property
    def name(self) -> str:
        return f"`{self.experiment}`, dependencies `{self.dependencies}`"


def difference(value: float | None, claim: Claim) -> str:
    """A claim's value: differences of shares in percentage points, of cycles and counts as they are."""
    if value is None or math.isnan(value):
        return "-"
    if "_minus_" not in claim.metric:
        return shown(claim.metric, value)
    return f"{100 * value:+.2f} pp" if is_share(claim.metric) else signed(value)


def _schedulers(results: pd.DataFrame) -> list[str]:
    """The schedulers that `results` has: networks, Sinkhorn first, then the baselines, GCC last."""

    def rank(name: str) -> tuple:
        return (name in BASELINES and 1 + BASELINES.index(name), name != "sinkhorn", natural(name))

    return sorted(set(results["scheduler"]), key=rank)


def _index(results: pd.DataFrame) -> dict[tuple[str, str, str], pd.Series]:
    return {(row["scheduler"], row["decoder"], row["metric"]): row for _, row in results.iterrows()}


def table_1(results: pd.DataFrame, schedulers: list[str]) -> list[list[str]]:
    """Rows of Table 1: scheduler, decoder, each metric with its interval, the paper's value after four of them."""
    found = _index(results)
    rows = []
    for scheduler in schedulers:
        for decoder in DECODERS:
            if not any((scheduler, decoder, metric) in found for metric in TABLE_1_METRICS):
                continue
            reference = paper.TABLE_1.get(scheduler, {}) if decoder == "hungarian" else {}
            cells = [plots.label(scheduler), decoder.replace("_", " ")]
            for metric in TABLE_1_METRICS:
                cells.append(with_interval(metric, found.get((scheduler, decoder, metric))))
                if metric in paper.TABLE_1["sinkhorn"]:
                    cells.append(shown(metric, reference.get(metric)))
            rows.append(cells)
    return rows


def by_seed(results: pd.DataFrame, schedulers: list[str]) -> list[list[str]]:
    """Each network's seeds beside each other: scheduler, seed, exact match, violations, valid share (Hungarian)."""
    metrics = ("exact_match", "violations_per_block", "valid_share")
    rows = results[(results["decoder"] == "hungarian") & (results["seed"] != "all")]
    table = []
    for scheduler in schedulers:
        of_scheduler = rows[rows["scheduler"] == scheduler]
        for seed in sorted(set(of_scheduler["seed"]), key=natural):
            found = _index(of_scheduler[of_scheduler["seed"] == seed])
            cells = [found.get((scheduler, "hungarian", metric)) for metric in metrics]
            values = [shown(m, None if c is None else c["value"]) for m, c in zip(metrics, cells, strict=True)]
            table.append([plots.label(scheduler), seed, *values])
    return table


def table_2(results: pd.DataFrame, schedulers: list[str]) -> list[list[str]]:
    """Rows of Table 2: scheduler, decoder, paper, and for each machine cycles, cycles less GCC's, blocks."""
    found = _index(results)
    rows = []
    for scheduler in schedulers:
        for decoder in DECODERS:
            if not any((scheduler, decoder, metric) in found for metric in TABLE_2_METRICS):
                continue
            reference = paper.TABLE_2.get(scheduler) if decoder in ("hungarian", "none") else None
            cells = [plots.label(scheduler), decoder.replace("_", " "), number(reference, 4)]
            for metric in TABLE_2_METRICS:
                row = found.get((scheduler, decoder, metric))
                minus = found.get((scheduler, decoder, f"{metric}_minus_gcc"))
                cells.append(with_interval(metric, row))
                cells.append("-" if minus is None else f"{signed(minus['value'])}{interval(minus)}")
                cells.append("-" if row is None else count(row["n_blocks"]))
            rows.append(cells)
    return rows


@dataclass(frozen=True)
class Tables:
    """What was measured, fresh and published; frames carry `experiment` and `dependencies` (and `model`, `seed`)."""

    results: pd.DataFrame
    history: pd.DataFrame
    sweep: pd.DataFrame
    examples: pd.DataFrame

    def of(self, experiment: str, dependencies: str) -> Tables:
        """One experiment's with one kind of dependencies; results of the test blocks alone."""
        results, *others = (
            frame[(frame["experiment"] == experiment) & (frame["dependencies"] == dependencies)]
            for frame in (self.results, self.history, self.sweep, self.examples)
        )
        return Tables(results[results["split"] == "test"], *others)


def parts(params: Params, tables: Tables) -> list[Part]:
    """Every experiment with every kind of dependencies, the report's own first."""
    tested = tables.results[tables.results["split"] == "test"]
    keys = sorted(set(zip(tested["experiment"], tested["dependencies"], strict=True)), key=fresh_first(params))
    return [_part(params, tables.of(*key), *key) for key in keys]


def fresh_first(params: Params) -> Callable[[tuple], tuple]:
    """Sort key of pairs that begin with an experiment: the report's own in its order, then the others."""
    fresh = params.report.experiments
    return lambda pair: (fresh.index(pair[0]) if pair[0] in fresh else len(fresh), pair[0], str(pair[1]))


def _part(params: Params, tables: Tables, experiment: str, dependencies: str) -> Part:
    rows = tables.results
    aggregate = rows[rows["seed"] == "all"]
    schedulers = _schedulers(rows)
    place = f"{experiment}_{dependencies}"
    exact = aggregate.loc[aggregate["metric"] == "exact_match", "n_blocks"]
    trained = aggregate.loc[aggregate["metric"] == "train_blocks", "value"].dropna()
    figures = {"accuracy": f"accuracy_{place}"}
    if len(tables.sweep):
        figures["figure_3"] = f"figure_3_{place}"
    if len(tables.history):
        figures["training"] = f"training_{place}"
    return Part(
        experiment=experiment,
        dependencies=dependencies,
        fresh=experiment in params.report.experiments,
        seeds=sorted(set(rows["seed"]) - {"all"}, key=natural),
        n_test_blocks=int(exact.max()) if len(exact) else 0,
        n_train_blocks=int(trained.max()) if len(trained) else None,
        table_1=table_1(aggregate, schedulers),
        by_seed=by_seed(rows, schedulers),
        table_2=table_2(aggregate, schedulers),
        claims=check(aggregate),
        examples=[(f"example_{place}_{k + 1}", _edges(rows)) for k, rows in enumerate(_blocks(tables.examples))],
        figures=figures,
    )


def _blocks(examples: pd.DataFrame) -> list[pd.DataFrame]:
    return [rows for _, rows in examples.groupby("block_id", sort=False)]


def _edges(rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    text = list(first["instructions"])
    edges = [f"`{text[a]}` before `{text[b]}`" for a, b in zip(first["before"], first["after"], strict=True)]
    return "; ".join(edges) if edges else "none: every order is legal"


def figures(part: Part, tables: Tables) -> dict[str, Figure]:
    """The part's figures by name."""
    own = tables.of(part.experiment, part.dependencies)
    drawn = {part.figures["accuracy"]: plots.accuracy(own.results, _schedulers(own.results))}
    if "figure_3" in part.figures:
        drawn[part.figures["figure_3"]] = plots.figure_3(own.sweep, own.results)
    if "training" in part.figures:
        drawn[part.figures["training"]] = plots.training(own.history)
    for (name, _), rows in zip(part.examples, _blocks(own.examples), strict=True):
        drawn[name] = plots.example(rows)
    return drawn


def headlines(parts: list[Part]) -> list[list[str]]:
    """One row for each question: the question, then each part's answer."""
    rows: dict[str, list[str]] = {}
    for part in parts:
        for claim in part.claims:
            if claim.headline:
                rows.setdefault(claim.question, []).append(f"**{claim.answer}**")
    return [[question, *answers] for question, answers in rows.items()]
