"""Claims about the files of users."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, row_of

PROCESSORS = ("atom", "silvermont", "btver2", "haswell", "skylake", "znver4")  # that users' code is ordered for


def claims() -> Iterator[Claim]:
    """Users' files ordered: nothing breaks, how fast it is, and what the orders are worth."""
    ran = row_of("own_blocks", set="all", method="all", metric="blocks_that_differ")
    yield Claim("own_blocks_that_differ", "== 0", ran)
    yield Claim("own_files_that_fail", "== 0", row_of("own_assembly", set="all", metric="files_that_fail"))
    for name, metric, target in (
        ("programs", "programs", ">= 5000"),
        ("blocks_changed", "blocks_changed", ">= 1000000"),
        ("different", "programs_different", "== 0"),
    ):
        generated = row_of("own_generated", set="all", method="random_legal", metric=metric)
        yield Claim(f"own_generated_{name}", target, generated)
    lost = row_of("own_speed", set="all", method="policy", metric="lost_lines")
    yield Claim("own_lost_lines", "== 0", lost)
    read = row_of("own_speed", set="sections", method="policy", metric="read_seconds")
    yield Claim("own_read_seconds_8000_sections", "<= 3", read)
    for method, target in (("learned", ">= 5000"), ("policy", ">= 30000")):
        speed = row_of("own_speed", set="all", method=method, metric="blocks_per_second")
        yield Claim(f"own_{method}_blocks_per_second", target, speed)
    ordered = row_of("own_cycles", set="test_10_40", method="best", metric="cycles")
    ordered |= {"comparison": "ratio", "baseline": "gcc"}
    for memory in ("tso", "single_thread"):
        for processor in PROCESSORS:
            row = ordered | {"dependencies": memory, "target": processor, "judge": processor}
            yield Claim(f"own_cycles_{memory}_{processor}", "< 1", row)
    confirmed = row_of("own_gains", decoder="confirmed", dependencies="tso")
    for processor in PROCESSORS:
        place = confirmed | {"target": processor}
        loops = {"metric": "loop_cycles", "comparison": "ratio", "baseline": "before", "judge": processor}
        yield Claim(f"own_loop_cycles_{processor}", "<= 1", place | loops)
    yield Claim("own_fused_pairs_split", "== 0", confirmed | {"metric": "pairs_split"})
    yield Claim("own_projects_passing", ">= 16", row_of("own_projects", set="all", metric="projects_passing"))
    for method, name, target in (("cold", "", "<= 1.3"), ("warm", "_warm", "<= 1.05")):
        cost = row_of("own_wrapper", method=method, metric="build_ratio")
        yield Claim(f"own_wrapper_build_ratio{name}", target, cost | {"comparison": "ratio", "baseline": "plain"})
