"""Tables -> figures, Markdown and one self-contained HTML page. Pure: the stage reads and writes."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jinja2
import markdown as markdown_package
import pandas as pd
from markupsafe import escape
from matplotlib.figure import Figure

from pipeline.config import Params, Training
from pipeline.evidence import paper, plots, tidy
from pipeline.evidence.card import Card
from pipeline.evidence.claims import Claim, check

TEMPLATES = Path(__file__).parent
TABLE_1_METRICS = [
    "exact_match",
    "exact_match_multi_order",
    "slot_accuracy",
    "kendall_tau_distance",
    "violations_per_block",
    "valid_share",
]
TABLE_2_METRICS = ["cycles_per_iteration_haswell", "single_pass_cycles_atom"]
BASELINES = ["random_legal", "input_order", "critical_path", "gcc"]
_SHARES = ("exact_match", "slot_accuracy", "valid_share")


@dataclass(frozen=True)
class Evidence:
    """Everything the report shows. Frames carry `experiment` and `dependencies` (and `model`, `seed`)."""

    params: Params
    results: pd.DataFrame  # fresh and published rows
    history: pd.DataFrame
    sweep: pd.DataFrame
    examples: pd.DataFrame
    trials: pd.DataFrame  # what was tried, with settings and the end on the development split; may be empty
    lengths: pd.Series  # instructions of each unique block
    legal_orders: pd.DataFrame  # dependencies, split, n_legal_orders of each block of a split
    card: Card
    provenance: dict[str, str]


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


# Numbers as text


def number(value: float | None, digits: int = 3) -> str:
    """A number with fixed digits; a dash where there is none."""
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 4) -> str:
    """A difference with its sign."""
    return "-" if value is None or math.isnan(value) else f"{value:+.{digits}f}"


def shown(metric: str, value: float | None) -> str:
    """A metric's value in the unit people read it in: shares as percentages."""
    if value is None or math.isnan(value):
        return "-"
    return f"{100 * value:.1f}%" if metric.startswith(_SHARES) else number(value, 3 if "cycles" not in metric else 4)


def _difference(value: float | None, claim: Claim) -> str:
    """A claim's value: differences of shares in percentage points, of cycles and counts as they are."""
    if value is None or math.isnan(value):
        return "-"
    if "_minus_" not in claim.metric:
        return shown(claim.metric, value)
    return f"{100 * value:+.2f} pp" if claim.metric.startswith(_SHARES) else signed(value)


def _with_interval(metric: str, row: pd.Series | None) -> str:
    if row is None:
        return "-"
    text = shown(metric, row["value"])
    if math.isnan(row["ci_low"]) or math.isnan(row["ci_high"]):
        return text
    low, high = (shown(metric, row[end]).rstrip("%") for end in ("ci_low", "ci_high"))
    return f"{text}<br><small>{low} to {high}</small>"


# Tables of one experiment


def _natural(name: str) -> list[tuple[int, int | str]]:
    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", name) if part]


def _schedulers(results: pd.DataFrame) -> list[str]:
    """The schedulers that `results` has: networks, Sinkhorn first, then the baselines, GCC last."""

    def rank(name: str) -> tuple:
        return (name in BASELINES and 1 + BASELINES.index(name), name != "sinkhorn", _natural(name))

    return sorted(set(results["scheduler"]), key=rank)


def _index(results: pd.DataFrame) -> dict[tuple[str, str, str], pd.Series]:
    return {(row["scheduler"], row["decoder"], row["metric"]): row for _, row in results.iterrows()}


def table_1(results: pd.DataFrame, schedulers: list[str]) -> list[list[str]]:
    """Rows of Table 1: scheduler, decoder, each metric with its interval, the paper's value after four of them."""
    found = _index(results)
    rows = []
    for scheduler in schedulers:
        for decoder in ("hungarian", "topological", "none"):
            if not any((scheduler, decoder, metric) in found for metric in TABLE_1_METRICS):
                continue
            reference = paper.TABLE_1.get(scheduler, {}) if decoder == "hungarian" else {}
            cells = [plots.label(scheduler), decoder]
            for metric in TABLE_1_METRICS:
                cells.append(_with_interval(metric, found.get((scheduler, decoder, metric))))
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
        for seed in sorted(set(of_scheduler["seed"]), key=_natural):
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
        for decoder in ("hungarian", "topological", "none"):
            if not any((scheduler, decoder, metric) in found for metric in TABLE_2_METRICS):
                continue
            reference = paper.TABLE_2.get(scheduler) if decoder != "topological" else None
            cells = [plots.label(scheduler), decoder, number(reference, 4)]
            for metric in TABLE_2_METRICS:
                row = found.get((scheduler, decoder, metric))
                minus = found.get((scheduler, decoder, f"{metric}_minus_gcc"))
                cells.append(_with_interval(metric, row))
                cells.append("-" if minus is None else f"{signed(minus['value'])}{_range(minus)}")
                cells.append("-" if row is None else f"{int(row['n_blocks']):,}")
            rows.append(cells)
    return rows


def _range(row: pd.Series) -> str:
    if math.isnan(row["ci_low"]) or math.isnan(row["ci_high"]):
        return ""
    return f"<br><small>{signed(row['ci_low'])} to {signed(row['ci_high'])}</small>"


def _parts(evidence: Evidence) -> list[Part]:
    results = evidence.results[evidence.results["split"] == "test"]
    pairs = set(zip(results["experiment"], results["dependencies"], strict=True))
    keys = sorted(pairs, key=_fresh_first(evidence.params))
    return [_part(evidence, results, experiment, dependencies) for experiment, dependencies in keys]


def _fresh_first(params: Params) -> Callable[[tuple], tuple]:
    """Sort key of pairs that begin with an experiment: the report's own in its order, then the others."""
    fresh = params.report.experiments
    return lambda pair: (fresh.index(pair[0]) if pair[0] in fresh else len(fresh), pair[0], str(pair[1]))


def _of(frame: pd.DataFrame, experiment: str, dependencies: str) -> pd.DataFrame:
    return frame[(frame["experiment"] == experiment) & (frame["dependencies"] == dependencies)]


def _part(evidence: Evidence, results: pd.DataFrame, experiment: str, dependencies: str) -> Part:
    rows = _of(results, experiment, dependencies)
    aggregate = rows[rows["seed"] == "all"]
    schedulers = _schedulers(rows)
    place = f"{experiment}_{dependencies}"
    exact = aggregate.loc[aggregate["metric"] == "exact_match", "n_blocks"]
    trained = aggregate.loc[aggregate["metric"] == "train_blocks", "value"].dropna()
    examples = _of(evidence.examples, experiment, dependencies)
    figures = {"accuracy": f"accuracy_{place}"}
    if len(_of(evidence.sweep, experiment, dependencies)):
        figures["figure_3"] = f"figure_3_{place}"
    if len(_of(evidence.history, experiment, dependencies)):
        figures["training"] = f"training_{place}"
    return Part(
        experiment=experiment,
        dependencies=dependencies,
        fresh=experiment in evidence.params.report.experiments,
        seeds=sorted(set(rows["seed"]) - {"all"}, key=_natural),
        n_test_blocks=int(exact.max()) if len(exact) else 0,
        n_train_blocks=int(trained.max()) if len(trained) else None,
        table_1=table_1(aggregate, schedulers),
        by_seed=by_seed(rows, schedulers),
        table_2=table_2(aggregate, schedulers),
        claims=check(aggregate),
        examples=[(f"example_{place}_{k + 1}", _edges(rows)) for k, rows in enumerate(_blocks(examples))],
        figures=figures,
    )


def _blocks(examples: pd.DataFrame) -> list[pd.DataFrame]:
    return [rows for _, rows in examples.groupby("block_id", sort=False)]


def _edges(rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    text = list(first["instructions"])
    edges = [f"`{text[a]}` before `{text[b]}`" for a, b in zip(first["before"], first["after"], strict=True)]
    return "; ".join(edges) if edges else "none: every order is legal"


# The three products


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Every figure of the report by its file name without ending."""
    drawn: dict[str, Figure] = {}
    for part in _parts(evidence):
        results = _of(evidence.results, part.experiment, part.dependencies)
        sweep = _of(evidence.sweep, part.experiment, part.dependencies)
        history = _of(evidence.history, part.experiment, part.dependencies)
        drawn[part.figures["accuracy"]] = plots.accuracy(results, _schedulers(results))
        if "figure_3" in part.figures:
            drawn[part.figures["figure_3"]] = plots.figure_3(sweep, results)
        if "training" in part.figures:
            drawn[part.figures["training"]] = plots.training(history)
        blocks = _blocks(_of(evidence.examples, part.experiment, part.dependencies))
        for (name, _), rows in zip(part.examples, blocks, strict=True):
            drawn[name] = plots.example(rows)
    legal = {str(mode): rows["n_legal_orders"] for mode, rows in evidence.legal_orders.groupby("dependencies")}
    drawn["corpus"] = plots.corpus(evidence.lengths, legal)
    return drawn


def curves(evidence: Evidence) -> dict[str, str]:
    """What `dvc plots show` draws: a CSV by relative path, means over seeds."""
    files = {}
    history = evidence.history[evidence.history["split"] == "development"]
    for (experiment, dependencies, model), rows in history.groupby(["experiment", "dependencies", "model"], sort=True):
        means = rows.groupby("step")[["loss", "exact_match", "valid_share"]].mean().reset_index()
        files[f"training/{experiment}_{dependencies}_{model}.csv"] = tidy.csv(means)
    for (experiment, dependencies), rows in evidence.sweep.groupby(["experiment", "dependencies"], sort=True):
        means = rows.groupby("iterations")[["violations_per_block", "valid_share", "exact_match"]].mean().reset_index()
        files[f"sweep/{experiment}_{dependencies}.csv"] = tidy.csv(means)
    return files


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"difference": _difference, "label": plots.label}
    return environment


def _trials(trials: pd.DataFrame) -> list[list[str]]:
    """Rows of the table of what was tried: the settings that differ between trials, and how each ended."""
    if trials.empty:
        return []
    names = ("trial", "operator", "proposal", "loss", "floor", "optimiser", "learning_rate", "batch_size", "steps")
    text = [[f"{row[name]:g}" if isinstance(row[name], float) else str(row[name]) for name in names] for _, row in
            trials.iterrows()]  # fmt: skip
    ends = zip(trials["exact_match"], trials["valid_share"], strict=True)
    return [
        [*cells, shown("exact_match", e), shown("valid_share", v)] for cells, (e, v) in zip(text, ends, strict=True)
    ]


def cell(value: object) -> str:
    """`value` as the text of a cell of a Markdown table: a bar or a line break would end the cell."""
    return str(escape(str(value))).replace("|", "\\|").replace("\n", " ")


def markdown(evidence: Evidence) -> str:
    """The report as Markdown; images by relative path, figures/<name>.png."""
    parts, card = _parts(evidence), evidence.card
    text = (
        _environment()
        .get_template("report.md.j2")
        .render(
            parts=parts,
            params=evidence.params,
            card=evidence.card,
            sources=[
                [cell(source), cell(compiler), *map(_count, counts)] for source, compiler, *counts in card.by_source
            ],
            programs=[
                [cell(source), cell(program), *map(_count, counts)] for source, program, *counts in card.by_program
            ],
            splits=[
                [mode, split, _count(n), f"{100 * several:.1f}%", number(mean, 1), f"{100 * chance:.1f}%"]
                for mode, split, n, several, mean, chance in card.splits
            ],
            skipped=[list(map(cell, row)) for row in card.skipped],
            settings=_settings(evidence.params),
            trials=_trials(evidence.trials),
            knobs=[name.replace("_", " ").capitalize() for name in Training.model_fields],
            trained_iterations=_trained_iterations(evidence.params),
            provenance=[[what, f"`{value}`"] for what, value in evidence.provenance.items()],
            headlines=_headlines(parts),
            missing_latency=[part for part in parts if not part.table_2],
            margin=100 * paper.ON_PAR_SHARE,
        )
    )
    return re.sub(r"\n{3,}", "\n\n", text)


def _count(value: int) -> str:
    return f"{value:,}"


def _settings(params: Params) -> list[list[str]]:
    """Every knob of every training, fresh experiments first."""
    return [
        [experiment, plots.label(name), *(_knob(value) for value in model.model_dump().values())]
        for experiment, settings in sorted(params.experiments.items(), key=_fresh_first(params))
        for name, model in sorted(settings.models.items(), reverse=True)
    ]


def _knob(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else cell(value)


def _trained_iterations(params: Params) -> list[int]:
    models = [model for experiment in params.experiments.values() for model in experiment.models.values()]
    return sorted({model.iterations for model in models if model.operator == "popocs"})


def _headlines(parts: list[Part]) -> list[list[str]]:
    """One row for each question: the question, then each part's answer."""
    rows: dict[str, list[str]] = {}
    for part in parts:
        for claim in part.claims:
            if claim.headline:
                rows.setdefault(claim.question, []).append(f"**{claim.answer}**")
    return [[question, *answers] for question, answers in rows.items()]


def html(text: str, images: dict[str, bytes]) -> str:
    """The Markdown `text` as one HTML page that needs no other file.

    `images`: figure name -> PNG bytes, embedded as data URIs. Raises KeyError for one that is missing.
    """
    converter = markdown_package.Markdown(extensions=["tables", "toc", "sane_lists"], extension_configs=_TOC)
    body = converter.convert(text)

    def embed(match: re.Match) -> str:
        return f'src="data:image/png;base64,{base64.b64encode(images[match[1]]).decode()}"'

    body = re.sub(r'src="figures/([^"]+)\.png"', embed, body)
    body = body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
    page = _environment().get_template("page.html.j2")
    return page.render(title=text.splitlines()[0].lstrip("# "), contents=converter.toc, body=body)


_TOC = {"toc": {"toc_depth": "2-2"}}
