"""Short trainings that each change one setting of the first network, to bring imitators closer to GCC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.imitation.page.comparison import ORDERS
from pipeline.imitation.page.rows import IDEAS, led, methods, of
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import decoder_label, label
from pipeline.lab.page.tables import Column, Line, Table, lines, measured, table
from pipeline.lab.page.tables import of as place

FIRST = "attention_pointer"  # the network that the others are compared with


def section(evidence: Evidence) -> dict[str, Any]:
    """The table, its decoder, and the steps of the first training (0 if the parameters no longer name it)."""
    rows, models = led(of(evidence, IDEAS)), evidence.settings(IDEAS).get("models", {})
    if rows.empty:
        return {"rows": Table()}
    ideas = lines(rows, ["method"], {"method": [FIRST, *methods(rows, evidence, IDEAS)]}, {"metric": "exact_match"})
    exact = {line["method"]: row["value"] for line in ideas if (row := line.find(metric="exact_match"))}
    first = models.get(FIRST, {})

    def more(line: Line) -> str:
        name = line["method"]
        return "-" if name == FIRST or FIRST not in exact else f"{100 * (exact[name] - exact[FIRST]):+.1f}"

    shown: list[Column] = [
        ("Network", place("method", label)),
        ("Differs in", lambda line: differences(models.get(line["method"], first), first) if first else "-"),
        *measured(*ORDERS),
        ("Points", more),
    ]
    return {
        "rows": table(shown, ideas, right=2),
        "decoder": decoder_label(rows["decoder"].iloc[0]),
        "steps": first.get("steps", 0),
    }


def differences(settings: Mapping[str, Any], reference: Mapping[str, Any]) -> str:
    """Settings that differ from those of the reference: `encoder.layers 6 (4)`."""
    flat, base = _flat(settings), _flat(reference)
    return ", ".join(f"`{key}` {flat[key]} ({base[key]})" for key in flat if flat[key] != base.get(key)) or "-"


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, entry in settings.items():
        flat |= _flat(entry, f"{prefix}{key}.") if isinstance(entry, Mapping) else {f"{prefix}{key}": entry}
    return flat
