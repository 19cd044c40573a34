"""Our rule of XLA's CPU fusion compared with jax's compilation."""

from __future__ import annotations

import pytest

from benchmarks import xla_fusions
from tests.graphs.compilers.hlo_texts import FUSED, SEPARATE, entry

pytestmark = pytest.mark.slow


def test_simpler_rules_fuse_what_they_say() -> None:
    computation = entry(
        "p = f32[8] parameter(0)",
        "e = f32[8] exponential(p)",
        "a = f32[8] add(e, p)",
        "b = f32[8] multiply(e, p)",
        "n = f32[8] negate(b)",
        "ROOT t = (f32[8], f32[8]) tuple(a, n)",
    )
    assert xla_fusions.peers(computation) == {
        "separate": set(),
        "every_loop": {("e", "a"), ("e", "b"), ("b", "n")},
        "loop_fusion": {("b", "n")},  # e is expensive and has two readers
    }


def test_what_jax_compiles_is_fused_as_our_rule_says() -> None:
    pytest.importorskip("jax", reason="pip install -e '.[collection]' -c constraints.txt")
    cases = xla_fusions.cases()
    compared, agreements = zip(
        *(xla_fusions.agreement(cases[name]) for name in ("softmax", "cache_update")), strict=True
    )
    pairs = [pair for compared_pairs in compared for pair in compared_pairs]
    assert len(pairs) > 30 and {pair.xla for pair in pairs} == {FUSED, SEPARATE}
    assert [pair for pair in pairs if not pair.agrees] == []
    assert not all(rows["every_loop"].all() for rows in agreements)  # it is not that all loops are fused
