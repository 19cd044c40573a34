"""The projection operator: violations against iterations, and speed beside the peers of benchmarks/operator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from learned_schedulers.figures import subplots
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.numbers import cell, count, number, percent
from pipeline.lab.page.plots import drawings, key, legend, logarithmic
from pipeline.lab.page.tables import Column, Table, columns, of, records, table
from pipeline.operator.results import OURS, exponents
from pipeline.operator.tables import ALONE

METHODS = ["cyclic", ALONE, "nearest"]
# Okabe & Ito, 2008: our methods are blue and green, the paper's loop is orange.
_COLOURS = {
    "cyclic": "#d55e00",
    "extrapolated": "#0072b2",
    ALONE: "#0072b2",
    "nearest": "#009e73",
    "cyclic_loop": "#e69f00",
    "qpth": "#cc79a7",
    "cvxpylayers": "#222222",
    "cvxpylayers_moreau": "#8a8a8a",
    "linsatnet": "#56b4e9",
}
_NAMES = {
    ALONE: "extrapolated",
    "cyclic_loop": "cyclic loop in PyTorch",
    "cvxpylayers_moreau": "cvxpylayers, Moreau",
    "linsatnet": "LinSATNet",
}
_SIZES = (5, 10, 20, 40, 64, 128, 256)  # ticks
_FLOOR = 1e-9  # lower end of the logarithmic axis, where residuals of exactly 0 are drawn


def name(peer: str) -> str:
    """A method's or peer's name in tables."""
    return _NAMES.get(peer, peer)


def small(size: float) -> str:
    """A residual: two significant digits and a power of ten, or two decimals."""
    return "-" if pd.isna(size) else f"{size:.1e}" if size < 0.01 else f"{size:.2f}"


def two_digits(size: float) -> str:
    """A number with two significant digits, or a whole number; a dash if it is missing."""
    return f"{size:.2g}" if size < 10 else count(size)


def or_dash(iterations: float) -> str:
    """A number of iterations; a dash for a method that has none."""
    return count(iterations) if iterations else "-"


BLOCKS: list[Column] = [
    *columns(n_instructions="Instructions"),
    *columns(count, n_blocks="Blocks"),
    ("Dependencies per block", of("edges_mean", lambda mean: number(mean, 1))),
]
RESIDUALS: list[Column] = [
    *columns(n_instructions="Instructions", proposal="Proposal"),
    *columns(name, method="Method"),
    *columns(or_dash, iterations="Iterations"),
    *columns(small, residual_median="Median residual", residual_p99="99th percentile", residual_max="Maximum"),
    *columns(lambda share: percent(share, 2), within_share="Within tolerance", straggler_share="Stragglers"),
    ("Maximum after `nearest`", lambda line: small(line["finished"]) if line["method"] == ALONE else "-"),
]
SPEED = [
    *columns(n_instructions="Instructions"),
    *columns(name, peer="Method or peer"),
    *columns(two_digits, seconds_per_batch="Seconds", **{peer: f"slower than `{peer}`" for peer in OURS}),
    *columns(small, residual_median="Median residual", residual_max="Maximum"),
    *columns(two_digits, peak_memory_mb="Peak memory, MB"),
    *columns(count, items="Items at once"),
    *columns(or_dash, iterations="Iterations"),
]
FAILURES = [
    *columns(name, peer="Method or peer"),
    *columns(n_instructions="Instructions"),
    *columns(cell, reason="Reason"),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables and figures by name, and the settings of the proposals."""
    residuals, settings = evidence.table("residuals"), evidence.params["residuals"]
    peers = evidence.table("peers")
    timed = peers["seconds_per_batch"].notna()
    lengths = residuals.drop_duplicates("n_instructions").sort_values("n_instructions")
    return {
        "settings": settings,
        "blocks": table(BLOCKS, records(lengths)),
        "residuals": table(RESIDUALS, records(_shown(residuals, settings)), right=3),
        "speed": table(SPEED, records(_slower(peers[timed])), right=2),
        "growth": _growth(peers),
        "failures": table(FAILURES, records(peers[~timed])),
        "figures": drawings(
            operator_residuals=(violations, residuals, settings["tolerance"]), operator_speed=(speed, peers[timed])
        ),
    }


def _shown(table: pd.DataFrame, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Methods at the shown numbers of iterations; column `finished` has the final residual of `extrapolated`."""
    if table.empty:
        return table
    keys = ["n_instructions", "proposal", "iterations"]
    whole = table[table["method"] == "extrapolated"].set_index(keys)["residual_max"]
    shown = table[table["iterations"].isin([*settings["shown"], 0]) & table["method"].isin(METHODS)]
    shown = shown.assign(rank=shown["method"].map(METHODS.index), logits=shown["proposal"] != "softmax")
    shown = shown.join(whole.rename("finished"), on=keys)
    return shown.sort_values(["n_instructions", "logits", "rank", "iterations"])


def _slower(timed: pd.DataFrame) -> pd.DataFrame:
    """Cases on the corpus with a column of ratios for each of OURS: seconds over its seconds, NaN for itself."""
    corpus = timed[timed["dags"] == "corpus"].sort_values("n_instructions", kind="stable")
    seconds = {peer: rows.set_index("n_instructions")["seconds_per_batch"] for peer, rows in corpus.groupby("peer")}
    for peer in OURS:
        times = corpus["seconds_per_batch"] / corpus["n_instructions"].map(seconds.get(peer, {}))
        corpus = corpus.assign(**{peer: times.where(corpus["peer"] != peer)})
    return corpus


def _growth(peers: pd.DataFrame) -> Table:
    """Exponents of our methods on random DAGs, and of all on blocks of the corpus from 10 instructions on."""
    head = ["Method or peer", "Exponent, corpus", "Exponent, random DAGs"]
    random = exponents(peers[peers["dags"] == "random"])
    corpus = exponents(peers[peers["dags"] == "corpus"], smallest=10)
    cells = [[name(peer), *(number(of.get(peer), 2) for of in (corpus, random))] for peer in {**corpus, **random}]
    return Table(head, cells, right=1)


def violations(table: pd.DataFrame, tolerance: float) -> Figure:
    """Remaining violations of softmax proposals against iterations, a panel for each length.

    `table`: table `residuals`. Solid: the median block; dashed: the worst block; dotted: the tolerance. `nearest` has
    no iterations. `extrapolated` is drawn without its fall-back, so that stragglers are visible.
    """
    table = table[table["proposal"] == "softmax"]
    lengths = sorted(set(table["n_instructions"]))
    with subplots(8, 3.4, 1, max(len(lengths), 1)) as (figure, axes):
        for ax, n in zip(axes[0], lengths, strict=False):
            drawn = table[table["n_instructions"] == n]
            for method in METHODS:
                rows = drawn[drawn["method"] == method].sort_values("iterations")
                for column, line in (("residual_median", "-"), ("residual_max", "--")):
                    style: Any = {"color": _COLOURS[method], "linestyle": line, "linewidth": 1.5}
                    residuals = rows[column].clip(lower=_FLOOR)
                    if method == "nearest":
                        ax.axhline(residuals.iloc[0], **style)
                    else:
                        ax.plot(rows["iterations"], residuals, marker="o", markersize=2.5, **style)
            ax.axhline(tolerance, color="#666666", linestyle=":", linewidth=1)
            logarithmic(ax.xaxis, [1, 5, 20, 60])
            ax.set(xlim=(0.9, 1.1 * max(drawn["iterations"].max(), 1)), yscale="log", ylim=(_FLOOR, 100))
            ax.set(title=f"{n} instructions", xlabel="iterations")
        for ax in axes[0, 1:]:
            ax.set_yticklabels([])
        axes[0, 0].set_ylabel("largest violation of a block")
        keys = [key(name(method), color=_COLOURS[method]) for method in METHODS]
        keys += [key("median block", color="#444444"), key("worst block", color="#444444", linestyle="--")]
        legend(figure, [*keys, key("tolerance", color="#666666", linestyle=":")], 6)
    return figure


def speed(timed: pd.DataFrame) -> Figure:
    """Seconds and memory of a batch against the length of its blocks, a line for each peer.

    `timed`: rows of table `peers` with seconds. Solid: DAGs of the corpus; dotted: random DAGs, scaled to that batch.
    """
    batch = timed.loc[timed["dags"] == "corpus", "batch"].max()
    colours = {peer: _COLOURS.get(peer, "#999999") for peer in timed["peer"]}
    sizes = [n for n in _SIZES if n in set(timed["n_instructions"])]
    with subplots(8, 4.2, 1, 2) as (figure, axes):
        for (peer, dags), rows in timed.groupby(["peer", "dags"], sort=False):
            rows = rows.sort_values("n_instructions")
            style: Any = {"color": colours[str(peer)], "linestyle": "-" if dags == "corpus" else ":"}
            for ax, column in zip(axes[0], ("seconds_per_batch", "peak_memory_mb"), strict=True):
                if dags == "corpus" or column == "seconds_per_batch":  # memory of random DAGs is of another batch
                    values = rows[column] * (1 if dags == "corpus" else batch / rows["batch"])
                    ax.plot(rows["n_instructions"], values.clip(lower=1e-4), marker="o", markersize=3, **style)
        titles = (f"Seconds per batch of {batch:.0f}, forward + backward", "Peak memory of the items measured, MB")
        for ax, title, ticks in zip(axes[0], titles, (sizes, _SIZES[:5]), strict=True):
            ax.set(yscale="log", title=title, xlabel="instructions")
            logarithmic(ax.xaxis, ticks)
        keys = [key(name(peer), color=tint) for peer, tint in colours.items()]
        if (timed["dags"] == "random").any():
            keys.append(key("random DAGs", color="#444444", linestyle=":"))
        legend(figure, keys, 4)
    return figure
