"""The blocks that gain most -> one HTML page that needs no further file, no script and no network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from learned_schedulers.blocks.order.gains import Gain, Gains
from learned_schedulers.blocks.processors import llvm_mca
from learned_schedulers.blocks.read.assembly import AssemblyError, gas, intel

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 80rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } td, th { padding: .1rem .6rem; text-align: left; }
svg text { font: 12px system-ui, sans-serif; fill: currentColor; } polyline { fill: none; stroke: currentColor; }
td.code, pre { font: 13px/1.35 ui-monospace, "DejaVu Sans Mono", monospace; }
pre { overflow-x: auto; margin: .3rem 0; } .pair { display: flex; flex-wrap: wrap; gap: 0 2rem; }
.pair > div { min-width: 0; } .number { text-align: right; opacity: .6; } .moved { font-weight: bold; }
:root { color-scheme: light dark; }
"""
_NO_TIMELINE = (
    f"<p>Timelines are those of llvm-mca {llvm_mca.VERSION}, which is not installed: "
    f"<code>{llvm_mca.INSTALL}</code>.</p>"
)
_KEY = (
    "<p>A timeline is llvm-mca's: <code>D</code> dispatched, <code>=</code> waiting, <code>e</code> executing, "
    "<code>E</code> executed, <code>-</code> waiting to retire, <code>R</code> retired; one column a cycle, one line "
    "an instruction.</p>"
)


class Setting(NamedTuple):
    """What the orders were asked for."""

    file: str
    target: str
    by: str
    memory: str


def page(setting: Setting, gains: Gains) -> str:
    """The page. Raises LlvmMcaError if llvm-mca is installed and cannot be used."""
    binary = llvm_mca.find()
    title = f"What new orders gain in {escape(setting.file)} on {setting.target}"
    parts = [_summary(setting, gains)]
    if gains.best:
        parts += [_KEY if binary else _NO_TIMELINE, *(_section(gain, setting.target, binary) for gain in gains.best)]
    return document(title, parts)


def document(title: str, parts: Sequence[str]) -> str:
    """A page of parts in HTML, which needs no further file. title: in HTML."""
    head = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>",
    ]
    return "\n".join([*head, *parts, "</body>\n</html>\n"])


def _summary(setting: Setting, gains: Gains) -> str:
    text = f"Of {gains.blocks:,} basic blocks, {gains.faster:,} gain by a new order"
    if gains.faster:
        text += (
            f": together {gains.before:,} → {gains.after:,} cycles. The page shows the {len(gains.best)} that gain most"
        )
    text += (
        f". Orders are by the method <code>{setting.by}</code>, the order of memory is <code>{setting.memory}</code>. "
        f"Cycles are those of a single pass from an empty pipeline in the model of {setting.target}, not measured ones."
    )
    if gains.left_alone:
        text += f" Parts left alone: {gains.left_alone:,}; <code>learned-schedulers order --dry-run --json</code>: why."
    return f"<p>{text}</p>"


def _section(gain: Gain, target: str, binary: str | None) -> str:
    texts = intel(gain.code)
    orders = {f"As it was: {gain.before} cycles": range(len(texts)), f"New: {gain.after} cycles": gain.order}
    columns = "\n".join(
        f"<div><h3>{title}</h3>\n{_listing(texts, order)}\n{_timeline(gain, order, target, binary)}</div>"
        for title, order in orders.items()
    )
    place, *further = (escape(place) for place in gain.places)
    also = f"<p>The same code is also at {', '.join(further)}.</p>\n" if further else ""
    heading = f"<h2>{place}: {gain.before} → {gain.after} cycles</h2>"
    return f'<section>\n{heading}\n{also}<div class="pair">\n{columns}\n</div>\n</section>'


def _listing(texts: Sequence[str], order: Sequence[int]) -> str:
    """Instructions by their numbers in the block as it was; those that stand in another slot are bold."""
    cells = [f'<td class="number">{k}</td><td class="code">{escape(text)}</td>' for k, text in enumerate(texts)]
    rows = [f"<tr{'' if slot == k else ' class=moved'}>{cells[k]}</tr>" for slot, k in enumerate(order)]
    return f"<table>\n{chr(10).join(rows)}\n</table>"


def _timeline(gain: Gain, order: Sequence[int], target: str, binary: str | None) -> str:
    if binary is None:
        return ""
    try:
        lines = gas(gain.code)
    except AssemblyError:
        return "<p>llvm-mca has no text of this block.</p>"
    timeline = llvm_mca.timeline([lines[k] for k in order], target, binary)
    return f"<pre>{escape(timeline)}</pre>" if timeline else "<p>llvm-mca does not know an instruction of it.</p>"
