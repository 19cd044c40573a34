"""The outcome of a project's tuning -> one HTML page that needs no further file, no script and no network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from learned_schedulers.command.gains_page import document
from learned_schedulers.tuning.outcome import Hot, Outcome, Settings
from learned_schedulers.tuning.search import Found

_WIDTH, _HEIGHT, _LEFT, _BELOW = 640, 240, 48, 32  # of a picture, in its units


def page(outcome: Outcome, settings: Settings) -> str:
    """The page: the result, the hot functions, what was tried, the searches' curves."""
    middle, low, high = outcome.ratio
    result = "Nothing is faster in the final program"
    if outcome.tuned:
        result = f"1.00 → {middle:.3f} of the time [{low:.3f}, {high:.3f}], {settings.pairs} pairs of runs"
    parts = [
        f"<p><strong>{result}</strong>{'; ' * bool(outcome.tests)}{escape(outcome.tests)}. "
        f"Measured: {escape(outcome.measure)}. Intervals are of 95%.</p>",
        f"<pre>{escape(f'--build {settings.build!r} --bench {settings.bench.command!r}')}</pre>",
        "<h2>Hot functions</h2>",
        _table(
            ["share", "function", "file", "its time over that of LLVM's default", "by"],
            [
                (
                    f"{hot.share:.1%}",
                    hot.symbol,
                    hot.file,
                    *_result(outcome, hot),
                )
                for hot in sorted(outcome.hot, key=lambda each: -each.share)
            ],
        ),
    ]
    if outcome.ways:
        rows = [(way, f"{ratio:.3f} [{low:.3f}, {high:.3f}]") for way, (ratio, low, high) in outcome.ways.items()]
        parts += ["<h2>Whole builds, to choose one</h2>", _table(["build", "time over the default build's"], rows)]
    for (file, symbol), search in outcome.searches.items():
        versions = [(str(each.choice), f"{each.ratio:.4f}") for each in search.best]
        parts += [
            f"<h2>{escape(symbol)} ({escape(file)})</h2>",
            f"<p>{search.judged:,} versions were judged in the program. The best ones, judged again in one run, in "
            f"which LLVM's default was {search.control:.4f} from itself:</p>",
            _table(["version", "time over LLVM's default"], versions),
            _curve(search),
        ]
    if outcome.reasons:
        items = "".join(f"<li>{escape(reason)}</li>" for reason in outcome.reasons)
        parts.append(f"<h2>Left alone</h2><ul>{items}</ul>")
    return document(f"Tuning of {escape(settings.bench.work.name)}", parts)


def _result(outcome: Outcome, hot: Hot) -> tuple[str, str]:
    search = outcome.searches.get((hot.file, hot.symbol))
    if search is None or not search.best:
        return "", f"left alone: {hot.reason}" if hot.reason else "not searched"
    return f"{search.best[0].ratio:.3f}", str(search.best[0].choice)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["".join(f"<th>{cell}</th>" for cell in head)]
    lines += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    return "<table>\n" + "\n".join(f"<tr>{line}</tr>" for line in lines) + "\n</table>"


def _curve(search: Found) -> str:
    """The best version so far over the seconds of the search."""
    if len(search.progress) < 2:
        return ""
    end, least = search.progress[-1][0], min(best for _, best in search.progress)
    low = least - 0.1 * max(1 - least, 0.01)

    def place(seconds: float, ratio: float) -> tuple[float, float]:
        x = _LEFT + (_WIDTH - 2 * _LEFT) * seconds / end
        return x, 10 + (_HEIGHT - _BELOW - 10) * (1 - ratio) / (1 - low)

    points, last = [], 1.0
    for seconds, best in [(0.0, 1.0), *search.progress]:
        points += [place(seconds, last), place(seconds, best)]
        last = best
    labels = [
        f'<text x="{_LEFT - 6}" y="{place(0, ratio)[1] + 4:.1f}" text-anchor="end">{ratio:.3f}</text>'
        for ratio in (1.0, least)
    ]
    labels.append(f'<text x="{_WIDTH - _LEFT}" y="{_HEIGHT - 10}" text-anchor="end">{end:.0f} s of search</text>')
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img" aria-label="best version so far over the '
        f'seconds of the search">{"".join(labels)}<polyline stroke-width="2" points="{line}"/></svg>'
        "<p>The best version so far over the seconds of the search, as the run that found it judged it.</p>"
    )
