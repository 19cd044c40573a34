"""Agreement of our rule of XLA's fusion on a CPU with what jax compiles, function by function."""

from __future__ import annotations

from typing import Any

from pipeline.fusion.page.shared import XLA
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import label, spelt
from pipeline.lab.page.numbers import count, share
from pipeline.lab.page.tables import Column, filled, lines, metric, of, table, value

_ALL, _OURS = "all", "xla_cpu"
_SIMPLER = ("loop_fusion", "every_loop", "separate")


def section(evidence: Evidence) -> dict[str, Any]:
    """A line for each function, the last for all: shares of pairs that agree, also by simpler rules."""
    rows = evidence.of(XLA)
    order = [*sorted(set(rows["set"]) - {_ALL}), _ALL]
    shown: list[Column] = [
        ("Function", of("set", lambda name: label(_ALL) if name == _ALL else spelt(name))),
        ("Pairs", value(count, "agreeing_share", "n", method=_OURS)),
        ("Fused by XLA", metric(share, "fused_share", method="xla")),
        (label(_OURS), metric(share, "agreeing_share", method=_OURS)),
    ]
    shown += [(label(name), metric(share, "peer_agreeing_share", method=name)) for name in _SIMPLER]
    where = {"metric": "agreeing_share"}
    return {"functions": filled(table(shown, lines(rows, ["set"], {"set": order}, where), right=1))}
